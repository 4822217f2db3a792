"""benchmarks.forward on a tiny model: the rows are there, and judged by the right budget."""

from dataclasses import replace

import pytest
import torch

from benchmarks import forward
from benchmarks.measure import Spread
from benchmarks.products import PACKED, Products, ProductWeights
from model.masks import Mask


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    config = BertConfig(vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
    path = tmp_path_factory.mktemp("tiny")
    BertModel(config, add_pooling_layer=False).save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def contest(folder):
    return forward.Contest(folder)


@pytest.fixture(scope="module")
def row(contest):
    with torch.inference_mode():
        return contest.row("tiny", Mask.causal(), 2, 8, threads=1, seconds=0)


def test_a_row_has_parity_times_and_ratios(row):
    assert row.mask == "causal" and row.batch == 2 and row.n_tokens == 8 and row.rounds == 3
    assert row.difference <= forward.PARITY
    for spread in (row.transformers_ms, row.ours, row.plain, row.over_products):
        assert 0 < spread.low <= spread.median <= spread.high


def test_maps_that_differ_stop_the_benchmark(folder):
    contest = forward.Contest(folder)
    contest.plain.blocks[1].attention.W_q.weight.data.normal_()
    with torch.inference_mode(), pytest.raises(SystemExit, match="maps differ"):
        contest.row("tiny", Mask.bidirectional(), 1, 8, threads=1, seconds=0)


@pytest.mark.parametrize(
    ("ratio", "factor", "budget", "judgement"),
    [
        (0.9, 1.05, 1.0, "holds"),  # packing gains nothing here: only transformers is to be matched
        (1.05, 1.05, 1.0, "in the noise"),  # some round was within 1.0
        (1.2, 1.05, 1.0, "MISSED"),
        (0.5, 0.45, 0.55, "holds"),  # packing halves the time: so must we, nearly
        (0.9, 0.45, 0.55, "MISSED"),
        (0.9, None, 1.0, "holds"),  # can't be packed
    ],
)
def test_the_budget_depends_on_what_packing_gains(row, ratio, factor, budget, judgement):
    judged = replace(row, packs=True, packed=Spread(ratio, ratio - 0.1, ratio + 0.1), packing_factor=factor)
    assert (judged.budget, judged.judgement) == (budget, judgement)


def test_the_report_says_which_budget_was_missed(row):
    slow = replace(row, packs=True, packed=Spread(1.2, 1.1, 1.3), packing_factor=None)
    assert "≤ 1.00 MISSED" in forward.report([slow])
    assert "0 of 1 rows hold their budget, 0 are in the noise around it, 1 miss it" in forward.verdict([slow])


def test_what_the_app_runs_is_judged_and_not_what_it_leaves(row):
    unpacked = replace(row, packs=False, packed=Spread(1.2, 1.1, 1.3), plain=Spread(0.9, 0.8, 1.0), packing_factor=1.0)
    assert unpacked.judgement == "holds"
    assert "runs with plain weights; packed ones take 1.33–1.33 of its time" in forward.verdict([unpacked])
    packed = replace(unpacked, packs=True, packed=Spread(0.6, 0.5, 0.7))
    assert "runs with packed weights; plain ones take 1.50–1.50 of its time" in forward.verdict([packed])
    assert "runs with plain weights." in forward.verdict([replace(unpacked, packed=None)])


def test_products_have_the_shapes_of_a_forward_and_time_their_linears(contest):
    config = contest.plain.config
    products = Products(ProductWeights(config, packed=contest.packed is not None), 2, 8, iter(range(1000)).__next__)
    for run in products.runs.values():
        run()
    # The fake clock moves 1 between two looks, and each layer has two stretches of linear layers.
    assert {len(seconds) for seconds in products.linear_seconds.values()} == {1}
    assert {seconds[0] for seconds in products.linear_seconds.values()} == {2 * config.num_layers}
    assert products.packing_factor() == (1.0 if PACKED in products.runs else None)
    assert products.scores.shape == (2 * config.num_heads, 8, 8)


def test_peak_memory_is_measured_in_a_process_of_its_own(folder):
    try:
        peak = forward.peak_memory(folder, "plain", n_tokens=512)
    except OSError as error:
        pytest.skip(f"not measurable here: {error}")
    maps = 2 * 4 * 512 * 512 * 4 / 2**20  # L h N N float32: 8 MiB
    assert maps <= peak <= maps + 8

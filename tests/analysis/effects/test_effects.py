"""Effects worked out by hand, parts that add up, batches that change nothing, intervals, and a run that is stopped."""

import dataclasses
import threading

import numpy as np
import pytest
import scipy.stats
import torch

from analysis.effects.effects import measure
from analysis.effects.joint import switch_off, together
from analysis.effects.prompts import TOKENS_AT_ONCE, batches
from analysis.effects.ranks import held_out, mean_interval, rank_correlation, spearman
from analysis.effects.report import Record
from analysis.effects.runs import _n_shared
from analysis.effects.states import encode_text, measure_states
from analysis.effects.sweep import Sweep
from analysis.evidence.resume import Store
from model import HeadworkError
from model.blocks import FeedForward
from model.head_id import HeadId
from model.masks import Mask
from tests.analysis.effects.made import A, B, by_hand, question
from tests.models import LLAMA_LIKE, load, tiny_decoder

# Tokens 0 1 1, right 1, wrong 0: of the tokens so far, 1 has this much more than 0.
SEEN = np.array([-1, 0, 1 / 3])
HELPS, HARMS = A * SEEN[-1], A * B * SEEN.mean()  # what 1-1 and 2-1 write: 1 and -0.6
DIRECT = [[HELPS, 0], [HARMS, 0]]


@pytest.fixture(scope="module")
def hand():
    return by_hand()


@pytest.fixture(scope="module")
def decoder():
    return tiny_decoder()


def random_questions(n, lengths=(5, 7), seed=0):
    draw = np.random.default_rng(seed)
    return [
        question(draw.integers(0, 256, lengths[i % len(lengths)]).tolist(), 2 * i, 2 * i + 1, (0,)) for i in range(n)
    ]


def test_a_model_made_by_hand_has_the_effects_worked_out_on_paper(hand):
    found = measure(hand, [question([0, 1, 1], 1, 0, (1, 2))])
    assert found.difference == pytest.approx([HELPS + HARMS])
    np.testing.assert_allclose(found.effect(), [[-(HELPS + HARMS), 0], [-HARMS, 0]], atol=1e-12)
    np.testing.assert_allclose(found.direct(), DIRECT, atol=1e-12)
    np.testing.assert_allclose(found.attention_to_answer(), np.full((2, 2), 2 / 3))
    assert found.p_right[0] / found.p_wrong[0] == pytest.approx(np.exp(HELPS + HARMS))


def test_means_by_hand(hand):
    """The mean of 1-1 over the tokens: 1 has SEEN.mean() more than 0 at each of them, and 2-1 goes on from there."""
    asked = [question([0, 1, 1], 1, 0)]
    of_mean = A * SEEN.mean() * (1 + B) - (HELPS + HARMS)
    assert measure(hand, asked, off="mean").heads[0, 0, 0] == pytest.approx(of_mean)
    np.testing.assert_allclose(measure(hand, asked, off="position").heads, 0, atol=1e-12)  # the only prompt is the mean


def test_several_heads_beside_the_sum_of_each_by_hand(hand):
    asked = [question([0, 1, 1], 1, 0), question([0, 0, 1], 0, 1)]
    effects = measure(hand, asked)
    heads = [HeadId(0, 0), HeadId(1, 0)]
    found = together(switch_off(hand, asked, heads), effects)
    assert found.together == pytest.approx(-effects.difference.mean())
    assert found.sum_of_singles == pytest.approx(effects.heads[:, 0, 0].mean() + effects.heads[:, 1, 0].mean())
    assert found.more == pytest.approx(found.together - found.sum_of_singles) and abs(found.more) > 0.1
    assert found.more_interval[0] <= found.more <= found.more_interval[1]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"parallel": True},
        {"norm_kind": "layer", "bias": True, "output": "own"},
        {"final_norm": False, "norm": "none", "activation": "gelu"},
    ],
)
def test_the_parts_add_up_to_the_difference(changes):
    model = tiny_decoder(dataclasses.replace(LLAMA_LIKE, **changes))
    with torch.no_grad():
        for parameter in model.transformer.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.rand_like(parameter))  # norms and biases that say something
    for dtype, bar in ((torch.float32, 1e-4), (torch.float64, 1e-9)):
        model.transformer.to(dtype)
        found = measure(model, random_questions(4))
        assert abs(found.difference).min() > 0.1
        np.testing.assert_allclose(found.parts.total() / found.difference, 1, rtol=0, atol=bar)


def test_where_a_norm_stands_in_the_residual_stream_nothing_adds_up():
    model = tiny_decoder(dataclasses.replace(LLAMA_LIKE, norm="post", final_norm=False))
    found = measure(model, random_questions(2))
    assert found.parts is None and found.direct() is None
    assert Record.of(found).direct is None


@pytest.mark.parametrize("off", ["zero", "mean", "position"])
def test_batches_and_threads_change_nothing(decoder, off, monkeypatch):
    asked = random_questions(7, lengths=(1, 5, 7))
    alone = measure(decoder, asked, off=off, parts=("heads", "ffns", "layers"))
    monkeypatch.setattr("analysis.effects.prompts.TOKENS_AT_ONCE", 1)
    monkeypatch.setattr("analysis.effects.runs.ROWS_AT_ONCE", 1)
    one_by_one = measure(decoder, asked, off=off, parts=("heads", "ffns", "layers"), workers=3)
    for name in ("difference", "p_right", "heads", "ffns", "layers", "attention"):
        np.testing.assert_allclose(getattr(alone, name), getattr(one_by_one, name), atol=2e-4, err_msg=name)
    np.testing.assert_allclose(alone.parts.heads, one_by_one.parts.heads, atol=2e-4)


@pytest.mark.parametrize("mask", ["causal", "causal+window:3", "prefix:2", "prefix:9", "bidirectional"])
@pytest.mark.parametrize("changes", [{}, {"windows": (0, 3, 2)}, {"parallel": True, "positions": "learned"}])
def test_beginnings_that_all_prompts_share_change_nothing(changes, mask, monkeypatch):
    """Tokens that all prompts begin with run once, where they see none of the others."""
    model = tiny_decoder(dataclasses.replace(LLAMA_LIKE, **changes))
    draw = np.random.default_rng(5)
    asked = [question([7, 8, 9, *draw.integers(0, 250, 4)], 3 * i, 3 * i + 1) for i in range(6)]
    found = measure(model, asked, mask=mask, parts=("heads", "ffns", "layers"))
    monkeypatch.setattr("analysis.effects.runs._n_shared", lambda *_: 0)
    apart = measure(model, asked, mask=mask, parts=("heads", "ffns", "layers"))
    for name in ("heads", "ffns", "layers"):
        np.testing.assert_allclose(getattr(found, name), getattr(apart, name), atol=2e-4)


def test_how_many_tokens_prompts_share():
    ids = torch.tensor([[7, 8, 9, 1], [7, 8, 5, 1], [7, 8, 9, 1]])
    shared = {
        mask: _n_shared(ids, Mask.of(mask).allowed(4)) for mask in ("causal", "prefix:2", "prefix:3", "bidirectional")
    }
    assert shared == {"causal": 2, "prefix:2": 2, "prefix:3": 0, "bidirectional": 0}
    assert _n_shared(ids[:1], Mask.of("causal").allowed(4)) == 0  # nothing to share
    assert _n_shared(ids[::2], Mask.of("causal").allowed(4)) == 3  # the last token stays


def test_a_batch_holds_prompts_of_one_length_and_few_tokens():
    asked = random_questions(200, lengths=(5, 9, 40))
    found = batches(asked)
    assert sorted(i for batch in found for i in batch) == list(range(200))
    for batch in found:
        lengths = {len(asked[i].ids) for i in batch}
        assert len(lengths) == 1 and len(batch) * lengths.pop() <= TOKENS_AT_ONCE


def test_a_prompt_longer_than_a_batch_runs_alone(decoder):
    long = [question(list(range(60)), 1, 2)]
    assert batches(long * 3 + random_questions(1))[-1] != [0, 1, 2, 3]
    assert measure(decoder, long).heads.shape == (1, 3, 6)


def test_one_prompt_has_no_interval_and_no_halves(decoder):
    found = measure(decoder, random_questions(1))
    assert found.interval() is None and found.held_out() == ()
    assert found.rank_correlation().interval is None
    record = Record.of(found)
    assert record.interval is None and record.held_out == ()


def test_intervals_hold_the_mean_and_narrow_with_prompts():
    draw = np.random.default_rng(0)
    values = draw.normal(1.0, 2.0, (400, 3, 2))
    few, many = mean_interval(values[:25]), mean_interval(values)
    assert (few[0] < values[:25].mean(axis=0)).all() and (few[1] > values[:25].mean(axis=0)).all()
    assert (many[1] - many[0] < 0.5 * (few[1] - few[0])).all()
    np.testing.assert_allclose(many[1] - many[0], 2 * 1.96 * 2.0 / 20, rtol=0.15)  # ±1.96 standard errors


def test_rank_correlation_equals_scipys_also_with_ties():
    draw = np.random.default_rng(1)
    x, y = draw.integers(0, 9, (5, 40)).astype(float), draw.normal(size=(5, 40))
    expected = [scipy.stats.spearmanr(a, b).statistic for a, b in zip(x, y, strict=True)]
    np.testing.assert_allclose(spearman(x, y), expected)
    assert np.isnan(spearman(np.ones(5), np.arange(5.0)))


def test_heads_that_look_more_and_are_missed_more_correlate():
    draw = np.random.default_rng(2)
    attention = draw.random((30, 4, 5))
    attention[:, 0, 0] += 1
    effect = -attention + draw.normal(0, 0.01, attention.shape)  # missed the more, the more they look
    found = rank_correlation(attention, effect)
    assert found.value > 0.9 and found.interval[0] <= found.value <= found.interval[1] + 1e-9
    attention[::2] = np.nan  # the word doesn't stand there
    assert rank_correlation(attention, effect).n == 15
    assert rank_correlation(np.full_like(attention, np.nan), effect) is None


def test_luck_doesnt_hold_on_the_other_half():
    """200 heads that do nothing: the best of one half looks strong there, and does nothing on the other."""
    draw = np.random.default_rng(3)
    effect = draw.normal(0, 1, (40, 10, 20))
    lucky = held_out(effect, 1)
    assert all(each.chosen_effect < -0.4 for each in lucky)
    assert all(each.interval[0] < 0 < each.interval[1] for each in lucky)
    effect[:, 3, 4] -= 2
    assert {each.head for each in held_out(effect, 1)} == {HeadId(3, 4)}
    assert all(each.interval[1] < -1 and each.n + each.n_chosen == 40 for each in held_out(effect, 1))


class Stop(Exception):
    pass


@pytest.mark.parametrize("workers", [1, 3])
def test_a_stopped_run_goes_on_where_it_was(decoder, workers, tmp_path, monkeypatch):
    asked = random_questions(6)
    straight = measure(decoder, asked)
    seen = []

    def stop_after_two(done, total):
        seen.append((done, total))
        if len(seen) == 2:
            raise Stop

    with pytest.raises(Stop):
        measure(decoder, asked, workers=workers, store=Store(tmp_path / "kept"), progress=stop_after_two)
    n_kept = len(list((tmp_path / "kept").iterdir()))
    assert 2 <= n_kept < 8
    went_on, computed = [], []
    unit = Sweep._unit
    monkeypatch.setattr(Sweep, "_unit", lambda self, *each: computed.append(each) or unit(self, *each))
    found = measure(
        decoder,
        asked,
        workers=workers,
        store=Store(tmp_path / "kept"),
        progress=lambda done, total: went_on.append((done, total)),
    )
    np.testing.assert_array_equal(found.heads, straight.heads)
    assert went_on[-1][0] == went_on[-1][1] and len(went_on) == 6  # two batches of three layers
    assert len(computed) < 6


def test_nothing_goes_on_in_the_background_once_a_run_is_stopped(decoder):
    def stop(*_):
        raise Stop

    try:
        measure(decoder, random_questions(100), workers=3, progress=stop)
    except Stop:  # while the error holds on to every frame of the run
        assert [each.name for each in threading.enumerate() if each.name.startswith("effects")] == []
    else:
        pytest.fail("it went on")


def test_layers_before_a_head_arent_computed_again_and_after_the_last_only_the_last_token(monkeypatch):
    """Tokens through FFNs, against a full run for each head: half of the layers, and less."""
    model, seen = tiny_decoder(dataclasses.replace(LLAMA_LIKE, num_layers=8)), []
    forward = FeedForward.forward
    monkeypatch.setattr(
        FeedForward, "forward", lambda self, x, **k: seen.append(x.shape[:2].numel()) or forward(self, x, **k)
    )
    measure(model, random_questions(4, lengths=(10,)))
    naive = 8 * 6 * 8 * 40  # L · h runs of L layers, of 4 · 10 tokens
    # From each layer its own FFN and those above, but of the last layer 4 tokens; and the whole run once.
    assert sum(seen) == 6 * (sum(40 * (7 - layer) + 4 for layer in range(8))) + 8 * 40 <= 0.48 * naive


def test_progress_counts_up_to_its_end(decoder):
    seen = []
    measure(decoder, random_questions(5), progress=lambda *each: seen.append(each))
    done = [each[0] for each in seen]
    assert done == sorted(done) and done[-1] == seen[-1][1] and len({total for _, total in seen}) == 1


def test_another_way_to_switch_off_takes_up_nothing_of_this_one(decoder, tmp_path):
    asked = random_questions(3)
    zero = measure(decoder, asked, store=Store(tmp_path))
    mean = measure(decoder, asked, off="mean", store=Store(tmp_path))
    assert abs(zero.heads - mean.heads).max() > 0.01
    np.testing.assert_array_equal(mean.heads, measure(decoder, asked, off="mean").heads)


@pytest.mark.parametrize("name", ["toy:d_model=32,heads=4,layers=2,seed=0", "minilm"])
def test_hidden_states_of_an_encoder_turn_as_in_a_run_with_the_head_off(name):
    model = load(name)
    text = "The teacher praised the students."
    found = measure_states(model, [encode_text(model, text), encode_text(model, "A dog barked.")], workers=2)
    whole = model.run(text)[2].hidden[0].double()
    for layer, head in ((0, 1), (model.n_layers - 1, 0)):
        factors = np.ones((model.n_layers, model.n_heads), np.float32)
        factors[layer, head] = 0
        without = model.run(text, head_mask=factors)[2].hidden[0].double()
        cosine = torch.nn.functional.cosine_similarity
        np.testing.assert_allclose(found.tokens[0][layer, head], 1 - cosine(without, whole), atol=1e-5)
        sentence = 1 - cosine(without.mean(dim=0), whole.mean(dim=0), dim=0)
        assert found.sentence[0, layer, head] == pytest.approx(float(sentence), abs=1e-5)
    assert found.sentence.shape == (2, model.n_layers, model.n_heads) and found.sentence.max() > 1e-4


def test_what_cant_be_asked_gets_a_sentence(decoder):
    asked = random_questions(2)
    with pytest.raises(HeadworkError, match="predicts no token"):
        measure(load("toy"), asked)
    with pytest.raises(HeadworkError, match="no question"):
        measure(decoder, [])
    with pytest.raises(HeadworkError, match="zero, mean, position, not 'median'"):
        measure(decoder, asked, off="median")
    with pytest.raises(HeadworkError, match="aren't padded"):
        measure(decoder, asked, mask="causal+padding:9")
    with pytest.raises(HeadworkError, match="no head 4-1: this model has 3 layers of 6 heads"):
        switch_off(decoder, asked, [HeadId(3, 0)])


def test_numbers_that_grow_beyond_the_floating_point_get_a_sentence():
    model = tiny_decoder(seed=1)
    with torch.no_grad():
        model.transformer.blocks[1].attention.W_o.weight.fill_(1e38)
    with pytest.raises(HeadworkError, match="grow beyond float32"):
        measure(model, random_questions(2))


def test_a_record_says_what_was_measured(decoder):
    found = measure(decoder, random_questions(5), parts=("heads", "ffns", "layers"))
    record = Record.of(found)
    assert record.shape == found.shape and record.n == 5 and record.off == "zero"
    np.testing.assert_allclose(record.effect, found.effect(), atol=6e-5)
    np.testing.assert_allclose(record.each, found.heads, atol=6e-4)
    np.testing.assert_allclose(record.interval, found.interval(), atol=6e-5)
    np.testing.assert_allclose(record.attention, found.attention_to_answer(), atol=6e-5)
    np.testing.assert_allclose(record.direct, found.direct(), atol=6e-5)
    np.testing.assert_allclose(record.ffns, found.ffns, atol=6e-4)
    np.testing.assert_allclose(record.layers, found.layers, atol=6e-4)
    np.testing.assert_allclose(record.of_prompts("p_right"), found.p_right, atol=6e-5)
    assert record.ranked() == found.ranked() and record.questions == found.questions
    assert [each.head for each in record.held_out] == [each.head for each in found.held_out()]
    assert record.rank_correlation.value == pytest.approx(found.rank_correlation().value, abs=6e-5)

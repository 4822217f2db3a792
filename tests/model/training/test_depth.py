"""The depth experiment: its block against the app's own, its gradients against autograd, and what it shows."""

import json

import pytest
import torch

from model.blocks import TransformerBlock
from model.command_line import EXIT_STOPPED
from model.errors import HeadworkError
from model.tasks import PEEK
from model.training import depth
from model.training.depth import BATCH, Block, Deep, experiment, guess, main, measure
from model.training.network import draw_weights


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_block_with_its_residual_is_the_apps_own(norm):
    ours = Block(32, 4, 64, 0.0, norm=norm)
    theirs = TransformerBlock(32, 4, 64, 0.0, norm=norm)
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(2, 5, 32, generator=torch.Generator().manual_seed(0))
    mask = torch.ones(5, 5, dtype=torch.bool).tril()
    for mine, other in zip(ours(x, mask), theirs(x, mask), strict=True):
        torch.testing.assert_close(mine, other, rtol=0, atol=1e-6)
    ours.residual = False
    attended, _ = ours.attention(ours.attention_norm(x) if norm == "pre" else x, mask)
    middle = attended if norm == "pre" else ours.attention_norm(attended)
    out = ours.ffn(ours.ffn_norm(middle)) if norm == "pre" else ours.ffn_norm(ours.ffn(middle))
    torch.testing.assert_close(ours(x, mask)[0], out)


def test_gradient_norms_are_those_of_the_first_step():
    run = measure(3, "post", True, steps=1, seed=2)
    network = draw_weights(Deep(3, "post", True), torch.Generator().manual_seed(8))
    network.loss(PEEK.batch(torch.Generator().manual_seed(9), BATCH)).backward()
    for block, norm in zip(network.blocks, run.gradient_norms, strict=True):
        flat = torch.cat([p.grad.flatten() for p in block.parameters()])
        assert norm == pytest.approx(float(flat.norm()), rel=1e-4)
    assert run.loss == measure(3, "post", True, steps=1, seed=2).loss


def test_eight_layers_learn_with_a_residual_and_stay_at_guessing_without():
    """Seed 0, 50 steps: .84 and .83 with; without 2.80, where knowing word frequencies gives 2.794."""
    runs = {(run.norm, run.residual): run for run in experiment([8])}
    for norm in ("pre", "post"):
        assert runs[norm, True].loss < 1.1 and 0.5 < runs[norm, True].gradient_ratio < 2
        assert runs[norm, False].loss == pytest.approx(guess(), abs=0.1)
        assert runs[norm, False].gradient_ratio < 0.6  # .42 and .18


def test_command_line_writes_every_network(tmp_path, capsys):
    out = tmp_path / "out.json"
    threads = torch.get_num_threads()
    assert main(["--depths", "1", "2", "--steps", "2", "--json", str(out)]) == 0
    torch.set_num_threads(threads)
    result = json.loads(out.read_text())
    assert [(run["layers"], run["norm"], run["residual"]) for run in result["runs"]] == [
        (layers, norm, residual)
        for layers in (1, 2)
        for norm, residual in (("pre", True), ("post", True), ("pre", False), ("post", False))
    ]
    assert result["complete"] is True
    assert (
        len(result["runs"][-1]["gradient_norms"]) == 2 and "2 layers, post-LN, no residual" in capsys.readouterr().out
    )
    with pytest.raises(HeadworkError, match="layers is 0"):
        measure(0, "pre", True)


def test_stopped_by_hand_it_has_written_every_network_that_was_done(tmp_path, capsys, monkeypatch):
    made = iter([measure(1, "pre", True, steps=1), measure(1, "post", True, steps=1)])
    monkeypatch.setattr(depth, "experiment", lambda *_, **__: stopped_after(made))
    assert main(["--depths", "1", "--json", str(tmp_path / "o.json")]) == EXIT_STOPPED
    result = json.loads((tmp_path / "o.json").read_text())
    assert [run["norm"] for run in result["runs"]] == ["pre", "post"] and result["complete"] is False


def stopped_after(made):
    yield from made
    raise KeyboardInterrupt


@pytest.mark.parametrize("option", ["--seed=-1", f"--seed={10**30}", "--steps=0", "--depths=99", "--depths=1.5"])
def test_numbers_out_of_bounds_are_told_before_the_first_network(option, capsys, monkeypatch):
    monkeypatch.setattr(depth, "measure", lambda *_, **__: pytest.fail("it trained first"))
    with pytest.raises(SystemExit, match="2"):
        main([option])
    assert "is no whole number from" in capsys.readouterr().err

"""Training: its numbers against brute force, its claims on real runs, and that a seed decides everything."""

import copy
import threading

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from model.attention import scaled_dot_product_attention
from model.errors import HeadworkError
from model.tasks import NO_KEY, TASKS
from model.training import Settings, Training, winners
from model.training import softmax as softmax_of_training
from model.training.adamw import AdamW
from model.training.frames import Frame, loss_of, steps_to_look_at
from model.training.run import one_cycle
from model.training.softmax import REGISTER, filled_softmax


def trained(task="neighbours", n=None, **changes):
    training = Training(Settings.of(task, **changes))
    training.step(training.settings.steps if n is None else n)
    return training


def same(a, b):
    """Bit for bit: weights, curve and frames. Bytes, so that NaN equals NaN."""
    pairs = zip(a.network.state_dict().values(), b.network.state_dict().values(), strict=True)
    weights = all(torch.equal(x, y) for x, y in pairs)
    names = ("maps", "share", "hit", "entropy", "accuracy")
    frames = all(
        getattr(x, name).tobytes() == getattr(y, name).tobytes()
        for x, y in zip(a.frames, b.frames, strict=True)
        for name in names
    )
    return weights and frames and repr(a.curve) == repr(b.curve)


# -- the network -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("heads", [1, 2, 4, 8])
def test_every_number_of_heads_has_the_same_parameters(heads):
    assert Training(Settings.of("neighbours", heads=heads)).n_parameters == 8_872
    assert Training(Settings.of("neighbours", heads=heads, ffn=True)).n_parameters == 13_192


def test_it_is_attention_and_its_residual_only_unless_asked():
    block = Training(Settings.of("neighbours")).network.transformer.blocks[0]
    assert [name for name, _ in block.named_children()] == ["attention", "dropout"]
    x = torch.randn(2, 12, 32, generator=torch.Generator().manual_seed(0))
    assert torch.equal(block(x)[0], x + block.attention(x)[0])


@pytest.mark.parametrize("task", TASKS)
def test_small_steps_on_one_batch_lower_its_loss(task):
    training = Training(Settings.of(task))
    batch = training.task.batch(torch.Generator().manual_seed(5), 64)
    optimizer, asked = AdamW(training.network), list(training.task.asked)
    losses = []
    for _ in range(6):
        loss = loss_of(training.network(batch.ids, training._mask)[0], batch.targets[..., asked])
        losses.append(loss.item())
        optimizer.forget_gradients()
        loss.backward()
        optimizer.step(1e-3)
    assert losses == sorted(losses, reverse=True) and losses[0] - losses[-1] > 0.01


def test_adamw_is_the_algorithm_of_the_paper():
    """Against the formulas written out in float64, one parameter after the other. Float32 adds 1e-6 in 20 steps."""
    torch.manual_seed(0)
    module = torch.nn.Linear(5, 3)
    numbers = [parameter.detach().double().numpy().copy() for parameter in module.parameters()]
    means, squares = [np.zeros_like(p) for p in numbers], [np.zeros_like(p) for p in numbers]
    optimizer, x = AdamW(module), torch.randn(7, 5)
    for t in range(1, 21):
        optimizer.forget_gradients()
        module(x).pow(2).mean().backward()
        for i, parameter in enumerate(module.parameters()):
            gradient = parameter.grad.double().numpy()
            means[i] = 0.9 * means[i] + 0.1 * gradient
            squares[i] = 0.999 * squares[i] + 0.001 * gradient**2
            update = (means[i] / (1 - 0.9**t)) / (np.sqrt(squares[i] / (1 - 0.999**t)) + 1e-8)
            numbers[i] = numbers[i] - 0.01 * 0.01 * numbers[i] - 0.01 * update
        optimizer.step(0.01)
        for found, expected in zip(module.parameters(), numbers, strict=True):
            np.testing.assert_allclose(found.detach().numpy(), expected, atol=2e-6)


def test_adamw_is_torchs_over_fifty_steps():
    training = Training(Settings.of("neighbours", ffn=True))
    ours, theirs = training.network, copy.deepcopy(training.network)
    optimizer = AdamW(ours)
    reference = torch.optim.AdamW(theirs.parameters(), weight_decay=0.01)
    generator, asked = torch.Generator().manual_seed(1), list(training.task.asked)
    start = [parameter.detach().clone() for parameter in theirs.parameters()]
    for step in range(50):
        rate = one_cycle(step, 50, 1e-2)
        batch = training.task.batch(generator, 16)
        reference.param_groups[0]["lr"] = rate
        reference.zero_grad()
        loss_of(theirs(batch.ids, training._mask)[0], batch.targets[..., asked]).backward()
        optimizer.forget_gradients()
        for found, expected in zip(ours.parameters(), theirs.parameters(), strict=True):
            found.grad.copy_(expected.grad)  # the same for both: only the optimisers are compared
        optimizer.step(rate)
        reference.step()
    for found, expected in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)
    assert max(float((a.detach() - b).abs().max()) for a, b in zip(ours.parameters(), start, strict=True)) > 0.05


def test_the_learning_rate_goes_up_for_a_tenth_and_then_down():
    rates = [one_cycle(step, 800, 1e-2) for step in range(800)]
    assert rates[0] == pytest.approx(4e-4) and max(rates) == rates[80] == pytest.approx(1e-2)
    assert rates[:81] == sorted(rates[:81]) and rates[80:] == sorted(rates[80:], reverse=True)
    assert rates[-1] < 1e-7 and one_cycle(0, 1, 1e-2) == pytest.approx(4e-4)


# -- what is measured ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["neighbours", "agreement-en", "induction"])
def test_a_frame_holds_what_counting_cell_by_cell_finds(task):
    training = trained(task, 30, heads=2, steps=60)
    frame = training.frames[-1]
    held_out = training._held_out
    with torch.no_grad():
        logits, output = training.network(held_out.ids, training._mask)
    attention = output.attention.numpy()  # (L, B, h, N, N)
    n_layers, _, n_heads, n, _ = attention.shape
    right = logits.argmax(-1) == held_out.targets[..., list(training.task.asked)]
    for relation in range(len(training.task.relations)):
        arcs = [(b, i, k) for b, row in enumerate(held_out.keys[..., relation].tolist()) for i, k in enumerate(row)]
        arcs = [arc for arc in arcs if arc[2] != NO_KEY]
        for layer in range(n_layers):
            for head in range(n_heads):
                weights = [attention[layer, b, head, i, k] for b, i, k in arcs]
                hits = [attention[layer, b, head, i].argmax() == k for b, i, k in arcs]
                assert frame.share[layer, head, relation] == pytest.approx(np.mean(weights), abs=1e-6)
                assert frame.hit[layer, head, relation] == pytest.approx(np.mean(hits), abs=1e-6)
        if training.task.relations[relation].asked:
            column = training.task.asked.index(relation)
            answers = [bool(right[b, i, column]) for b, i, _ in arcs]
            assert frame.accuracy[relation] == pytest.approx(np.mean(answers), abs=1e-6)
        else:
            assert np.isnan(frame.accuracy[relation])
    rows = (held_out.keys != NO_KEY).any(-1).numpy()  # (B, N)
    entropy = -(attention * np.log(np.where(attention > 0, attention, 1))).sum(-1)  # (L, B, h, N)
    expected = entropy.transpose(0, 2, 1, 3)[:, :, rows].mean(-1)
    np.testing.assert_allclose(frame.entropy, expected, atol=1e-5)
    assert frame.maps.shape == (n_layers, n_heads, n, n)
    np.testing.assert_allclose(frame.maps, attention[:, 0], atol=1e-6)
    np.testing.assert_allclose(frame.maps.sum(-1), 1, atol=1e-6)
    assert torch.equal(training.example.ids, held_out.ids[:1]) and len(training.words) == n


@given(st.integers(1, 10_000))
def test_looks_begin_at_0_and_end_at_the_end(steps):
    looks = steps_to_look_at(steps)
    assert looks[0] == 0 and looks[-1] == steps and list(looks) == sorted(set(looks)) and len(looks) <= 125


def test_looks_are_densest_where_heads_part():
    looks = steps_to_look_at(800)
    assert set(range(40, 141, 5)) <= set(looks) and set(range(0, 801, 20)) <= set(looks)
    assert len(looks) == 56


def test_winners_by_hand():
    share = np.array([[[0.1, 0.9], [0.2, 0.8]], [[0.7, 0.0], [0.6, 0.3]]], dtype=np.float32)  # (L, h, R) = (2, 2, 2)
    empty = np.zeros(0, dtype=np.float32)
    found = winners(Frame(0, empty, share, empty, empty, empty))
    assert found.heads == ((1, 0), (0, 0)) and found.shares == pytest.approx((0.7, 0.9)) and found.all_different
    share[1, 0] = 1.0
    assert not winners(Frame(0, empty, share, empty, empty, empty)).all_different


def test_a_head_switched_off_is_one_that_w_o_does_not_read():
    training = trained("twins", 40, steps=80)
    without, unharmed = training.switched_off()
    assert without.shape == (1, 2, 2) and unharmed == pytest.approx(training.test()[1])
    attention = training.network.transformer.blocks[0].attention
    with torch.no_grad():
        attention.W_o.weight[:, attention.d_k :] = 0.0  # head 1-2
    np.testing.assert_array_equal(training.test()[1], without[0, 1])


# -- a seed decides everything ---------------------------------------------------------------------------------------


def test_a_seed_gives_the_same_training_and_another_seed_another():
    assert same(trained(steps=40), trained(steps=40))
    assert not same(trained(steps=40), trained(steps=40, seed=1))


def test_global_random_numbers_are_neither_read_nor_moved():
    torch.manual_seed(1)
    first = trained(steps=5)
    torch.manual_seed(2)
    before = torch.get_rng_state()
    assert same(trained(steps=5), first)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("task", TASKS)
def test_pausing_and_going_on_changes_nothing(task):
    whole = trained(task, steps=40)
    part = trained(task, 17, steps=40)
    state = part.state()
    part.step(8)  # what happens afterwards is not in the state
    resumed = Training.resume(state)
    assert resumed.step_number == 17 and not resumed.done
    resumed.step(3)
    resumed.step(10**6)
    assert resumed.done and resumed.step_number == 40 and same(resumed, whole)
    part.step(40)
    assert same(part, whole)


def test_trainings_in_threads_do_not_disturb_each_other():
    seeds = range(4)
    alone = [trained(steps=30, seed=seed) for seed in seeds]
    together: dict[int, Training] = {}
    threads = [threading.Thread(target=lambda seed=seed: together.update({seed: one(seed)})) for seed in seeds]

    def one(seed):
        training = Training(Settings.of("neighbours", steps=30, seed=seed))
        while not training.done:
            training.step()
        return training

    for thread in threads:
        thread.start()
    with torch.inference_mode():  # a page draws maps meanwhile
        in_a_page = trained(steps=30, seed=9)
    for thread in threads:
        thread.join()
    assert all(same(together[seed], alone[seed]) for seed in seeds)
    assert same(in_a_page, trained(steps=30, seed=9))


def test_what_is_measured_on_is_never_trained_on():
    training = Training(Settings.of("neighbours"))
    trained_on = training.task.batch(training._generator, 1024).ids
    measured = [training._held_out.ids, training._test.ids]
    for found, others in ((measured[0], measured[1:]), (trained_on, measured)):
        rows = {tuple(row) for row in found.tolist()}
        assert not any(tuple(row) in rows for other in others for row in other.tolist())


def test_a_finished_run_makes_no_more_steps():
    training = trained(steps=5)
    training.step()
    assert training.done and training.step_number == 5 and training.seconds > 0
    assert [frame.step for frame in training.frames] == [point.step for point in training.curve] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"task": "nothing"}, "no task 'nothing'"),
        ({"heads": 3}, "d_model 32 can't be split over 3 heads"),
        ({"heads": 0}, "heads is 0"),
        ({"heads": True}, "heads is True"),
        ({"layers": 5}, "layers is 5"),
        ({"steps": 0}, "steps is 0"),
        ({"steps": 10**9}, "steps is 1000000000"),
        ({"d_model": 4096}, "d_model is 4096"),
        ({"batch": 0}, "batch is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 1.5}, "seed is 1.5"),
        ({"learning_rate": float("nan")}, "learning rate is nan"),
        ({"learning_rate": 0.0}, "learning rate is 0.0"),
        ({"learning_rate": "fast"}, "learning rate is 'fast'"),
        ({"mask": "sideways"}, "no mask"),
        ({"mask": "padding:16"}, "never padded"),
        ({"mask": "matrix:2:f"}, "drawn for 2 tokens"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(changes, said):
    with pytest.raises(HeadworkError, match=said):
        Settings.of(**{"task": "neighbours"} | changes)


def test_equal_settings_are_equal_however_the_mask_is_spelled():
    assert Settings.of("neighbours", mask="window:2+causal") == Settings.of("neighbours", mask="causal+window:2")
    assert Settings.of("induction") == Settings("induction", heads=1, layers=2, mask="causal")


@pytest.mark.parametrize("mask", [None, "causal", "first row empty"])
def test_short_rows_are_filled_up_for_the_softmax_and_nothing_else_changes(mask, monkeypatch):
    n = 12
    allowed = None if mask is None else torch.ones(n, n, dtype=torch.bool).tril(0 if mask == "causal" else -1)
    q, k, v = torch.randn(3, 2, 4, n, 8, generator=torch.Generator().manual_seed(0))
    widths, softmax = [], torch.softmax

    def noted(scores, dim, out=None):
        widths.append(scores.size(-1))
        return softmax(scores, dim=dim, out=out)

    monkeypatch.setattr(torch, "softmax", noted)
    found = {}
    for register in (0, REGISTER):
        monkeypatch.setattr(softmax_of_training, "REGISTER", register)
        inputs = [x.clone().requires_grad_() for x in (q, k, v)]
        mixed, maps = scaled_dot_product_attention(*inputs, allowed, softmax=filled_softmax)
        (mixed.square().sum() + maps.square().sum()).backward()
        found[register] = [mixed, maps, *(x.grad for x in inputs)]
    assert widths == [n, REGISTER]
    for before, after in zip(*found.values(), strict=True):
        torch.testing.assert_close(after, before, atol=1e-6, rtol=1e-6)
    scaled_dot_product_attention(q, k, v, softmax=filled_softmax)
    assert widths[-1] == n  # nothing is copied where nothing is trained

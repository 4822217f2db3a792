"""What travels to the picture of learning heads, and the figures below it: the numbers are those of the training."""

import base64
import json
import zlib
from dataclasses import dataclass, replace

import numpy as np
import pytest

from model.training import Settings, Training
from viz.learning import PART, Lesson, Network, learning_part, learning_view, owners
from viz.learning_curves import (
    Answers,
    Run,
    deviation,
    entropy_figure,
    relations_figure,
    seed_curves_figure,
    seeds_figure,
    switched_off_figure,
)
from viz.theme import percent

N_STEPS = 40


@pytest.fixture(scope="module")
def trained():
    """A real run, short, under a mask that hides something."""
    training = Training(Settings("neighbours", heads=2, layers=2, mask="causal", steps=N_STEPS))
    training.step(N_STEPS)
    return training


def network(training):
    return Network("2 heads", training.frames, training.curve, training.settings.steps)


def allowed(training):
    return training.settings.allowed.allowed(training.task.n_tokens).numpy()


def unpacked(sent):
    """What the browser makes of a part: weights (F, L, h, N, N), NaN where a cell is masked."""
    codes = np.frombuffer(zlib.decompress(base64.b64decode(sent["bytes"])), np.uint8).reshape(sent["shape"])
    return np.where(codes > sent["top"], np.nan, codes / sent["top"] * sent["maximum"])


def test_every_checkpoint_arrives_once_in_order_with_the_numbers_of_the_training(trained):
    of = network(trained)
    parts = [learning_part(of, number, allowed(trained)) for number in range(of.n_parts)]
    assert len(parts) == -(-len(trained.frames) // PART) > 1
    assert [step for part in parts for step in part["steps"]] == [frame.step for frame in trained.frames]
    assert trained.frames[-1].step == N_STEPS
    for name in ("loss", "accuracy"):
        sent = [value for part in parts for value in part[name]]
        np.testing.assert_allclose(sent, [getattr(point, name) for point in trained.curve], atol=5e-5)
    shares = np.concatenate([part["share"] for part in parts])
    np.testing.assert_allclose(shares, np.stack([frame.share for frame in trained.frames]), atol=5e-5)
    hits = np.concatenate([part["hit"] for part in parts])
    np.testing.assert_allclose(hits, np.stack([frame.hit for frame in trained.frames]), atol=5e-5)


def test_maps_arrive_so_exactly_that_half_a_hundredth_is_the_most_they_differ_and_masked_cells_are_masked(trained):
    of, mask = network(trained), allowed(trained)
    arrived = np.concatenate([unpacked(learning_part(of, number, mask)) for number in range(of.n_parts)])
    maps = np.stack([frame.maps for frame in trained.frames])
    np.testing.assert_array_equal(np.isnan(arrived), np.broadcast_to(~mask, arrived.shape))
    np.testing.assert_allclose(arrived[..., mask], maps[..., mask], atol=0.5 / 254 + 1e-6)


def test_a_full_part_stays_the_same_while_the_training_goes_on():
    training = Training(Settings("neighbours", heads=1, steps=N_STEPS))
    while len(training.frames) < PART:
        training.step()
    mask = allowed(training)
    first = learning_part(network(training), 0, mask)
    training.step(N_STEPS)
    assert learning_part(network(training), 0, mask) == first
    assert network(training).n_parts > 1


def test_the_usual_run_is_small_enough_to_be_sent_twice_a_second():
    """About 90 checkpoints of 1 and 4 heads: what changes is the last part, and all of them are under 200 KB."""
    training = Training(Settings("neighbours", heads=4, steps=60))
    training.step(60)
    per_checkpoint = sum(
        len(json.dumps(learning_part(network(training), number, allowed(training))))
        for number in range(network(training).n_parts)
    ) / len(training.frames)
    assert per_checkpoint * 91 < 200_000 and per_checkpoint * PART < 40_000


def test_the_view_names_the_parts_and_says_what_lies_where(trained):
    of = network(trained)
    lesson = Lesson(trained.words, ["−2", "−1", "+1", "+2"], trained.example.keys[0].numpy(), 5376, 1 / 26)
    view = learning_view([of, of], lesson, parts=[["a"], ["b", "c"]], name="run", live=True)
    assert [each["parts"] for each in view["networks"]] == [["a"], ["b", "c"]]
    assert view["networks"][0]["shape"] == [2, 2] and view["live"] and view["labels"] == list(trained.words)
    assert view["n_answers"] == 5376 and view["chance"] == 1 / 26 and view["own"] == 0.5
    assert view["keys"][0] == [-1, -1, 1, 2] and view["keys"][-1] == [9, 10, -1, -1]  # the first and the last of 12
    assert json.loads(json.dumps(view)) == view
    here = len(of.frames)
    assert [each["n_frames"] for each in view["networks"]] == [here, here]
    half = replace(of, frames=of.frames[: here // 2], planned=here)  # the slider has room for what is to come
    assert learning_view([half], lesson, parts=[["a"]], name="run", live=True)["networks"][0]["n_frames"] == here
    other = learning_view([of], lesson, parts=[["a"]], name="another run", live=False, t=str.upper)
    assert other["name"] != view["name"] and other["text"]["play"] == "PLAY"


def test_a_head_owns_a_relation_from_half_of_its_weight_on_and_the_first_has_most():
    share = np.zeros((2, 2, 3), dtype=np.float32)
    share[0, 1, 0], share[1, 0, 0] = 0.6, 0.9  # two heads on the first relation
    share[1, 1, 1] = 0.5  # exactly half
    share[0, 0, 2], share[0, 1, 2] = 0.49, 0.4999  # the second is shown as 0.50
    assert owners(share) == [[(1, 0), (0, 1)], [(1, 1)], []]


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (1.0, "100 %"),
        (0.9999, "99 %"),
        (0.995, "99 %"),
        (0.986, "99 %"),
        (0.984, "98 %"),
        (0.338, "34 %"),
        (0.0, "0 %"),
    ],
)
def test_a_hundred_per_cent_is_said_only_where_nothing_is_missing(share, said):
    assert percent(share) == percent(np.float32(share)) == said


# -- figures -----------------------------------------------------------------------------------------------------


def test_relations_have_a_line_each_and_the_other_network_stands_grey_behind_them():
    by_relation = np.array([[0.1, np.nan, 0.3], [0.5, np.nan, 0.9]])
    main, beside = Answers("4 heads", [0, 10], by_relation), Answers("1 head", [0, 10], by_relation / 2)
    figure = relations_figure(main, beside, ["a<b", "never asked", "c"])
    names = [(trace.name, trace.showlegend) for trace in figure.data]
    assert names == [("1 head", True), ("1 head", False), ("a&lt;b", True), ("c", True)]
    assert figure.data[0].legendrank > figure.data[2].legendrank
    np.testing.assert_allclose(figure.data[3].y, [0.3, 0.9])
    assert {trace.line.dash for trace in figure.data[2:]} == {"solid", "dot"}
    assert len(relations_figure(main, None, ["a", "b", "c"]).data) == 2


def test_entropy_has_a_line_a_head_and_the_value_of_a_head_that_looks_everywhere(trained):
    figure = entropy_figure([frame.step for frame in trained.frames], trained.entropy, 12)
    assert [trace.name for trace in figure.data] == ["1-1", "1-2", "2-1", "2-2"]
    np.testing.assert_allclose(figure.data[2].y, trained.entropy[:, 1, 0])
    assert figure.layout.shapes[0].y0 == pytest.approx(np.log(12))
    assert figure.layout.annotations[0].text == "equal weights: 2.48"


def test_switching_off_has_the_whole_network_first_and_leaves_out_what_is_never_asked():
    left = np.array([[[0.1, np.nan, 1.0], [1.0, np.nan, 0.2]]])  # (1, 2, 3)
    figure = switched_off_figure(left, np.array([0.9, np.nan, 0.8]), ["left", "step", "twin"], chance=0.05)
    (heatmap,) = figure.data
    np.testing.assert_allclose(heatmap.z, [[0.9, 0.8], [0.1, 1.0], [1.0, 0.2], [0.05, 0.05]])
    assert [list(row) for row in heatmap.text[1:3]] == [["10 %", "100 %"], ["100 %", "20 %"]]
    assert list(figure.layout.yaxis.ticktext) == ["every head on", "without 1-1", "without 1-2", "baseline"]
    assert list(figure.layout.xaxis.ticktext) == ["left", "twin"] and (heatmap.zmin, heatmap.zmax) == (0, 1)


def test_every_figure_of_right_answers_has_a_line_where_the_baseline_lies():
    answers = Answers("4 heads", [0, 10], np.array([[0.1], [0.5]]))
    for figure in (
        relations_figure(answers, None, ["a"], chance=1 / 26),
        seeds_figure([RUN], ["1 head"], chance=1 / 26),
        seed_curves_figure([RUN], ["1 head"], chance=1 / 26),
    ):
        assert figure.layout.shapes[0].y0 == figure.layout.shapes[0].y1 == 1 / 26
        assert figure.layout.annotations[0].text == "baseline 4 %"


RUN = Run(size=0, seed=0, accuracy=0.3, steps=[0, 10], curve=[0.0, 0.3], is_split=False)


def test_every_seed_is_drawn_beside_mean_and_spread():
    runs = [RUN, replace(RUN, seed=1, accuracy=0.5), replace(RUN, size=1, accuracy=0.9)]
    figure = seeds_figure(runs, ["1 head", "4 heads", "not yet"])
    marks = [trace for trace in figure.data if trace.name in ("1 head", "4 heads")]
    np.testing.assert_allclose(marks[0].y, [0.3, 0.5])
    assert list(marks[0].customdata) == [0, 1] and len(set(marks[0].x)) == 2
    means = [trace for trace in figure.data if trace.name == "mean"]
    assert [float(trace.y[0]) for trace in means] == pytest.approx([0.4, 0.9])
    assert float(means[0].error_y.array[0]) == pytest.approx(0.141421, abs=1e-5)  # of 0.3 and 0.5, by n − 1
    assert means[1].error_y.array[0] == deviation(np.array([0.9])) == 0
    curves = seed_curves_figure(runs, ["1 head", "4 heads"])
    assert [(trace.name, trace.showlegend) for trace in curves.data] == [
        ("1 head", True),
        ("1 head", False),
        ("4 heads", True),
    ]


@dataclass
class Odd:
    """A checkpoint of another kind: the builders ask only for what they need."""

    step: int
    maps: np.ndarray
    share: np.ndarray
    hit: np.ndarray


@dataclass
class OddPoint:
    loss: float
    accuracy: float


def test_one_token_and_one_head_are_enough():
    frame = Odd(0, np.ones((1, 1, 1, 1)), np.ones((1, 1, 1)), np.ones((1, 1, 1)))
    of = Network("x", [frame], [OddPoint(0.0, 1.0)], 1)
    sent = learning_part(of, 0, np.ones((1, 1), dtype=bool))
    assert unpacked(sent).item() == 1.0 and of.shape == (1, 1) and of.n_parts == 1

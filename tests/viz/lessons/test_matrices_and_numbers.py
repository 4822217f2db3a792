"""Pictures of the first lessons show the numbers that the answers computed."""

import numpy as np
import pytest

from analysis.lessons import answer, setup_of
from analysis.lessons.answers.cost import best_heads
from analysis.lessons.answers.crossing import true_link
from analysis.lessons.answers.masks import allowed_cells, row_sum_in_order
from analysis.lessons.answers.parameters import all_parameters
from analysis.lessons.answers.reshape import place_of
from analysis.lessons.answers.steps import example_weight, order_of_attention
from analysis.lessons.setup import Setup, Source
from analysis.lessons.shelf import shipped
from tests.models import load
from viz.lessons import draw

SOURCE = Source(load, lambda text, model_id, mask: load(model_id).trace(text, mask))
OWN = ("01", "02", "03", "04", "05", "06", "09", "10", "15")
STEPS = [
    pytest.param(step, language, id=f"{lesson.id}-{step.id}-{language}")
    for lesson in shipped().lessons
    if lesson.source.startswith(OWN)
    for step in lesson.steps
    for language in ("en", "zh")
]


@pytest.mark.parametrize(("step", "language"), STEPS)
def test_every_step_has_a_picture_that_can_be_drawn(step, language):
    found = answer(step, setup_of(step.setup, language, SOURCE))
    assert draw(found, step.picture) is not None


def test_a_hidden_weight_is_drawn_as_masked_and_the_others_with_their_numbers():
    figure = draw(example_weight(Setup(), query="吃", key="吃", head=2, mask="causal"))
    weights, masked = figure.data[0], figure.data[1]
    shown = np.array(weights.z, dtype=float)
    assert np.nansum(shown, axis=-1) == pytest.approx([1, 1, 1], abs=1e-6)
    assert np.isnan(shown).sum() == np.nansum(np.array(masked.z, dtype=float)) == 3


def test_the_order_of_attention_shows_scores_only_so_that_no_weight_has_their_colours():
    assert (draw(order_of_attention(Setup(), steps=["scores", "softmax"])).data[0].zmin or 0) < 0


def test_the_number_asked_about_is_outlined_in_x_and_in_its_head():
    figure = draw(place_of(Setup(), tokens=3, d_model=8, heads=2, number=13))
    assert sum(shape.line.width == 3 for shape in figure.layout.shapes) == 2


def test_row_sums_of_both_orders():
    setup = Setup("The cat sat.", "toy", "causal", source=SOURCE)
    right = draw(row_sum_in_order(setup, layer=1, head=1, query="cat"))
    wrong = draw(row_sum_in_order(setup, layer=1, head=1, query="cat", order="after"))
    assert np.array(right.data[0].x) == pytest.approx(1)
    assert np.array(wrong.data[0].x)[0] < 1


def test_a_mask_is_written_into_its_cells():
    setup = Setup("The cat sat.", "toy", "causal", source=SOURCE)
    figure = draw(allowed_cells(setup))
    written = next(trace.text for trace in figure.data if trace.type == "scatter" and trace.mode == "text")
    assert "".join(written) == "1000110011101111"


def test_the_papers_figures_and_the_parts_of_a_model():
    assert tuple(draw(best_heads(Setup())).data[0].y) == (24.9, 25.5, 25.8, 25.8, 25.4)
    figure = draw(all_parameters(Setup(), config="bert-base-uncased", pooler=True))
    assert sum(figure.data[0].x) == 109_482_240


def test_true_links_are_outlined_the_one_asked_about_strongest():
    found = true_link(Setup(), task="translate-en", source="small old dogs hate red cats", word="ne")
    boxes = draw(found).layout.shapes
    assert len(boxes) == 7  # one for each target word
    strong = [box for box in boxes if box.line.width == 3]
    assert [(box.y0 + 0.5, box.x0 + 0.5) for box in strong] == [(5, 3)]  # the sixth word, from "hate"

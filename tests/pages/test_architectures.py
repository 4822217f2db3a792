"""Inside a block: encoder only, decoder only, encoder and decoder, with the shapes that ran."""

import json

import pytest

from analysis.blocks.pair import run_pair
from ui.inside import runs


@pytest.fixture
def drawn(inside):
    """Opens the three architectures and hands out what the browser draws."""
    runs.pairs.clear()

    def open_(**link):
        inside.app.open_page("inside", source="pair", **link)
        assert not inside.app.errors
        datas = [json.loads(part.proto.json) for part in inside.app.test.get("bidi_component") if part.proto.json]
        return next(data for data in datas if isinstance(data, dict) and "columns" in data)

    open_.inside = inside
    return open_


def test_shapes_and_masks_in_the_diagram_are_those_that_ran(drawn):
    data = drawn(text="The cat eats fish.", target="猫 吃 鱼")
    pair = run_pair("The cat eats fish.", "猫 吃 鱼")
    boxes = [box for column in data["columns"] for stack in column["stacks"] for box in stack]
    assert [box["key"] for box in boxes if "key" in box] == list(pair.looks)
    for box in boxes:
        if "key" in box:
            assert box["shape"] == f"A (1, {', '.join(map(str, pair.looks[box['key']].maps.shape))})"
            assert box["grid"] == pair.looks[box["key"]].allowed.astype(int).tolist()


@pytest.mark.parametrize("part", ["encoder_only", "decoder_only", "encoder", "decoder", "cross"])
def test_each_attention_opens_with_its_maps(drawn, part):
    drawn(part=part, text="The cat eats fish.", target="猫 吃 鱼")
    expected = run_pair("The cat eats fish.", "猫 吃 鱼").looks[part].maps
    assert drawn.inside.matrix().max() == pytest.approx(expected.max(), abs=1e-6)


@pytest.mark.parametrize("step", ["input", "project", "split", "scores", "scale", "softmax", "mix", "concat", "output"])
def test_every_step_of_cross_attention_is_drawn_with_the_code_that_ran(drawn, step):
    app = drawn.inside.app.open_page("inside", source="pair", tab="cross", cross_step=step)
    assert app.figures() and not app.errors
    assert any("model/" in each.value for each in app.test.markdown)


def test_a_link_restores_target_and_open_part_and_nonsense_is_dropped(drawn):
    data = drawn(part="nonsense", target="<b>x</b> *y*")
    assert data["selected"] == "cross"
    assert drawn.inside.app.value("inside_target") == "<b>x</b> *y*"


def test_an_empty_source_is_a_sentence(inside):
    inside.app.open_page("inside", source="pair", text=" ")
    assert len(inside.app.errors) == 1

"""Every figure: margins that Plotly needn't measure, tooltips that can be read, and no more cells than pixels."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

from analysis import by_pieces, compare
from analysis.blocks.reshape import split
from model import Mask, TransformerConfig, load
from viz.block import bars, curve_figure, drift_figure, entropies_figure, lines
from viz.comparison import difference_heatmap
from viz.cost import memory_figure, table_3_figure
from viz.dependency_arcs import arc_figure
from viz.effect_parts import LayerParts, in_proportion, on_each_prompt, patched, together, written
from viz.effects import Marked, Scale, against_attention, head_grid
from viz.heatmaps import head_heatmap
from viz.layer_grid import difference_grid, layer_grid
from viz.learning_curves import Answers, Run, entropy_figure, relations_figure, seeds_figure, switched_off_figure
from viz.maps import MOST_CELLS, Maps
from viz.mask_effects import moves, row_sums
from viz.mask_flow import flow_graph, gallery
from viz.masks import Panel, difference_map, mask_matrix, reach_map, score_map, weight_map
from viz.reshape import reshape_figure
from viz.scores import Bar, Scores, head_bars, score_grid, used_against_looked
from viz.steps import Tiles, tiles_figure
from viz.style import is_less, luminance
from viz.theme import GROUND, TEXT, text_width

ROOT = Path(__file__).parents[2]
LONG = ["[CLS]", *(f"token{i}" for i in range(500)), "[SEP]"]
CHINESE = ["<s>", "▁", "小明", "把", "苹果", "递给", "了", "小红", "，", "因为", "她", "帮", "过", "他", "。", "</s>"]


def rgb(colour):
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])


def shown(labels, *, heads=(), signed=False, seed=0):
    n = len(labels)
    cells = np.random.default_rng(seed).random((*heads, n, n)).astype(np.float32) - 0.5 * signed
    return Maps(cells, np.tril(np.ones((n, n), dtype=bool)), labels)


def figures(labels):
    n = len(labels)
    causal, panel = Mask.causal().allowed(n).numpy(), Panel("title", 1)
    share, rng = np.linspace(0, 1, n), np.random.default_rng(0)
    of = shown(labels)
    scores = Scores(rng.random((2, 3)), rng.random((2, 3)) > 0.5, ["a", "b"], ["1", "2", "3"], [["x"] * 3] * 2)
    some = by_pieces(load("toy").trace("the cat sat"))
    answers = Answers("4 heads", [0, 1], np.ones((2, 2)))
    found = {
        "head": head_heatmap(of, title="Head 4-2"),
        "narrow": head_heatmap(of, narrow=True),
        "grid": layer_grid(shown(labels, heads=(4,)), layer=0),
        "difference grid": difference_grid(shown(labels, heads=(4,), signed=True), layer=0, limit=0.5),
        "comparison": difference_heatmap(compare(some, some, (0, 0), (0, 1))),
        "weights": weight_map(of, panel, says_masked=True),
        "difference": difference_map(shown(labels, signed=True), panel, limit=0.5),
        "scores": score_map(of, panel, limits=(0, 1)),
        "mask": mask_matrix(causal, labels, panel),
        "reach": reach_map(np.where(causal, 1, -1), labels, panel, n_layers=2),
        "flow": flow_graph(causal, labels, panel, query=1, n_layers=2),
        "gallery": gallery([("causal", causal)], selected=0),
        "moves": moves(rng.random((3, n)), labels, panel, first=1, limit=1),
        "row sums": row_sums(share, labels, panel),
        "score grid": score_grid(scores, selected=(0, 0)),
        "head bars": head_bars([Bar("a", 0.7, 0.6, 0.8, 0.4, True, False, "A")]),
        "used": used_against_looked(rng.random((2, 3)), rng.random((2, 3)), (0, 0), x_title="x", y_title="y"),
        "arcs": arc_figure(labels, [(0, 1, "det")], [(0, 1, True)]),
        "tiles": tiles_figure(Tiles(rng.normal(size=(2, n, 8)), ["a", "b"], labels)),
        "reshape": reshape_figure(split(3, 8, 2), ["a", "b", "c"]),
        "bars": bars(share, labels, x_title="token"),
        "lines": lines([("a", share)], labels, y_title="y"),
        "curve": curve_figure(share, share, share, share, names=("a", "b"), x_title="x"),
        "entropies": entropies_figure(share[None], share, share, labels, selected=0, equal=1.0),
        "drift": drift_figure(share[None], share[None], labels, selected=0),
        "memory": memory_figure(TransformerConfig(9, 36, 12, 6, 48, num_key_heads=3), 2),
        "table 3": table_3_figure(),
        "relations": relations_figure(answers, None, ["left", "twin"], chance=0.1),
        "entropy": entropy_figure([0, 1], np.ones((2, 1, 2)), 12),
        "switched off": switched_off_figure(np.ones((1, 2, 2)), np.ones(2), ["left", "twin"]),
        "seeds": seeds_figure([Run(0, 0, 0.9, [0], [0.5], True)], ["1 head"], chance=0.1),
    }
    effect, hovers, change = rng.normal(size=(2, 3)), [["x"] * 3] * 2, Scale("change", 2.0)
    marked, parts, y = Marked((0, 0), (1, 1), (0, 1)), LayerParts(effect, effect[:, 0], effect[:, 1]), {"y_title": "y"}
    found |= {
        "effects": head_grid(effect, change, marked, hovers, height=300, corner="layer ↓ head →"),
        "against attention": against_attention(abs(effect), effect, marked, hovers, x_title="x", height=300, **y),
        "prompts": on_each_prompt(effect[0], ["a", "b", "c"], interval=(0, 1), shown=0, x_title="x", **y),
        "proportion": in_proportion(parts, hovers, selected=(0, 0), **y),
        "written": written(parts, 0.1, 0.2, **y),
        "patched": patched(rng.normal(size=(2, n)), labels, change, says="{layer} {token} {value}"),
        "together": together(["a", "b"], [-1, 1], x_title="x"),
    }
    return found


@pytest.mark.parametrize("labels", [list("abcd"), CHINESE, LONG], ids=["short", "chinese", "long"])
def test_no_figure_lets_plotly_measure_its_margins(labels):
    for name, figure in figures(labels).items():
        assert figure.layout.margin.autoexpand is False, name
        axes = {key: axis for key, axis in figure.layout.to_plotly_json().items() if key[1:].startswith("axis")}
        for key, axis in axes.items():
            assert axis.get("automargin") is False or axis.get("visible") is False, (name, key)


def test_margins_hold_the_longest_label_that_is_shown():
    long = head_heatmap(shown(["a", "Donaudampfschiff"])).layout.margin.l
    short = head_heatmap(shown(["a", "b"])).layout.margin.l
    assert long - short == pytest.approx(text_width("Donaudampfschiff", 15) - text_width("b", 15))


@pytest.mark.parametrize("kind", ["light", "dark"])
def test_a_tooltip_is_the_page_s_text_on_the_page_s_ground_in_every_figure(kind):
    theme = tomllib.loads((ROOT / ".streamlit/config.toml").read_text())["theme"][kind]
    (ground, ink) = (luminance(rgb(theme[name])) for name in ("backgroundColor", "textColor"))
    assert (max(ground, ink) + 0.05) / (min(ground, ink) + 0.05) >= 4.5
    for name, figure in figures(list("abcd")).items():
        label = figure.layout.hoverlabel
        assert (label.bgcolor, label.font.color) == (GROUND, TEXT), name


def test_no_map_has_more_cells_than_pixels_and_the_largest_weight_is_painted():
    cells = np.full((502, 502), 0.0005, dtype=np.float32)
    cells[:, 0] = 0.53
    of = Maps(cells, np.ones((502, 502), dtype=bool), LONG)
    for figure in (head_heatmap(of), head_heatmap(of, narrow=True), weight_map(of, Panel(""))):
        z = np.asarray(figure.data[0].z)
        assert max(z.shape) <= MOST_CELLS
        np.testing.assert_allclose(z[:, 0], 0.53)  # the whole of [CLS]'s column
    for name, figure in figures(LONG).items():
        if name not in ("tiles", "mask"):
            for trace in figure.data:
                if trace.type == "heatmap" and trace.x is None:
                    assert max(np.shape(trace.z)) <= MOST_CELLS, name
    said = [note.text for narrow in (False, True) for note in head_heatmap(of, narrow=narrow).layout.annotations]
    assert sum("each cell: the largest of 4 × 4 weights" in text for text in said) == 2


def test_queries_and_keys_may_be_other_texts_of_other_lengths():
    weights, english = np.array([[0.1, 0.2, 0.7]], dtype=np.float32), ["the", "cat", "."]
    of = Maps(weights, np.ones((1, 3), dtype=bool), ["Katze"], english)
    figure = head_heatmap(of)
    assert list(figure.layout.yaxis.ticktext) == ["Katze"] and list(figure.layout.xaxis.ticktext) == english
    assert np.shape(figure.data[0].z) == (1, 3)
    with pytest.raises(ValueError, match="2 and 3 labels need a 2 × 3 map"):
        Maps(np.zeros((3, 2)), np.ones((3, 2), dtype=bool), ["a", "b"], ["c", "d", "e"])


def test_a_long_text_against_a_short_one_is_coarse_on_the_long_side_alone():
    of = Maps(np.zeros((3, 502), dtype=np.float32), np.ones((3, 502), dtype=bool), list("abc"), LONG).in_blocks()
    assert (of.shape, of.step) == ((3, 126), (1, 4))


def test_chinese_keys_stand_upright_and_no_other_label_is_dropped():
    layout = head_heatmap(shown(CHINESE)).layout
    assert layout.xaxis3.tickangle == 0 and layout.xaxis3.ticktext[0] == "小<br>明"
    seen = sorted([*layout.xaxis2.tickvals, *layout.xaxis3.tickvals])
    assert seen == list(range(len(CHINESE)))
    assert [layout.xaxis2.ticktext[0], layout.xaxis2.ticktext[-1]] == ["&lt;s&gt;", "&lt;/s&gt;"]
    small = weight_map(shown((CHINESE * 2)[:24]), Panel("")).layout  # 24 tokens in a third of a page
    assert len(small.yaxis.ticktext) == 24 and "yaxis2" not in small.to_plotly_json()
    assert len(small.xaxis2.tickvals) + len(small.xaxis3.tickvals) == 24


def test_a_map_without_differences_is_seen_by_its_frame():
    of = Maps(np.zeros((2, 3), dtype=np.float32), np.ones((2, 3), dtype=bool), list("ab"), keys=list("abc"))
    frame = difference_map(of, Panel(""), limit=0.4).layout.shapes[0]
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (-0.5, 2.5, -0.5, 1.5) and frame.line.width == 1


def test_what_is_less_is_hatched_so_that_grey_print_keeps_the_sign():
    values = np.array([[-0.4, 0.1, -0.01], [0.0, 0.2, -0.2], [0.4, -0.4, 0.3]], dtype=np.float32)
    of = Maps(values, np.ones((3, 3), dtype=bool), list("abc"))
    hatched = difference_map(of, Panel(""), limit=0.4).data[-1]
    assert hatched.fillpattern.shape == "-"
    corners = {(x + 0.5, y + 0.5) for x, y in zip(hatched.x[::6], hatched.y[::6], strict=True)}
    assert corners == {(0, 0), (2, 1), (1, 2)}  # key, query of what is clearly below 0
    assert is_less(values, 0.4).sum() == 3
    assert difference_map(of, Panel(""), limit=0.4).data[0].colorbar.ticktext[0].startswith("▤")

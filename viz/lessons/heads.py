"""Pictures of lessons that are heads looking: in the sentence, in one map, all of them at once."""

import plotly.graph_objects as go

from analysis.lessons.answer import Answer
from analysis.lessons.shown import Looks, MapOf, Race, Sentences
from viz.heatmaps import head_heatmap
from viz.lessons.moving import flip
from viz.lessons.pictures import AllHeads, Moving, Sentence, picture
from viz.maps import Maps
from viz.overview import Metric
from viz.theme import ACCENT, Translate
from viz.token_strip import StripChoice, layer_maps

HEIGHT = 330


@picture("strip")
def strip(answer: Answer, t: Translate) -> list[Sentence]:
    """The sentence with the arcs of the heads that the question is about."""
    return [_sentence(answer.shown)]


@picture("sentences")
def sentences(answer: Answer, t: Translate) -> list[Sentence] | Moving:
    """Several sentences under each other, right and wrong ones marked; one sentence and a change of it as one."""
    shown: Sentences = answer.shown
    if len(shown.looks) == 2 and not shown.is_right and (flipped := flip(*shown.looks, t)) is not None:
        return flipped
    marks = shown.is_right or (None,) * len(shown.looks)
    return [_sentence(looks, mark) for looks, mark in zip(shown.looks, marks, strict=True)]


@picture("race")
def race(answer: Answer, t: Translate) -> AllHeads:
    """Every head in the colour of its weight for the pair, the winner outlined, and the winner in the sentence."""
    shown: Race = answer.shown
    name = t("weight from “{query}” to “{key}”").format(
        query=shown.trace.labels[shown.query], key=shown.trace.keys[shown.key]
    )
    looks = Looks(shown.trace, (shown.winner,), shown.query, shown.key)
    return AllHeads(
        shown.trace.attention,
        shown.trace.allowed,
        Metric(name, shown.weights, 0.0, 1.0),
        shown.winner,
        _sentence(looks),
    )


@picture("map")
def one_map(answer: Answer, t: Translate) -> go.Figure:
    """One head's map, with the cells that the question is about outlined."""
    shown: MapOf = answer.shown
    title = t("head {name}").format(name=shown.head)
    figure = head_heatmap(Maps.of(shown.trace, *shown.head), title=title, height=HEIGHT, t=t)
    for query, key in shown.cells:
        box = {"x0": key - 0.5, "x1": key + 0.5, "y0": query - 0.5, "y1": query + 0.5}
        figure.add_shape(type="rect", **box, line={"color": ACCENT, "width": 3})
    return figure


def _sentence(looks: Looks, is_right: bool | None = None) -> Sentence:
    layer = looks.heads[0].layer
    shown = layer_maps(looks.trace, layer)
    heads = sorted({head.head for head in looks.heads})
    return Sentence(shown, StripChoice(heads=heads, pinned=looks.query), is_right)

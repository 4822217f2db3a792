"""One sentence: gold arcs over it, the chosen head's arrows under it, and its map with the gold cells framed."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from analysis.evidence.one_sentence import Link, WordMaps
from ui.frame.captions import chart, text_scale
from ui.frame.languages import _
from ui.heads.choices import View
from ui.heads.words import COREFERENCE_NAMES, RELATIONS, clause
from viz.dependency_arcs import arc_figure, sentence_width
from viz.heatmaps import head_heatmap
from viz.maps import Maps
from viz.scores import outline
from viz.style import Style


@dataclass(frozen=True, eq=False)
class Shown:
    """What is drawn of a sentence.

    Attributes:
        links: the gold ones, asking word → right word.
        arrows: the head's, (asking, where it looks, is right).
        arcs_are: what the legend calls the arcs: by whom they were drawn.
        others: all that a pronoun may mean.
    """

    text: str
    maps: WordMaps
    links: tuple[Link, ...]
    arrows: tuple[tuple[int, int, bool], ...]
    arcs_are: str = "gold arc"
    others: Sequence[int] = ()


def draw(view: View, shown: Shown, marked: Sequence[int] = ()) -> DeltaGenerator:
    """Arcs and arrows, then the head's map with the gold cells framed. Returns the place beside the map."""
    words = shown.maps.words
    arcs = [(link.asking, link.wanted, _short(link.relation)) for link in shown.links]
    figure = arc_figure(words, arcs, shown.arrows, name=_(shown.arcs_are), marked=marked, t=_)
    width = sentence_width(words)
    with st.container(key="heads-strip"):
        st.html(f"<style>.st-key-heads_arcs {{ min-width: {width * text_scale():.0f}px; }}</style>")
        chart(figure, "heads_arcs", alt=_sentence_alt(view, shown))
    left, right = st.columns([5, 6], gap="medium")
    of_head = Maps(shown.maps.maps[view.head], shown.maps.allowed, words)
    style = Style(text_scale=text_scale())
    map_ = head_heatmap(of_head, style, title=_("Head {name}").format(name=view.name), height=430, t=_)
    outline(map_, [(link.asking, link.wanted) for link in shown.links])
    with left:
        chart(
            map_,
            "heads_map",
            grown=True,
            alt=_("Attention map of head {name}: each row is a query, each column a key.").format(name=view.name),
        )
        st.caption(
            _("Between words. Framed: where the head should look. Weight on special tokens is left out, not rescaled.")
        )
    return right


def _short(relation: str) -> str:
    return _("refers to") if relation in COREFERENCE_NAMES else relation


def _sentence_alt(view: View, shown: Shown) -> str:
    words = shown.maps.words
    told = [
        f"{words[asking]} → {words[looked]} " + (_("(right)") if is_right else _("(elsewhere)"))
        for asking, looked, is_right in shown.arrows
        if looked >= 0
    ]
    return _("Arrows of head {name}: {list}").format(name=view.name, list=_("; ").join(told))


def link_name(link: Link, words: Sequence[str]) -> str:
    """A link for a list: "students → praised (object → its verb)"."""
    is_relation = link.relation in RELATIONS
    said = clause(link.relation, "dep>head") if is_relation else _("refers to")
    return f"{words[link.asking]} → {words[link.wanted]} ({said})"

"""Two texts read as a pair, on the Attention page: the head's map between them."""

from typing import cast

import streamlit as st

from analysis import Reading
from analysis.maps.pairs import PARTS, Part, between, share
from model import AttentionTrace
from ui.attention import maps
from ui.attention.view import View, segments
from ui.frame.captions import chart
from ui.frame.languages import _
from viz.heatmaps import head_heatmap
from viz.maps import Maps
from viz.style import Style

HEIGHT = 340  # pixels: texts of a pair are half as long as the whole


def between_texts(trace: AttentionTrace, reading: Reading, view: View, style: Style) -> None:
    """A choice of A → A, A → B, B → A or B → B, how much of the weight lies there, and that part of the map."""
    words, picture = st.columns([2, 3], gap="medium")
    with words:
        which = _(
            "A is the text before the separator, B the one after it. The separator that ends a text belongs to it."
        )
        part = cast(Part, segments(_("Between the two texts"), "part", PARTS, "ab", help=which))
        query, key = PARTS[part].split(" → ")
        weight = share(maps.units(trace, view.level), trace.tokenized, part)[view.layer, view.head]
        if weight == weight:  # NaN: no query of the text may look at anything
            said = _("Head {name} gives {share:.0%} of the weight of text {query} to text {key}.")
            st.markdown(f":small[{said.format(name=view.name, share=weight, query=query, key=key)}]")
    found = between(reading.trace, trace.tokenized, part, view.layer, view.head)
    shown = Maps(found.weights, found.allowed, found.queries, found.keys)
    title = _("Head {name}").format(name=view.name) + f" · {PARTS[part]}"
    figure = head_heatmap(shown, style, title=title, height=HEIGHT, t=maps.words(view))
    alt = _("Attention map of head {name}: each row is a query, each column a key.").format(name=view.name)
    chart(figure, "pair_map", picture, grown=True, alt=f"{alt} {PARTS[part]}")

"""The token strip and the overview on one page, with real maps; the address chooses text, model, mask and the rest."""

import numpy as np
import streamlit as st

from model import load, parse_mask
from ui.frame import components
from viz.overview import Metric
from viz.style import Style
from viz.token_strip import LayerMaps, StripChoice, StripLook

st.set_page_config(layout="wide")
components.library()


@st.cache_resource
def trace(text: str, model_id: str, mask: str):
    return load(model_id).trace(text, parse_mask(mask))


def keep(name):
    return lambda value: st.session_state.update({name: value})


def ask(name, default):
    return st.query_params.get(name, default)


text = ask("text", "The teacher praised the students because they worked hard.")
mask = ask("mask", "bidirectional")
model_id = ask("model", "minilm")
source = (model_id, text, mask, ask("repeat", 1))
maps = trace(text, model_id, mask)
tokens = maps.tokenized
state = st.session_state
state.setdefault("layer", min(3, maps.n_layers - 1))
state.setdefault("heads", (1,))
state.setdefault("pinned", int(ask("pinned", -1)) if "pinned" in st.query_params else None)
state.setdefault("direction", "looks_at")


def pick(layer, head):
    state["layer"], state["heads"] = layer, (head,)


@st.fragment
def picture():
    state["runs"] = state.get("runs", 0) + 1
    style = Style(curve=ask("curve", "linear"), text_scale=float(ask("scale", 1)))
    components.token_strip(
        LayerMaps(
            maps.attention[state["layer"]],
            maps.allowed,
            maps.tokens,
            state["layer"],
            is_special=tokens.is_special,
            is_padding=tokens.is_padding,
        ),
        StripChoice(state["heads"], state["pinned"], direction=state["direction"]),
        StripLook(style, tile=int(ask("tile", 64))),
        key="strip",
        source=source,
        on_pinned=keep("pinned"),
        on_heads=keep("heads"),
        on_direction=keep("direction"),
    )
    left, right = st.columns([5, 4])
    by_metric = left.toggle("Colour by a number", key="by_metric")
    left.text(f"layer {state['layer']} heads {list(state['heads'])} pinned {state['pinned']} {state['direction']}")
    left.text(f"runs {state['runs']}")
    left.button("Next layer", on_click=lambda: pick((state["layer"] + 1) % maps.n_layers, 0))
    every_head = np.concatenate([maps.attention] * int(ask("repeat", 1)))  # 2: as many heads as BERT-base
    metric = Metric("confidence", every_head.max(axis=-1).mean(axis=-1), 0.0, 1.0) if by_metric else None
    with right:
        components.overview(
            every_head,
            maps.allowed,
            selected=(state["layer"], state["heads"][0]) if state["heads"] else None,
            key="overview",
            source=source,
            metric=metric,
            style=style,
            on_pick=pick,
        )


picture()

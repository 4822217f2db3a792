"""For models that predict nothing: how far a vector of the sentence in the sidebar turns when a head is off."""

from typing import cast

import numpy as np
import streamlit as st

from analysis.effects.ranks import rank_correlation
from analysis.effects.report import state_report
from analysis.effects.runs import Off
from analysis.effects.states import StateEffects, encode_text, measure_states
from ui.effects import export
from ui.effects.choices import head_choice
from ui.effects.data import Measured, Of
from ui.effects.head import head_map
from ui.effects.parts import proportion
from ui.effects.picture import picture
from ui.effects.words import LIMITS_STATES, OFF
from ui.frame import controls, examples, loading
from ui.frame.cache import ByteCache
from ui.frame.captions import small
from ui.frame.choose import choose, translated
from ui.frame.languages import _
from ui.frame.tabs import open_tab

MOST_TOKENS = 64  # of the sentence: every token is asked about
KINDS: dict[Of, str] = {"token": "the token", "sentence": "the whole sentence"}
TABS = {"head": "One head", "parts": "FFNs and layers"}
CACHE_MB = 16


def show(model_id: str, export_place) -> None:
    """The page for an encoder.

    Args:
        model_id: of the sidebar.
        export_place: where the files go.
    """
    controls.show("sentence")
    text = controls.sentence()
    small(_(LIMITS_STATES))
    model = loading.load_model(model_id)
    asked = encode_text(model, text)
    if len(asked.ids) > MOST_TOKENS:
        st.info(
            _("This sentence has {n} tokens; here it may have {most}. Shorten it.").format(
                n=len(asked.ids), most=MOST_TOKENS
            )
        )
        return
    with st.container(horizontal=True, vertical_alignment="bottom", key="effects-controls", gap="small"):
        token_place, word_place = st.container(width=150), st.container(width=150)
        kind_place, off_place = st.container(width="content"), st.container(width=125)
        head_place = st.container(width=95)
    first = _first_token(text, asked.labels)
    names = {n: f"{label} ({n})" for n, label in enumerate(asked.labels, 1)}
    with token_place:
        token = choose(_("This token looks"), "token", names, first, key="effects_token") - 1
    attention = _attention(model_id, text, token)
    with word_place:
        word = choose(_("at this token"), "word", names, _most_seen(attention, token) + 1, key="effects_word") - 1
    with kind_place:
        of: Of = choose(_("What turns"), "turns", translated(KINDS), "token", key="effects_turns", wide=True)
    with off_place:
        kinds = {name: title for name, title in translated(OFF).items() if name != "position"}
        off = cast(Off, choose(_("Switched off to"), "off", kinds, "zero", key="effects_state_off"))
    measured = _measured(_effects(model_id, text, off), of, token, word, attention[:, :, word])
    with head_place:
        head = head_choice(tuple(measured.mean.shape), measured.matters)
    picture(measured, head)
    with export_place:
        export.popover(measured, head)
    opened, place = open_tab(TABS, state="effects_state_view", link="view")
    with place:
        if opened == "head":
            head_map(text, model_id, head)
        else:
            proportion(measured, head)


def _first_token(text: str, labels: tuple[str, ...]) -> int:
    """Which token looks at first, from 1: the one that an example is about, else the last before the marks."""
    look = examples.look(text)
    return (labels.index(look) if look in labels else max(len(labels) - 2, 0)) + 1


def _attention(model_id: str, text: str, token: int) -> np.ndarray:
    """(L, h, N): what a token gives to every other, in every head."""
    trace = loading.trace(text, model_id, loading.load_model(model_id).default_mask)
    return trace.attention[:, :, token].astype(np.float64)


def _most_seen(attention: np.ndarray, token: int) -> int:
    """The token between the marks at both ends at which some head looks most, besides the token itself."""
    most = attention.max(axis=(0, 1))
    most[[0, -1, token]] = -1
    return int(most.argmax())


@st.cache_resource(show_spinner=False)
def _kept() -> ByteCache:
    """The one store of these runs on this server."""
    return ByteCache(int(CACHE_MB * 1e6), at_once=2, n_bytes=lambda found: 3 * found.tokens[0].nbytes)


def _effects(model_id: str, text: str, off: Off) -> StateEffects:
    """Every head, FFN and layer off on the sentence, computed once for everybody."""

    def compute() -> StateEffects:
        model = loading.load_model(model_id)
        return measure_states(model, [encode_text(model, text)], off=off, parts=("heads", "ffns", "layers"))

    with st.spinner(_("Switching off one head after another…")):
        found: StateEffects = _kept().get((loading.named(model_id), text, off), compute)
    return found


def _measured(effects: StateEffects, of: Of, token: int, word: int, attention: np.ndarray) -> Measured:
    """What the page shows of it: how far one token's vector or the sentence's turns, beside one weight (L, h)."""
    is_token = of == "token"
    each = effects.tokens[0][None, ..., token] if is_token else effects.sentence

    def of_layers(tokens, sentence):
        return None if sentence is None else tokens[0][:, token] if is_token else sentence[0]

    return Measured(
        of=of,
        each=each,
        interval=None,
        attention=attention,
        word=f"“{effects.asked[0].labels[word]}”",
        correlation=rank_correlation(attention[None], -each),
        held_out=(),
        direct=None,
        ffns=of_layers(effects.ffn_tokens, effects.ffns),
        layers=of_layers(effects.layer_tokens, effects.layers),
        raw=state_report(effects),
    )

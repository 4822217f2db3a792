"""The sizes on "Parameters and cost": any whole numbers, or those of a model, read from its config alone."""

from contextlib import suppress
from dataclasses import fields, replace
from typing import Any

import streamlit as st

from analysis.blocks.known_configs import Known, parsed, taken_apart
from model import HeadworkError, TransformerConfig
from model.catalogue import resolve
from model.weights.trained import PREFIX
from ui.cost.sizes import CHOICES, FIRST, Fields, config_of, fields_of, presets
from ui.frame import controls, links
from ui.frame.languages import _, explain, plain

OWN, PASTED = "own", "pasted"
GOOD = "cost_possible"  # session state: the last sizes that were possible
READ = "cost_read"  # session state: what was pasted, taken apart
LABELS = {
    "d_model": "d_model",
    "heads": "heads h",
    "key_heads": "key heads h_kv",
    "head_width": "d_k",
    "d_ff": "d_ff",
    "layers": "layers L",
    "vocabulary": "vocabulary V",
    "positions": "positions P",
    "types": "token types T",
    "norms": "norms in blocks",
    "attention_bias": "biases of attention",
    "output": "output matrix",
    "swiglu": "SwiGLU",
    "ffn_bias": "biases of the FFN",
    "qk_norm": "norm of q and k",
    "embedding_norm": "LayerNorm of embeddings",
    "final_norm": "last norm",
}
OPTIONS = {
    "norms": {"layer": "LayerNorm", "rms": "RMSNorm", "none": "none"},
    "attention_bias": {"all": "q, k, v, o", "qkv": "q, k, v", "none": "none"},
    "output": {"none": "none", "tied": "tied", "own": "its own"},
}
POOLER = "BERT's last layer, d_model × d_model, over [CLS]. It makes no attention map, so this app does not load it."
HELP = {
    "key_heads": "Heads of keys and values. Each serves h / h_kv query heads: grouped queries (Ainslie et al. 2023). "
    "Empty: as many as h.",
    "head_width": "Width of one head. Empty: d_model / h.",
    "norms": "LayerNorm has γ and β, RMSNorm γ alone (Zhang & Sennrich 2019).",
    "swiglu": "An FFN of three matrices: W_2 (silu(W_gate x) ⊙ W_1 x) (Shazeer 2020).",
    "qk_norm": "An RMSNorm over each head's query and key, as in Qwen3.",
    "output": "From hidden state to the score of every token: decoders have one. Tied: the token embeddings once more "
    "(Press & Wolf 2017).",
}
WIDTHS = {"key_heads": 118, "heads": 78, "head_width": 72, "layers": 78, "d_model": 78, "d_ff": 82, "vocabulary": 98}


def config() -> tuple[TransformerConfig, bool]:
    """The config that the controls describe, and whether BERT's pooler is counted too.

    Impossible sizes get a sentence, and what was possible before stays.
    """
    found = _presets()
    for field in fields(Fields):
        _first_value(field.name, getattr(FIRST, field.name))
    _first_value("pooler", True)
    known = _known(found)
    st.session_state["cost_preset"] = known
    with st.container(horizontal=True, vertical_alignment="bottom", key="cost-sizes"):
        _choose_preset(found, known)
        with st.popover(_("Paste a config.json")):
            _paste()
        for name in LABELS:
            if _is_number(name):
                _number(name)
        with st.popover(_made_of(_now()), help=_("What the blocks are made of")):
            for name in CHOICES:
                _choice(name)
            for name in LABELS:
                if isinstance(getattr(FIRST, name), bool):
                    st.toggle(_(LABELS[name]), key=f"cost_{name}", persist_state="session", help=_help(name))
            pooler = st.toggle(_("pooler"), key="cost_pooler", persist_state="session", help=_(POOLER))
    now = _now()
    for field in fields(Fields):
        links.write(field.name, _spelled(getattr(now, field.name)), _spelled(getattr(FIRST, field.name)))
    links.write("pooler", _spelled(pooler), "1")
    known = _known(found)
    return _possible(now, found[known].config if known in found else None), bool(pooler)


def whole(name: str, label: str, first: int, *, width: int = 120) -> int:
    """One more whole number of this page, kept in the link."""
    _first_value(name, first)
    number = int(st.number_input(label, step=1, key=f"cost_{name}", width=width, persist_state="session") or 0)
    links.write(name, str(number), str(first))
    return number


def _choose_preset(found: dict[str, Known], known: str) -> None:
    names = {OWN: _("your own sizes"), PASTED: _("your config.json")}
    st.selectbox(
        _("Sizes of"),
        list(found) + ([OWN] if known == OWN else []),
        key="cost_preset",
        format_func=lambda name: names.get(name) or _called(name),
        on_change=lambda: _take(found.get(st.session_state["cost_preset"])),
        width=250,
        help=_("Read from the model's config alone. No weights are loaded and nothing is fetched."),
    )


def _paste() -> None:
    """Takes apart the config.json of any model of the families that this app knows."""
    st.text_area(
        _("config.json of a model, as it stands on the hub or in its folder"),
        key="cost_json",
        height=220,
        placeholder='{\n  "model_type": "llama",\n  "hidden_size": 576,\n  …\n}',
        persist_state="session",
    )
    st.button(_("Take these sizes"), on_click=_read_pasted, type="primary")
    if wrong := st.session_state.get("cost_json_error"):
        st.error(explain(wrong), icon="✋")


def _read_pasted() -> None:
    st.session_state.pop("cost_json_error", None)
    try:
        known = taken_apart(parsed(st.session_state["cost_json"] or ""))
        config_of(fields_of(known.config))
    except HeadworkError as error:
        st.session_state["cost_json_error"] = error
        return
    st.session_state[READ], st.session_state["cost_preset"] = known, PASTED
    _take(known)


def _number(name: str) -> None:
    inferred = {"key_heads": str(st.session_state["cost_heads"] or ""), "head_width": _head_width()}
    st.number_input(
        _(LABELS[name]),
        value=None if name in inferred else "min",
        step=1,
        key=f"cost_{name}",
        width=WIDTHS.get(name, 100),
        persist_state="session",
        placeholder=inferred.get(name),
        help=_help(name),
    )


def _head_width() -> str:
    """What d_k is when nothing says otherwise; empty where d_model can't be split."""
    d_model, heads = st.session_state["cost_d_model"] or 0, st.session_state["cost_heads"] or 0
    return str(d_model // heads) if heads > 0 and d_model % heads == 0 else ""


def _choice(name: str) -> None:
    st.segmented_control(
        _(LABELS[name]),
        CHOICES[name],
        key=f"cost_{name}",
        format_func=lambda option: _(OPTIONS[name][option]),
        required=True,
        persist_state="session",
        help=_help(name),
    )


def _help(name: str) -> str | None:
    return _(HELP[name]) if name in HELP else None


def _made_of(now: Fields) -> str:
    """The choices in a few words, for the button behind which they stand."""
    biases = {"all": _("biases"), "qkv": _("biases of q, k, v"), "none": _("no biases")}
    parts = [
        _("no norms") if now.norms == "none" else OPTIONS["norms"][now.norms],
        "SwiGLU" if now.swiglu else "",
        _("norm of q and k") if now.qk_norm else "",
        biases[now.attention_bias],
        {"none": "", "tied": _("tied output matrix"), "own": _("own output matrix")}[now.output],
    ]
    return " · ".join(filter(None, parts))


def _possible(now: Fields, known: TransformerConfig | None) -> TransformerConfig:
    last: Fields = st.session_state.get(GOOD, FIRST)
    try:
        config = config_of(now)
    except HeadworkError as error:
        kept = _("Below: still d_model {d_model} with {heads} heads, d_ff {d_ff} and {layers} layers.").format(
            d_model=last.d_model, heads=last.heads, d_ff=last.d_ff, layers=last.layers
        )
        st.error(f"{explain(error)} {plain(kept)}", icon="✋")
        return config_of(last)
    st.session_state[GOOD] = now
    return known or config


def _presets() -> dict[str, Known]:
    """What was pasted, and every model whose config is here."""
    chosen = None
    with suppress(HeadworkError):  # the sidebar may name no model; the ledger doesn't need one
        chosen = controls.model()
    pasted = {PASTED: st.session_state[READ]} if READ in st.session_state else {}
    return pasted | presets(chosen)


def _known(found: dict[str, Known]) -> str:
    """Which model these sizes are of: the one that was chosen, where several have the same."""
    now = _now()
    same = [name for name, known in found.items() if fields_of(known.config) == now]
    chosen = st.session_state.get("cost_preset")
    return chosen if chosen in same else same[0] if same else OWN


def _called(model_id: str) -> str:
    return resolve(model_id).label if model_id.startswith(PREFIX) else model_id


def _take(known: Known | None) -> None:
    """Sets every control to what a config says."""
    if known is None:
        return
    sizes = fields_of(known.config)
    is_own = st.session_state["cost_preset"].startswith(PREFIX)
    st.session_state["cost_pooler"] = known.config.output == "none" and not is_own  # who has an output has no pooler
    for field in fields(Fields):
        st.session_state[f"cost_{field.name}"] = _widget(field.name, getattr(sizes, field.name))
    if known.bytes_each:
        st.session_state["cost_bytes"] = known.bytes_each


def _now() -> Fields:
    values = {field.name: st.session_state.get(f"cost_{field.name}") or 0 for field in fields(Fields)}
    kinds = {field.name: type(getattr(FIRST, field.name)) for field in fields(Fields)}
    return replace(FIRST, **{name: kinds[name](value) for name, value in values.items()})


def _is_number(name: str) -> bool:
    return type(getattr(FIRST, name)) is int


def _widget(name: str, value: Any) -> Any:
    """A value as its widget holds it: an empty field where the number follows from the others."""
    return None if name in ("key_heads", "head_width") and not value else value


def _first_value(name: str, first: Any) -> None:
    key = f"cost_{name}"
    if key not in st.session_state:
        st.session_state[key] = _widget(name, links.read(name, lambda text: _parsed(name, text, first), first, key=key))


def _parsed(name: str, text: str, first: Any) -> Any:
    if isinstance(first, str):
        return text if text in CHOICES[name] else first
    try:
        number = int(text)
    except ValueError:
        return first
    if isinstance(first, bool):
        return bool(number) if number in (0, 1) else first
    return number if abs(number) < 2**53 else first


def _spelled(value: int | str) -> str:
    return value if isinstance(value, str) else str(int(value))

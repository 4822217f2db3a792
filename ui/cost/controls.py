"""The sizes on "Parameters and cost": any whole numbers, or those of a model, read from its config alone."""

from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any

import streamlit as st

from analysis.blocks.known_configs import known_config
from model import HeadworkError, TransformerConfig
from model.catalogue import entries, resolve
from model.weights.trained import PREFIX
from ui.frame import controls, links
from ui.frame.languages import _, explain, plain

OWN = "own"
GOOD = "cost_possible"  # session state: the last sizes that were possible
LARGEST = 10**12  # parameters


@dataclass(frozen=True)
class Fields:
    """What the controls say. The first values are those of bert-base-uncased."""

    d_model: int = 768
    heads: int = 12
    d_ff: int = 3072
    layers: int = 12
    vocabulary: int = 30522
    positions: int = 512  # 0 = none to learn
    types: int = 2
    swiglu: bool = False
    bias: bool = True
    norms: bool = True
    embedding_norm: bool = True


FIRST = Fields()
LABELS = {
    "d_model": "d_model",
    "heads": "heads h",
    "d_ff": "d_ff",
    "layers": "layers L",
    "vocabulary": "vocabulary V",
    "positions": "positions P",
    "types": "token types T",
    "swiglu": "SwiGLU",
    "bias": "bias",
    "norms": "LayerNorm in blocks",
    "embedding_norm": "LayerNorm of embeddings",
}


def config() -> tuple[TransformerConfig, bool]:
    """The config that the controls describe, and whether BERT's pooler is counted too.

    Impossible sizes get a sentence, and what was possible before stays.
    """
    presets = _presets()
    for field in fields(Fields):
        _first_value(field.name, getattr(FIRST, field.name))
    now = _now()
    known = next((name for name, sizes in presets.items() if sizes == now), OWN)
    st.session_state["cost_preset"] = known
    with st.container(horizontal=True, vertical_alignment="bottom", key="cost-sizes"):
        st.selectbox(
            _("Sizes of"),
            list(presets) + ([OWN] if known == OWN else []),
            key="cost_preset",
            format_func=lambda name: _("your own sizes") if name == OWN else _called(name),
            on_change=_take,
            args=(presets,),
            width=190,
            help=_("Read from the model's config alone. No weights are loaded and nothing is fetched."),
        )
        for field in fields(Fields):
            key = f"cost_{field.name}"
            if isinstance(getattr(FIRST, field.name), bool):
                st.toggle(_(LABELS[field.name]), key=key, persist_state="session")
            else:
                st.number_input(_(LABELS[field.name]), step=1, key=key, width=84, persist_state="session")
        _first_value("pooler", True)
        pooler = st.toggle(_("pooler"), key="cost_pooler", persist_state="session", help=_(POOLER))
    now = _now()
    for field in fields(Fields):
        links.write(field.name, _spelled(getattr(now, field.name)), _spelled(getattr(FIRST, field.name)))
    links.write("pooler", _spelled(pooler), "1")
    return _possible(now), bool(pooler)


POOLER = "BERT's last layer, d_model × d_model, over [CLS]. It makes no attention map, so this app does not load it."


def whole(name: str, label: str, first: int, *, width: int = 120) -> int:
    """One more whole number of this page, kept in the link."""
    _first_value(name, first)
    number = int(st.number_input(label, step=1, key=f"cost_{name}", width=width, persist_state="session") or 0)
    links.write(name, str(number), str(first))
    return number


def _possible(now: Fields) -> TransformerConfig:
    last: Fields = st.session_state.get(GOOD, FIRST)
    try:
        config = _config(now)
    except HeadworkError as error:
        kept = _("Below: still d_model {d_model} with {heads} heads, d_ff {d_ff} and {layers} layers.").format(
            d_model=last.d_model, heads=last.heads, d_ff=last.d_ff, layers=last.layers
        )
        st.error(f"{explain(error)} {plain(kept)}", icon="✋")
        return _config(last)
    st.session_state[GOOD] = now
    return config


def _config(sizes: Fields) -> TransformerConfig:
    if sizes.positions < 0:
        raise HeadworkError("{name} is {value}: it can't be below 0.", name="positions", value=sizes.positions)
    config = TransformerConfig(
        vocab_size=sizes.vocabulary,
        d_model=sizes.d_model,
        num_heads=sizes.heads,
        num_layers=sizes.layers,
        d_ff=sizes.d_ff,
        max_tokens=sizes.positions or 512,
        n_token_types=sizes.types,
        activation="swiglu" if sizes.swiglu else "gelu",
        positions="learned" if sizes.positions else "sinusoidal",
        norm="post" if sizes.norms else "none",
        embedding_norm=sizes.embedding_norm,
        bias=sizes.bias,
    )
    about = sizes.layers * (4 * sizes.d_model**2 + 3 * sizes.d_model * sizes.d_ff) + sizes.vocabulary * sizes.d_model
    if about > LARGEST:
        raise HeadworkError(
            "These sizes make about {billions} billion parameters, more than any model this page is meant for. "
            "Try fewer layers or a smaller d_model.",
            billions=f"{about / 1e9:,.0f}",
            yi=f"{about / 1e8:,.0f}",  # Chinese counts large numbers in hundreds of millions
        )
    return config


def _fields(config: TransformerConfig) -> Fields:
    return Fields(
        d_model=config.d_model,
        heads=config.num_heads,
        d_ff=config.d_ff,
        layers=config.num_layers,
        vocabulary=config.vocab_size,
        positions=config.max_tokens + config.position_offset if config.positions == "learned" else 0,
        types=config.n_token_types,
        swiglu=config.activation == "swiglu",
        bias=config.bias,
        norms=config.norm != "none",
        embedding_norm=config.embedding_norm,
    )


def _presets() -> dict[str, Fields]:
    """Models whose config is here: the catalogue's, and the one in the sidebar."""
    ids = [entry.id for entry in entries()]
    with suppress(HeadworkError):  # the sidebar may name no model; the ledger doesn't need one
        ids.append(controls.model())
    found: dict[str, Fields] = {}
    for model_id in dict.fromkeys(ids):
        try:
            found[model_id] = _fields(known_config(model_id))
        except HeadworkError:
            continue  # on the hub, and its config isn't here
    return found


def _called(model_id: str) -> str:
    return resolve(model_id).label if model_id.startswith(PREFIX) else model_id


def _take(presets: dict[str, Fields]) -> None:
    sizes = presets.get(st.session_state["cost_preset"])
    if st.session_state["cost_preset"].startswith(PREFIX):
        st.session_state["cost_pooler"] = False  # it has none
    for field in fields(Fields) if sizes else ():
        st.session_state[f"cost_{field.name}"] = getattr(sizes, field.name)


def _now() -> Fields:
    values = {field.name: st.session_state.get(f"cost_{field.name}") or 0 for field in fields(Fields)}
    kinds = {field.name: type(getattr(FIRST, field.name)) for field in fields(Fields)}
    return replace(FIRST, **{name: kinds[name](value) for name, value in values.items()})


def _first_value(name: str, first: Any) -> None:
    key = f"cost_{name}"
    if key not in st.session_state:
        st.session_state[key] = links.read(name, lambda text: _parsed(text, first), first, key=key)


def _parsed(text: str, first: Any) -> Any:
    try:
        number = int(text)
    except ValueError:
        return first
    if isinstance(first, bool):
        return bool(number) if number in (0, 1) else first
    return number if abs(number) < 2**53 else first


def _spelled(value: int) -> str:
    return str(int(value))

"""Five ways to give places: a picture, a formula, the source and the code that ran; and what each costs."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import streamlit as st

from analysis.blocks.source import excerpt
from analysis.positions.biased import Biased, biased
from analysis.positions.rotary import Turned, turned
from analysis.positions.tables import learned_table, products_by_offset, shift_error, similarity, sinusoids
from model import AttentionModel, HeadworkError
from model.alibi import alibi_slopes
from ui.frame import controls, links
from ui.frame.beside import beside, panel
from ui.frame.captions import chart, small, titled
from ui.frame.choose import choose
from ui.frame.languages import _, plain
from ui.frame.loading import load_model, named
from ui.frame.remarks import scientific
from ui.positions.words import WAYS
from viz.block import bars
from viz.maps import Maps
from viz.masks import difference_map, weight_map
from viz.positions import hands_figure, products_figure, table_figure

LONGEST, WIDTH, FARTHEST = 128, 64, 64  # of the sinusoidal table: places, columns, offsets
N_HEADS = 8  # whose slopes are shown, as in the paper
SAME = {"sinusoidal_halves": "sinusoidal", "relative": "alibi"}  # kinds of a config → the way they are told under
MOST_PLACE = 127
FAR_KEY = 5  # places between the query and the key of the example


def show() -> None:
    """The chosen way, and the table of all."""
    loaded = load_model(controls.model())
    own = SAME.get(loaded.config.positions, loaded.config.positions)
    options = {key: _(way.name) for key, way in WAYS.items()}
    chosen = choose(_("Way"), "way", options, own, key="positions_way", wide=True, bare=True)
    way = WAYS[chosen]
    if chosen in ("alibi", "none") or chosen == own == "rotary":
        controls.show("sentence")  # for the others it would do nothing
    left, right = st.columns([7, 5], gap="medium")
    with right:
        for formula in way.formulas:
            st.latex(formula)
        st.markdown(plain(_(way.says)))
        small(_("Source: {source}").format(source=_(way.source)))
        if chosen == own:
            small(_("{model} does it like this.").format(model=_(loaded.label)))
        with st.expander(_("The code that ran")):
            for name in way.code:
                shown = excerpt(name)
                st.code(shown.code, language="python", wrap_lines=True)
                small(shown.place)
            if not way.code:
                st.markdown(plain(_("There is none: the embedding is the token's vector alone.")))
    with left:
        PICTURES[chosen](loaded)
    if chosen == "alibi":
        _laid(loaded, int(st.session_state["positions_slope"]) - 1)
    _costs(loaded)


def _sinusoidal(_loaded: AttentionModel) -> None:
    table = sinusoids(LONGEST, WIDTH)
    figure = table_figure(table, x=_("column"), y=_("place"), name=_("value"), limit=1.0, height=300)
    chart(figure, "positions_table")
    k = _slider(_("Offset k"), "offset", FARTHEST, 3)
    products = products_by_offset(WIDTH, FARTHEST)
    titled(
        _("Product of two places' vectors, by how far they are apart"),
        products_figure(products, k, t=_),
        "positions_dots",
    )
    said = _(
        "k = {k}: the product is {product} of {most} at k = 0, whichever p. Turning PE(p) by k·θ gives PE(p + {k}); "
        "largest error over {n} places {error}."
    )
    numbers = {"k": k, "product": f"{products[k]:.1f}", "most": f"{products[0]:.0f}", "n": LONGEST}
    st.markdown(plain(said.format(**numbers, error=scientific(shift_error(WIDTH, LONGEST, k)))))


def _learned(loaded: AttentionModel) -> None:
    table = learned_table(loaded)
    if table is None:
        st.info(
            _("{model} learned no position vectors. Choose all-MiniLM-L6-v2 or BERT in the sidebar.").format(
                model=_(loaded.label)
            )
        )
        return
    figure = table_figure(
        table, x=_("column"), y=_("place"), name=_("value"), limit=float(np.quantile(np.abs(table), 0.99)), height=260
    )
    chart(figure, "positions_table")
    alike = similarity(table)
    figure = table_figure(alike, x=_("place"), y=_("place"), name=_("cosine"), limit=1.0, height=330)
    titled(_("Cosine between the vectors of two places"), figure, "positions_alike")
    n = len(table)
    near, far = float(np.diagonal(alike, 1).mean()), float(np.diagonal(alike, min(50, n - 1)).mean())
    said = _(
        "Neighbours have a mean cosine of {near}, places {far_off} apart {far}. {n} places were learned; there is no "
        "row for place {next}, so a longer text is cut."
    )
    numbers = {"near": f"{near:.2f}", "far": f"{far:.2f}", "far_off": min(50, n - 1), "n": n, "next": n + 1}
    st.markdown(plain(said.format(**numbers)))


def _rotary(loaded: AttentionModel) -> None:
    found = _turned_of(loaded)
    with st.container(horizontal=True, gap="medium"):
        m, n = (
            _slider(_("Query at place m"), "m", MOST_PLACE, found.m),
            _slider(_("Key at place n"), "n", MOST_PLACE, found.n),
        )
    here = found.at(m, n)
    drawn = slice(0, found.most_drawn)
    figure = hands_figure(here.turned_query[drawn], here.turned_key[drawn], here.frequencies[drawn], t=_)
    chart(figure, "positions_hands")
    moved = found.at(m + 7, n + 7)
    said = _("m − n = {distance}: q · k = {here}. Both moved on by 7 places: {moved}. Neither turned: {still}.")
    numbers = {
        "distance": f"{m - n:+d}".replace("-", "−"),
        "here": f"{here.product:.3f}",
        "moved": f"{moved.product:.3f}",
        "still": f"{found.at(0, 0).product:.3f}",
    }
    st.markdown(plain(said.format(**numbers)))
    small(_about(found) + " " + _("Under each dial: θ, radians a token."))


def _about(found: Turned) -> str:
    if found.query_token is None:
        said = _(
            "A random query and key of width {d_k}, base {base}. Choose SmolLM2 in the sidebar for a decoder's own."
        )
        return said.format(d_k=found.d_k, base=f"{found.base:g}")
    said = _(
        "Head {head}'s own query of “{query}” and key of “{key}”; drawn are {pairs} of {all} pairs, those that turn "
        "fastest."
    )
    numbers = {"head": found.head, "query": found.query_token, "key": found.key_token}
    return said.format(**numbers, pairs=min(found.most_drawn, found.n_pairs), all=found.n_pairs)


def _turned_of(loaded: AttentionModel) -> Turned:
    if loaded.config.positions != "rotary":
        return turned(None, "", 0, 0)
    with st.container(horizontal=True, gap="small"):
        layer, head = controls.layer_head(loaded.n_layers, loaded.n_heads, menus=True)
    return _kept_turned(named(loaded.id), loaded.id, controls.sentence(), layer, head)


@st.cache_data(max_entries=32, show_spinner=False)
def _kept_turned(name: str, model_id: str, text: str, layer: int, head: int) -> Turned:
    del name  # only tells versions of a model apart
    return turned(load_model(model_id), text, layer, head)


def _alibi(loaded: AttentionModel) -> None:
    slopes = alibi_slopes(N_HEADS).numpy()
    head = choose(
        _("Slope of head"), "slope", {h: str(h) for h in range(1, N_HEADS + 1)}, 1, key="positions_slope", wide=True
    )
    names, written = [f"{_('head')} {h}" for h in range(1, N_HEADS + 1)], [f"1/{1 / slope:.0f}" for slope in slopes]
    figure = bars(slopes, names, selected=head - 1, height=200, written=written)
    titled(_("Slope m of each of {n} heads").format(n=N_HEADS), figure, "positions_slopes")


def _laid(loaded: AttentionModel, head: int) -> None:
    """The bias of one slope laid on the scores of a head, over the page's whole width."""
    slopes = alibi_slopes(N_HEADS).numpy()
    found = _biased(named(loaded.id), loaded.id, controls.sentence(), head)
    names = [_("contents alone"), _("the bias"), _("both")]
    left, middle, right = beside(names, key="positions_laid")
    for place, name, cells in ((left, names[0], found.content), (right, names[2], found.both)):
        shown = Maps(cells, found.allowed, found.labels)
        chart(weight_map(shown, panel(name, height=300), t=_), f"laid {name}", place, grown=True)
    shown, limit = Maps(found.bias, found.allowed, found.labels), float(-found.bias.min()) or 1.0
    chart(difference_map(shown, panel(names[1], height=300), limit=limit, t=_), "laid bias", middle, grown=True)
    slope = float(slopes[head])
    said = _(
        "A key {n} places away keeps e^(−{n}·{slope}) = {factor} of its weight before rows are brought to 1. The maps: "
        "head 1-1 of {model} with its own positions off; it wasn't trained with a bias."
    )
    numbers = {
        "n": FAR_KEY,
        "slope": f"{slope:.3g}",
        "factor": f"{np.exp(-FAR_KEY * slope):.2f}",
        "model": _(loaded.label),
    }
    st.markdown(plain(said.format(**numbers)))


@st.cache_data(max_entries=32, show_spinner=False)
def _biased(name: str, model_id: str, text: str, slope: int) -> Biased:
    del name  # only tells versions of a model apart
    return biased(load_model(model_id), text, 0, slope, N_HEADS)


def _none(loaded: AttentionModel) -> None:
    found = _biased(named(loaded.id), loaded.id, controls.sentence(), 0)
    shown = Maps(found.content, found.allowed, found.labels)
    chart(weight_map(shown, panel(_("contents alone")), t=_), "positions_content", grown=True)
    said = _("Head 1-1 of {model} with positions off: the same word has the same row wherever it stands.")
    st.markdown(plain(said.format(model=_(loaded.label))))


PICTURES: dict[str, Callable[[AttentionModel], None]] = {
    "sinusoidal": _sinusoidal,
    "learned": _learned,
    "rotary": _rotary,
    "alibi": _alibi,
    "none": _none,
}


def _costs(loaded: AttentionModel) -> None:
    """The five beside each other, for the sizes of the chosen model."""
    n, d_model = loaded.config.max_tokens, loaded.config.d_model
    rows = [
        {
            _("way"): _(way.name),
            _("acts on"): _(way.acts),
            _("places"): _(way.tells),
            _("parameters"): f"{n * d_model if key == 'learned' else 0:,}",
            _("longer than trained"): _(way.beyond),
        }
        for key, way in WAYS.items()
    ]
    said = _("What each costs, for {n} places and d_model {d_model} as in {model}")
    st.markdown(f"**{plain(said.format(n=f'{n:,}', d_model=d_model, model=_(loaded.label)))}**")
    st.table(pd.DataFrame(rows).set_index(_("way")))


def _slider(label: str, name: str, most: int, first: int) -> int:
    key, first = f"positions_{name}", min(first, most)
    if key not in st.session_state:
        st.session_state[key] = links.read(name, lambda text: _whole(text, most), first, key=key)
    value = int(st.slider(label, 0, most, key=key, persist_state="session"))
    links.write(name, str(value), str(first))
    return value


def _whole(text: str, most: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) <= most):
        raise HeadworkError("{value} is not one of {options}.", value=text, options=f"0…{most}")
    return int(text)

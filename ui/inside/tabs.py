"""The last two tabs of "Inside a block": the block's diagram with its tensors, and heads beside layers."""

import numpy as np
import streamlit as st

from analysis.blocks.block_steps import (
    Box,
    curve,
    drift,
    movement,
    neurons,
    normalisation,
    one_against_many,
    residual,
    same_number,
)
from analysis.blocks.record import Record
from analysis.blocks.source import excerpt
from ui.frame.captions import chart, small, titled
from ui.frame.languages import _, plain
from ui.inside import words
from ui.inside.attention import code
from ui.inside.controls import token
from ui.inside.diagram import block_diagram, box_name
from viz.block import bars, curve_figure, drift_figure, entropies_figure, lines
from viz.steps import Tiles, tiles_figure
from viz.theme import markup

APART = 6  # times as large as the others: beyond this, numbers have a scale of their own
AROUND = 24  # tokens to each side of the chosen one whose entropies are drawn


def block(record: Record) -> None:
    """The diagram, and the box that is open."""
    open_box = block_diagram(record, key="block_diagram")
    left, right = st.columns([5, 7], gap="medium")
    with left:
        st.subheader(box_name(open_box.key, record), anchor=False)
        formula, explanation, excerpts = words.box(open_box.key, record)
        st.latex(formula)
        st.markdown(plain(_(explanation)))
        for name in excerpts:
            code(excerpt(name))
    with right:
        if open_box.key != "input":
            chosen = token(record, _("Token"), "token", first=record.n_tokens // 2)
            _opened(record, open_box, chosen)
        _tensors(record, open_box)


def _tensors(record: Record, box: Box) -> None:
    """What goes into a box and what comes out; in two pictures where one scale would blank one of them."""
    parts = {"x": box.after} if box.key == "input" else {_("before"): box.before, _("after"): box.after}
    usual = [float(np.quantile(np.abs(cells), 0.95)) for cells in parts.values()]
    pictures = [{name: cells} for name, cells in parts.items()] if max(usual) > APART * min(usual) else [parts]
    for number, picture in enumerate(pictures):
        tiles = Tiles(np.stack(list(picture.values())), list(picture), record.labels, is_coloured=False)
        figure = tiles_figure(tiles, height=_height(record.n_tokens, len(picture)), t=_)
        chart(figure, "box_tensors" if number == 0 else "box_tensors_after")


def _opened(record: Record, box: Box, chosen: int) -> None:
    if box.key in ("attention_norm", "ffn_norm"):
        _norm(record, box, chosen)
    elif box.key in ("attention_sum", "ffn_sum"):
        found = residual(record, "attention" if box.key == "attention_sum" else "ffn")
        series = [
            (_("x, unchanged"), found.carried),
            (_("what the sublayer adds"), found.added),
            (_("their sum"), found.total),
        ]
        if found.beside is not None:
            series[1:2] = [(_("what attention adds"), found.beside), (_("what the FFN adds"), found.added)]
        figure = lines(series, record.labels, selected=chosen)
        figure.update_yaxes(rangemode="tozero")
        titled(_("Length of each token's vector"), figure, "box_norms")
    else:
        if box.key == "ffn":
            _units(record, chosen)
        moved = movement(record, chosen)
        values = moved.ffn if moved.ffn is not None and box.key == "ffn" else moved.attention
        title = _("Largest change of each token's output when '{token}' changes").format(token=record.labels[chosen])
        titled(title, bars(values, record.labels, selected=chosen), "box_moved")
        n_moved = int((values > 0).sum())
        said = _("{n} of {total} outputs move. The other {rest} stay exactly as they were.")
        if n_moved == len(values):
            said = _("All {n} outputs move.")
        st.markdown(plain(said.format(n=n_moved, total=len(values), rest=len(values) - n_moved)))


def _height(n_tokens: int, n_tiles: int) -> int:
    return min(420, 70 + n_tiles * (40 + 34 * n_tokens))


def _norm(record: Record, box: Box, chosen: int) -> None:
    found = normalisation(record, "attention_norm" if box.key == "attention_norm" else "ffn_norm", chosen)
    if found.mean is None:
        st.latex(rf"\sqrt{{\tfrac{{1}}{{{record.d_model}}} \textstyle\sum x_i^2 + \varepsilon}} = {found.scale:.2f}")
        names = _("before"), _("divided by their root mean square"), _("after γ")
    else:
        st.latex(
            rf"\mu = {found.mean:.2f}, \qquad \sqrt{{\sigma^2 + \varepsilon}} = {found.scale:.2f}, \qquad "
            rf"d_{{model}} = {record.d_model}"
        )
        names = _("before"), _("mean 0, standard deviation 1"), _("after γ and β")
    series = list(zip(names, (found.before, found.normalised, found.after), strict=True))
    features = [str(i + 1) for i in range(record.d_model)]
    title = _("The features of '{token}'").format(token=record.labels[chosen])
    titled(title, lines(series, features, x_title=_("feature")), "box_norm")
    if found.mean is not None and np.allclose(found.normalised, found.after, atol=1e-6):
        small(_("γ is 1 and β is 0 before any training, so the last two are the same."))


def _units(record: Record, chosen: int) -> None:
    found = neurons(record, chosen)
    low, high = min(-3.0, float(found.bent.min())), max(3.0, float(found.bent.max()))
    x = np.linspace(low, high, 241, dtype=np.float32)
    name = words.CURVES[found.activation]
    bent = curve(found.activation, found.bent)
    title = _("{curve}, with the {n} units of '{token}'").format(
        curve=name, n=len(found.bent), token=record.labels[chosen]
    )
    figure = curve_figure(
        x,
        curve(found.activation, x),
        found.bent,
        bent,
        names=(name, _("units of this token")),
        x_title=_("xW_gate, before the activation")
        if found.gate is not None
        else _("xW_1 + b_1, before the activation"),
    )
    titled(title, figure, "box_curve")
    shape = f"(1, N, {record.d_model}) → (1, N, {len(found.bent)}) → (1, N, {record.d_model})"
    said = _("Expand, activate, project back: {shape}. {share} % of the units are exactly 0 for this token.")
    st.markdown(plain(said.format(shape=shape, share=round(100 * found.share_silent))))


def layers(record: Record) -> None:
    """One head against several, and heads beside each other against layers in a row."""
    chosen = token(record, _("Token"), "token", first=record.n_tokens // 2)
    _one_or_many(record, chosen)
    _side_by_side(record, chosen)


def _one_or_many(record: Record, chosen: int) -> None:
    found = one_against_many(record)
    st.subheader(_("One head or several, with the same weights"), anchor=False)
    h, n = record.n_heads, record.n_tokens
    rows = np.concatenate([found.heads[:, chosen], found.average[chosen][None], found.one[chosen][None]])
    rows = np.where(record.allowed[chosen], rows, -np.inf)
    names = [_("head {head}").format(head=head + 1) for head in range(h)] + [_("mean of the heads"), _("one head")]
    left, right = st.columns(2, gap="medium")
    title = _("The rows of '{token}' in layer {layer}").format(token=record.labels[chosen], layer=record.layer + 1)
    shown = Tiles(rows[None], [markup(title)], names, columns=record.labels, scale="weights")
    figure = tiles_figure(shown, height=max(240, 90 + 26 * len(rows)), t=_)
    chart(figure, "face_rows", left)
    first = max(0, min(chosen - AROUND, n - 2 * AROUND))
    near = slice(first, first + 2 * AROUND)  # all of a sentence, or what stands around the token in a long text
    figure = entropies_figure(
        found.heads_entropy[:, near],
        found.average_entropy[near],
        found.one_entropy[near],
        record.labels[near],
        selected=chosen - first,
        equal=float(np.log(n)),
        t=_,
    )
    with right:
        titled(_("Entropy of each query's row"), figure, "face_entropy")
    most = float(np.log(max(1, record.allowed[chosen].sum())))
    if h == 1:
        said = _(
            "This layer has one head, so one row of weights must serve every purpose at once: for '{token}' it has "
            "{one} nats of entropy, where {most} would be equal weights. Here the mean of the heads and one head over "
            "all of d_model are this head itself."
        )
        one = f"{found.one_entropy[chosen]:.2f}"
        st.markdown(plain(said.format(token=record.labels[chosen], one=one, most=f"{most:.2f}")))
        return
    said = _(
        "{h} heads give this token {h} rows of weights; one head over all {d_model} columns gives it a single "
        "row, which must serve every purpose at once. For '{token}' the heads have {heads} nats of entropy on average, "
        "their mean {mean}, the single head {one}; {most} would be equal weights."
    ).format(
        h=h,
        d_model=record.width,
        token=record.labels[chosen],
        heads=f"{found.heads_entropy[:, chosen].mean():.2f}",
        mean=f"{found.average_entropy[chosen]:.2f}",
        one=f"{found.one_entropy[chosen]:.2f}",
        most=f"{most:.2f}",
    )
    verdict = words.mean_of_heads(
        float(found.heads_entropy[:, chosen].mean()), float(found.average_entropy[chosen]), most
    )
    st.markdown(plain(f"{said} {_(verdict)}"))


def _side_by_side(record: Record, chosen: int) -> None:
    st.subheader(_("Heads stand side by side, layers in a row"), anchor=False)
    h = record.n_heads
    st.markdown(
        plain(
            _(
                "A layer reads what the layer before has written. So more heads look at more at once, and more layers "
                "look again at what has been found."
            )
            if h == 1
            else _(
                "The {h} heads of a layer read the same input and don't see each other; W_o joins what they found. "
                "A layer reads what the layer before has written. So more heads look at more at once, and more layers "
                "look again at what has been found."
            ).format(h=h)
        )
    )
    left, right = st.columns(2, gap="medium")
    found = drift(record)
    figure = drift_figure(found.to_start, found.to_neighbours, record.labels, selected=chosen, t=_)
    with left:
        titled(_("Cosine similarity of hidden states"), figure, "drift")
    head, last = record.head + 1, record.n_layers
    pair = np.stack([maps[record.head] for maps in record.stack.maps[: min(last, 2)]])
    pair = np.where((pair == 0) & ~record.allowed, -np.inf, pair)  # another layer may have another window
    names = [
        _("head {head} of layer {layer}").format(head=head, layer=layer) for layer in ((1, last) if last > 1 else (1,))
    ]
    shown = Tiles(pair, names, record.labels, columns=record.labels, scale="weights", is_coloured=False)
    figure = tiles_figure(shown, height=340, t=_)
    chart(figure, "same_number", right)
    if last > 1:
        shared = same_number(record)
        said = _(
            "A head's number means nothing across layers: between head {head} of layer 1 and head {head} of layer "
            "{last} the cosine of W_q is {cosine}, and {share} % of an average row's weight lies elsewhere."
        )
        right.markdown(
            plain(
                said.format(
                    head=head,
                    last=last,
                    cosine=f"{round(shared.weights_cosine, 2) + 0.0:.2f}",
                    share=round(100 * shared.map_distance),
                )
            )
        )

"""A trained encoder beside a trained decoder, word by word: each under the mask of its training."""

from collections.abc import Sequence

import streamlit as st

from analysis.maps.two_models import Directions, common_words, word_map
from analysis.words.spans import Span
from analysis.words.units import UnitTrace
from model import AttentionModel, AttentionTrace
from model.catalogue import DEFAULT_MODEL, SMOLLM2
from model.head_id import HeadId
from ui.frame import controls, examples, loading, remarks
from ui.frame.beside import beside, panel
from ui.frame.captions import chart
from ui.frame.choose import choose
from ui.frame.languages import _, plain
from ui.frame.mask_choice import name
from ui.masks import runs, way
from viz.directions import PARTS, directions_figure
from viz.maps import Maps
from viz.masks import weight_map

# Heads of the opening sentence in which "they" looks at "students": .92 and .81 of its weight.
FIRST_HEADS = {DEFAULT_MODEL: "4-2", SMOLLM2: "14-9"}
SHORT = {DEFAULT_MODEL: "MiniLM", SMOLLM2: "SmolLM2"}


def how_to_read() -> None:
    """The explanation behind the picture."""
    st.markdown(
        _(
            "- **Left**: a model trained to see the whole sentence. **Middle**: one trained to write, which sees only "
            "what came before. Each runs under the mask of its training.\n"
            "- Both maps have the same **words** as rows (queries) and columns (keys), though the models cut them into "
            "other tokens: weight to a word is the sum over its tokens, weight from a word the mean over its tokens.\n"
            "- **Right**: where each word's weight lies, mean over all heads of all layers."
        )
    )


def show(pair: tuple[str, str]) -> None:
    """The whole view.

    Args:
        pair: the ids of the encoder and the decoder.
    """
    models = [loading.load_model(model_id) for model_id in pair]
    traces = [loading.trace(controls.sentence(), model.id, model.default_mask) for model in models]
    for trace in traces[: 1 if traces[0].tokenized.n_cut_characters else 2]:
        remarks.cut(trace)
    words = common_words(*traces)
    with st.container(horizontal=True, vertical_alignment="center", key="mask-choice"):
        way.switch()
        heads = [_head(model, kind) for model, kind in zip(models, ("encoder", "decoder"), strict=True)]
        query = _word(traces[0], words)
    maps = [word_map(trace, words, *head) for trace, head in zip(traces, heads, strict=True)]
    where = [runs.directions_of(trace, words) for trace in traces]
    _pictures(models, maps, heads, where, query)
    st.markdown(plain(_row_in_words(models, maps, where, query)))
    st.markdown(plain(_ahead(models, where)))


def _pictures(
    models: Sequence[AttentionModel],
    maps: Sequence[UnitTrace],
    heads: Sequence[HeadId],
    where: Sequence[Directions],
    query: int,
) -> None:
    labels = maps[0].labels
    titles = [f"{short(model)} {head} · {name(model.default_mask)}" for model, head in zip(models, heads, strict=True)]
    looks = _("where words look, all heads")
    *places, last = beside([*titles, looks], key="mask_pair", widths=(5, 5, 5))
    for place, of, title, key in zip(places, maps, titles, ("encoder_map", "decoder_map"), strict=True):
        shown = Maps(of.attention[0, 0], of.allowed, labels)
        chart(weight_map(shown, panel(title, query), says_masked=True, t=_), key, place, grown=True)
    shares = [{part: getattr(found, part) for part in PARTS} for found in where]
    figure = directions_figure(shares, [short(model) for model in models], labels, panel(looks, query), t=_)
    chart(figure, "directions", last, grown=True)


def short(model: AttentionModel) -> str:
    """What a model is called where there is little room."""
    return SHORT.get(model.id, model.label.partition(" (")[0].rpartition("/")[2])


def _head(model: AttentionModel, kind: str) -> HeadId:
    """The head of one of the models; the link keeps it as `encoder=` or `decoder=`."""
    names = [str(HeadId(layer, head)) for layer in range(model.n_layers) for head in range(model.n_heads)]
    first = FIRST_HEADS.get(model.id, names[0])
    label = _("Head of {model}").format(model=short(model))
    st.markdown(plain(short(model)), width="content")
    chosen = choose(
        label, kind, dict(zip(names, names, strict=True)), first, key=f"head_of_{model.id}", bare=True, width=90
    )
    return HeadId.parse(chosen, (model.n_layers, model.n_heads))


def _word(trace: AttentionTrace, words: list[Span]) -> int:
    """The word whose row is looked at; at first the one to look at in an example, else the middle one."""
    labels = [trace.text[slice(*span)] for span in words]
    look = examples.look(trace.text)
    first = labels.index(look) if look in labels else len(labels) // 2
    options = {at + 1: f"{at + 1}: {label}" for at, label in enumerate(labels)}
    st.markdown(_("Row"), width="content")
    return choose(_("Row"), "row", options, first + 1, key="pair_word", bare=True, width=150) - 1


def _row_in_words(
    models: Sequence[AttentionModel], maps: Sequence[UnitTrace], where: Sequence[Directions], query: int
) -> str:
    """What the chosen word may see in each model, and what the chosen heads look at most."""
    labels = maps[0].labels
    parts = []
    for model, of, found in zip(models, maps, where, strict=True):
        row = of.attention[0, 0, query]
        key = int(row.argmax())
        said = _("in {model} it may look at {n} of {total} words, and this head looks most at “{key}” ({weight})")
        parts.append(
            said.format(
                model=short(model),
                n=int(found.seen[query]),
                total=len(labels),
                key=labels[key],
                weight=f"{row[key]:.2f}",
            )
        )
    return _("Row “{word}”: {parts}.").format(word=labels[query], parts=_("; ").join(parts))


def _ahead(models: Sequence[AttentionModel], where: Sequence[Directions]) -> str:
    """How much weight lies on later words, over all heads."""
    encoder, decoder = where
    said = _(
        "Over all heads, the words give {share} of their weight to later words in {encoder}, and {none} in {decoder}: "
        "it was trained never to see them. The two differ in size, data and training too, not in the mask alone."
    )
    return said.format(
        share=f"{encoder.after.mean():.0%}",
        none=f"{decoder.after.mean():.0%}",
        encoder=short(models[0]),
        decoder=short(models[1]),
    )

"""One sentence: gold arcs over it, the chosen head's arrows under it, and its map with the gold cells framed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from analysis.evidence.corpora.corpus import Passage, Sentence
from analysis.evidence.one_sentence import Link, WordMaps, hits_and_misses, links_of
from analysis.evidence.records import GENDER
from model import Mask
from ui.frame import chinese_words, loading, remarks
from ui.frame.languages import _, _n, plain
from ui.heads import data, own, used
from ui.heads.choices import View, kept, segments
from ui.heads.words import COREFERENCE_NAMES, RELATIONS, clause, task_name
from ui.masks import choice
from viz.dependency_arcs import arc_figure, sentence_width
from viz.heatmaps import head_heatmap
from viz.scores import outline

SOURCES = {"corpus": "From Headwork's corpus", "own": "Your sentence"}
MOST_LISTED = 64  # of the balanced set: one sentence for each of 16 pairs of nouns, four ways


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


def sentence_tab(view: View, model_id: str, text: str, mask: Mask) -> None:
    """A sentence of the corpus, or one's own."""
    source = segments(
        _("Which sentence"), "source", {name: _(title) for name, title in SOURCES.items()}, "corpus", bare=True
    )
    if source == "own":
        own.own_sentence(view, model_id, text, mask)
        return
    _from_corpus(view, model_id)


def _from_corpus(view: View, model_id: str) -> None:
    task = view.table.task
    language = data.language_of(view.record)
    examples = data.askable(task, language, model_id)
    if not examples:
        st.info(_("Headwork's own sentences have no such arc. Choose another relation, or your sentence."))
        return
    examples = examples[:MOST_LISTED]
    names = {each.id: each.text for each in examples}
    kept("sentence", list(names), next(iter(names)))
    chosen = st.selectbox(
        _("Sentence"), list(names), format_func=names.__getitem__, key="heads_sentence", persist_state="session"
    )
    example = next(each for each in examples if each.id == chosen)
    mask = Mask.causal() if view.variant == "causal" else Mask.bidirectional()
    is_arcs = isinstance(example, Sentence)
    everything = is_arcs and st.toggle(_("All relations of the sentence"), key="heads_all")
    if language == "zh":
        chinese_words.pronouns_without_token(loading.trace(example.text, model_id, mask), offers=False)
    maps = data.maps_of(example.text, model_id, mask, example.words, example.spans)
    shown = _passage(view, example, maps) if isinstance(example, Passage) else _arcs(view, example, maps, everything)
    st.markdown(plain(_result(view, shown, maps)))
    said = _("Arcs by hand or by construction, Headwork's own sentences. Trained weights, mask {mask}.")
    st.caption(plain(said.format(mask=choice.name(mask))))
    if task == GENDER:
        st.markdown(f":small[{plain(_('The four sentences of each pair stand after each other in the list.'))}]")
    with draw(view, shown):
        used.used(view, example.text, model_id, mask, maps, shown.links)


def _arcs(view: View, sentence: Sentence, maps: WordMaps, everything: bool) -> Shown:
    links = [
        link
        for link in links_of(sentence, view.table.direction)
        if (everything or link.relation == view.table.task) and maps.allowed[link.asking, link.wanted]
    ]
    unclear = maps.unclear
    clear = [link for link in links if not (unclear[link.asking] or unclear[link.wanted])]
    if len(clear) < len(links):
        said = _n(
            "{n} arc is not asked: one of its words shares a piece with another.",
            "{n} arcs are not asked: one of their words shares a piece with another.",
            len(links) - len(clear),
        )
        st.markdown(f":small[{plain(said.format(n=len(links) - len(clear)))}]")
    links = clear
    arrows = hits_and_misses(maps.target[:, view.head[0], view.head[1]], links)
    return Shown(sentence.text, maps, tuple(links), tuple(arrows))


def _passage(view: View, passage: Passage, maps: WordMaps) -> Shown:
    """The pronoun's arrow goes to the mention with most weight among those that may be meant."""
    nouns_only = view.table.task == "coref-noun"
    may = [i for i in range(len(passage.candidates)) if not nouns_only or i in (passage.nouns or ())]
    words = [passage.candidates[i] for i in may]
    weights = maps.maps[view.head[0], view.head[1], passage.pronoun, words]
    looked = words[int(np.argmax(weights))]
    if maps.unclear[[passage.pronoun, *words]].any():
        return Shown(passage.text, maps, (), ())
    links = tuple(Link(passage.pronoun, word, "coref") for word in passage.antecedents if word in words)
    return Shown(passage.text, maps, links, ((passage.pronoun, looked, looked in passage.antecedents),), others=words)


def _result(view: View, shown: Shown, maps: WordMaps) -> str:
    """Hits in this sentence, and how many heads do it too: one sentence proves nothing."""
    if not shown.links:
        return _("No such arc can be asked here.")
    n_right = sum(is_right for _asking, _looked, is_right in shown.arrows)
    said = _("{head} gets {right} of {n} right here.").format(head=view.name, right=n_right, n=len(shown.arrows))
    link = shown.links[0]
    if link.relation == "coref":
        row = maps.maps[view.head[0], view.head[1], link.asking]
        listed = ", ".join(f"“{maps.words[word]}” {float(row[word]):.2f}" for word in shown.others)
        return said + " " + _("“{pronoun}” gives {list}.").format(pronoun=maps.words[link.asking], list=listed)
    n_heads = int((maps.target[link.asking] == link.wanted).sum())
    return (
        said
        + " "
        + _("“{asking}” → “{wanted}” is found by {k} of {total} heads.").format(
            asking=maps.words[link.asking],
            wanted=maps.words[link.wanted],
            k=n_heads,
            total=maps.target[0].size,
        )
    )


def draw(view: View, shown: Shown, marked: Sequence[int] = ()) -> DeltaGenerator:
    """Arcs and arrows, then the head's map with the gold cells framed. Returns the place beside the map."""
    words = shown.maps.words
    arcs = [(link.asking, link.wanted, _short(link.relation)) for link in shown.links]
    figure = arc_figure(words, arcs, shown.arrows, name=_(shown.arcs_are), marked=marked, t=_)
    width = sentence_width(words)
    with st.container(key="heads-strip"):
        st.html(f"<style>.st-key-heads_arcs {{ min-width: {width}px; }}</style>")
        st.plotly_chart(
            figure,
            key="heads_arcs",
            config=remarks.CHART,
            alt=_sentence_alt(view, shown),
        )
    left, right = st.columns([5, 6], gap="medium")
    map_ = head_heatmap(
        shown.maps.maps[view.head],
        shown.maps.allowed,
        words,
        title=_("Head {name}").format(name=view.name),
        height=430,
        t=_,
    )
    outline(map_, [(link.asking, link.wanted) for link in shown.links])
    with left:
        st.plotly_chart(
            map_,
            key="heads_map",
            config=remarks.CHART,
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
    return _("Arrows of head {name}: {list}").format(name=view.name, list="; ".join(told))


def link_name(link: Link, words: Sequence[str]) -> str:
    """A link for a list: "students → praised (object → its verb)"."""
    said = task_name(link.relation, "dep>head") if link.relation in RELATIONS else _("refers to")
    if link.relation in RELATIONS:
        said = clause(link.relation, "dep>head")
    return f"{words[link.asking]} → {words[link.wanted]} ({said})"

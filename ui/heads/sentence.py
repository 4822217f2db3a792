"""The tab "In a sentence": a sentence of the corpus, or one's own."""

import numpy as np
import streamlit as st

from analysis.evidence.corpora.annotated import Passage, Sentence
from analysis.evidence.one_sentence import Link, WordMaps, hits_and_misses, links_of
from analysis.evidence.records import GENDER
from model import Mask, parse_mask
from ui.frame import chinese_words, loading, mask_choice
from ui.frame.captions import small
from ui.frame.choose import translated
from ui.frame.languages import _, _n, plain
from ui.heads import data, own, used
from ui.heads.choices import View, choose
from ui.heads.drawing import Shown, draw

SOURCES = {"corpus": "From Headwork's corpus", "own": "Your sentence"}
MOST_LISTED = 64  # of the balanced set: one sentence for each of 16 pairs of nouns, four ways


def sentence_tab(view: View, model_id: str, text: str, mask: Mask) -> None:
    """A sentence of the corpus, or one's own."""
    source = choose(
        _("Which sentence"),
        "source",
        translated(SOURCES),
        "corpus",
        wide=True,
        bare=True,
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
    chosen = choose(_("Sentence"), "sentence", names, next(iter(names)))
    example = next(each for each in examples if each.id == chosen)
    mask = parse_mask(view.record.provenance["mask"])
    is_arcs = isinstance(example, Sentence)
    everything = is_arcs and st.toggle(_("All relations of the sentence"), key="heads_all")
    if language == "zh":
        chinese_words.pronouns_without_token(loading.trace(example.text, model_id, mask), offers=False)
    maps = data.maps_of(example.text, model_id, mask, example.words, example.spans)
    shown = _passage(view, example, maps) if isinstance(example, Passage) else _arcs(view, example, maps, everything)
    st.markdown(plain(_result(view, shown, maps)))
    said = _("Arcs by hand or by construction, Headwork's own sentences. Trained weights, mask {mask}.")
    st.caption(plain(said.format(mask=mask_choice.name(mask))))
    if task == GENDER:
        small(_("The four sentences of each pair stand after each other in the list."))
    if start := data.start_mark(example.text, model_id, mask):
        small(_("Before the sentence stands {start}, as when it was scored.").format(start=start))
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
            "{n} arc is not asked: one of its words shares a token with another.",
            "{n} arcs are not asked: one of their words shares a token with another.",
            len(links) - len(clear),
        )
        small(said.format(n=len(links) - len(clear)))
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
        listed = _(", ").join(f"“{maps.words[word]}” {float(row[word]):.2f}" for word in shown.others)
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

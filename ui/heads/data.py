"""What the page of heads reads: records, shipped or scored in this session, sentences of the corpus, and their maps."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from analysis.evidence.ablation import Ablation, switch_off_each
from analysis.evidence.arrows import EncodedText, word_pieces
from analysis.evidence.corpora.annotated import Passage, Sentence, lay_out, relation
from analysis.evidence.corpora.corpus import Corpus, read_corpus
from analysis.evidence.one_sentence import WordMaps, word_maps_of
from analysis.evidence.records import (
    CHINESE_CORPORA,
    COREFERENCE,
    ENGLISH_CORPORA,
    GENDER,
    OWN_FILES,
    OWN_FOLDER,
    VARIANTS,
    Record,
    Table,
    shipped,
)
from analysis.sentences.gender import LANGUAGES
from model import Mask
from ui.frame import loading
from ui.frame.cache import ByteCache
from ui.frame.languages import _

SHIPPED = (*ENGLISH_CORPORA, *CHINESE_CORPORA)
OWN = {  # what comes with the app: name → files
    "en": OWN_FILES,
    "zh": ("hand_zh.jsonl",),
    "gender_en": ("gender_en.jsonl",),
    "gender_zh": ("gender_zh.jsonl",),
}
MOST_FRESH = 3  # records of one session, about 0.3 MB each
CACHE_MB = 16


def corpora(model_id: str, language: str = "en") -> list[str]:
    """Names of the corpora on which this model was scored: those in the language first, those of this session last."""
    in_order = (*CHINESE_CORPORA, *ENGLISH_CORPORA) if language == "zh" else SHIPPED
    here = [name for name in in_order if shipped(name, "trained", model_id) is not None]
    return here + [name for (model, name) in fresh() if model == model_id]


def n_heads(model_id: str) -> int:
    """Heads of all layers. A record says so without loading the model."""
    for name in corpora(model_id):
        found = record(model_id, name)
        if found is not None:
            return found.shape[0] * found.shape[1]
    model = loading.load_model(model_id)
    return model.n_layers * model.n_heads


def language_of(record: Record) -> str:
    """The language of the sentences that go with a record: "zh" or "en"; "en" also where it is another one."""
    about = record.provenance
    return "zh" if about.get("corpus") in CHINESE_CORPORA or about.get("is_chinese") else "en"


def record(model_id: str, corpus: str, variant: str = "trained") -> Record | None:
    """One of them, by its run; None where there is none."""
    if corpus in SHIPPED:
        return shipped(corpus, variant, model_id) if variant in VARIANTS else None
    return fresh().get((model_id, corpus)) if variant == "trained" else None


def fresh() -> dict[tuple[str, str], Record]:
    """(model id, name of the corpus) → what was scored in this session."""
    found: dict[tuple[str, str], Record] = st.session_state.setdefault("heads_fresh", {})
    return found


def put(model_id: str, name: str, raw: dict[str, Any]) -> None:
    """Adds a record to this session; the oldest goes when there are too many."""
    records = fresh()
    records.pop((model_id, name), None)
    records[model_id, name] = Record(raw)
    while len(records) > MOST_FRESH:
        del records[next(iter(records))]


def table(record: Record, task: str, direction: str) -> Table:
    """The task, or the nearest that the record has: GAP knows only mentions that are nouns."""
    found = record.table(task, direction)
    if found is None and task in COREFERENCE:
        found = record.table("coref") or record.table("coref-noun")
    if found is None:
        first = record.tasks()[0]
        found = record.table(*first)
    assert found is not None
    return found


def best_head(table: Table) -> str:
    """The head chosen on the first half; without halves the most accurate."""
    if table.held_out is not None:
        return str(table.held_out["heads"][0])
    return str(table.ranked()[0])


@st.cache_resource(show_spinner=False)
def own_corpus(name: str = "en") -> Corpus:
    """Sentences that come with the app, a key of OWN, as they are scored: with a space between English words."""
    read = read_corpus(Path(OWN_FOLDER) / file for file in OWN[name])
    if name.endswith("zh"):
        return read
    return replace(
        read,
        sentences=tuple(_apart(each) for each in read.sentences),
        passages=tuple(_apart(each) for each in read.passages),
    )


def _apart(example: Any) -> Any:
    text, spans = lay_out(example.words, [True] * len(example.words))
    return replace(example, text=text, spans=spans)


@st.cache_resource(show_spinner=False, max_entries=64)
def sentences_with(task: str, language: str = "en") -> tuple[Sentence | Passage, ...]:
    """Sentences of the own corpus that have an arc of the relation, or passages with a pronoun; hand-written first."""
    if task == GENDER:
        return _gender_sentences(language)
    corpus = own_corpus(language)
    if task in COREFERENCE:
        return tuple(p for p in corpus.passages if task == "coref" or _has_noun_antecedent(p))
    found = [s for s in corpus.sentences if task in map(relation, s.deprels)]
    return tuple(sorted(found, key=lambda s: s.id.startswith("grammar")))


@st.cache_resource(show_spinner=False, max_entries=64)
def askable(task: str, language: str, model_id: str) -> tuple[Sentence | Passage, ...]:
    """`sentences_with`, those first in which the words of an arc, or pronoun and nouns, have pieces of their own."""
    tokenizer, limit = loading.load_model(model_id).tokenizer, loading.load_model(model_id).token_limit

    def is_clear(example: Sentence | Passage) -> bool:
        pieces = word_pieces(tokenizer.encode(example.text, limit=limit), example.spans)
        unclear = EncodedText((), pieces).unclear
        if isinstance(example, Passage):
            return not unclear[[example.pronoun, *example.candidates]].any()
        ends = [(word, head) for word, head in enumerate(example.heads) if relation(example.deprels[word]) == task]
        return any(not (unclear[word] or unclear[head]) for word, head in ends)

    found = sentences_with(task, language)
    if language != "zh":
        return found  # with a space between all words, no two share a piece
    clear = {each.id for each in found if is_clear(each)}
    return tuple(sorted(found, key=lambda each: each.id not in clear))


def _gender_sentences(language: str) -> tuple[Passage, ...]:
    """One template for each pair of nouns, with both orders and both pronouns: the four that belong together."""
    templates = [template.name for template in LANGUAGES[language].templates]
    pairs = {pair.name: number for number, pair in enumerate(LANGUAGES[language].pairs)}
    return tuple(
        passage
        for passage in own_corpus(f"gender_{language}").passages
        if passage.cell and passage.cell.template == templates[pairs[passage.cell.pair] % len(templates)]
    )


def _has_noun_antecedent(passage: Passage) -> bool:
    return any(passage.candidates[i] in passage.antecedents for i in passage.nouns or ())


def maps_of(
    text: str, model_id: str, mask: Mask, words: tuple[str, ...] = (), spans: tuple[tuple[int, int], ...] = ()
) -> WordMaps:
    """Maps between words of a sentence, from the cached trace, the model's mark before it as when it was scored."""
    start = start_mark(text, model_id, mask)
    return word_maps_of(loading.trace(start + text, model_id, mask), words, spans, start=start)


def start_mark(text: str, model_id: str, mask: Mask) -> str:
    """What stands before a sentence that is scored (`Tokenizer.start_mark`); "" where the text or the mask has it."""
    start = loading.load_model(model_id).tokenizer.start_mark
    return "" if text.startswith(start) or mask.custom is not None else start


@st.cache_resource(show_spinner=False)
def _ablations() -> ByteCache:
    return ByteCache(int(CACHE_MB * 1e6), at_once=2)


def ablation(text: str, model_id: str, mask: Mask) -> Ablation:
    """Each head switched off alone on this sentence, computed once."""
    with st.spinner(_("Switching off one head after another…")):
        model = loading.load_model(model_id)
        text = start_mark(text, model_id, mask) + text
        found: Ablation = _ablations().get(
            ("ablation " + loading.named(model_id), text, str(mask)), lambda: switch_off_each(model, text, mask)
        )
        return found


def hovers(table: Table, says: Any) -> list[list[str]]:
    """A text for each head, layer by layer."""
    return [[says(table, (layer, head)) for head in range(row.size)] for layer, row in enumerate(table.accuracy)]


def selected_cells(figure_key: str) -> tuple[int, int] | None:
    """The cell that was clicked in a figure: (row, column)."""
    event = st.session_state.get(figure_key)
    points = (event or {}).get("selection", {}).get("points", [])
    if not points:
        return None
    return int(np.rint(points[0]["y"])), int(np.rint(points[0]["x"]))

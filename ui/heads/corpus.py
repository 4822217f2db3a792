"""A corpus of one's own: uploaded, scored with a progress bar that can be stopped, and exported as JSON."""

import datetime
import time
from typing import Any

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from analysis.evidence.corpora.corpus import Corpus, read_content
from analysis.evidence.records import GENDER, Record, as_lines, as_record
from analysis.evidence.scoring import score
from analysis.words.chinese import is_chinese
from model import HeadworkError
from ui.frame.choose import translated
from ui.frame.languages import _, _n, explain, plain
from ui.frame.loading import load_model
from ui.heads import data
from ui.heads.words import origin

LARGEST_MB = 1  # the server takes more, for weights: .streamlit/config.toml, maxUploadSize
MOST_SENTENCES = 3000
SHOWN_PROBLEMS = 20
REDRAWN_EVERY = 0.2  # seconds
KINDS = ["conllu", "conll", "conllx", "jsonl", "ndjson", "json", "txt"]
READY = {
    "upload": "Upload a file",
    "en": "Headwork's English sentences",
    "zh": "Headwork's Chinese sentences",
    "gender_en": "Balanced set, English",
    "gender_zh": "Balanced set, Chinese",
}


def corpus_tab(model_id: str, label: str) -> None:
    """Choose sentences, score this model on them, take the scores away."""
    left, right = st.columns([5, 6], gap="medium")
    with left:
        chosen = _choose(model_id, label)
    with right:
        _results(model_id)
    if chosen is not None:
        _score(model_id, *chosen)


def _choose(model_id: str, label: str) -> tuple[str, Corpus] | None:
    """What is to be scored now; None while nobody asked."""
    titles = translated(READY)
    source = st.selectbox(_("Sentences"), list(titles), format_func=titles.__getitem__, key="heads_upload_source")
    name, corpus = "", None
    if source == "upload":
        file = st.file_uploader(
            _("CoNLL-U or JSON lines, up to {size} MB and {n} sentences").format(size=LARGEST_MB, n=MOST_SENTENCES),
            type=KINDS,
            key="heads_upload",
            max_upload_size=LARGEST_MB,
        )
        with st.popover(_("Which fields?")):
            st.markdown(
                _(
                    "- **CoNLL-U**: ten tab-separated columns, an empty line after each sentence.\n"
                    "- **JSON lines**, arcs: `words`, `heads` (from 0, −1 = root), `deprels`.\n"
                    "- **JSON lines**, pronouns: `words`, `pronoun`, `candidates`, `antecedents` (from 0).\n"
                    "- Optional: `space_after`, `doc`, `upos`. A broken line is reported, the rest is scored.\n"
                    "- Text without spaces, such as Chinese, is read as it is written; words that share a token are "
                    "left out."
                )
            )
        if file is not None:
            name = file.name
            try:
                corpus = _read_once(file)
            except HeadworkError as error:
                st.error(explain(error))
    else:
        name, corpus = titles[source], data.own_corpus(source)
    if corpus is not None:
        _what_was_read(corpus)
    n_examples = len(corpus.sentences) + len(corpus.passages) if corpus else 0
    if n_examples > MOST_SENTENCES:
        st.error(
            _("{n} sentences are more than {most}. For large corpora use: python -m analysis FILE --json OUT").format(
                n=n_examples, most=MOST_SENTENCES
            )
        )
    asked = st.button(
        _("Score {model}").format(model=plain(_(label))),
        type="primary",
        key="heads_score",
        disabled=not 0 < n_examples <= MOST_SENTENCES,
        help=None if n_examples else _("Choose a file with sentences first."),
    )
    return (name, corpus) if asked and corpus is not None else None


def _read_once(file: UploadedFile) -> Corpus:
    """What an upload holds; a rerun of the page finds it read already.

    Raises:
        HeadworkError: as `read_content`.
    """
    kept = st.session_state.get("heads_upload_read")
    if kept is None or kept[0] != file.file_id:
        kept = st.session_state["heads_upload_read"] = (file.file_id, read_content(file.name, file.getvalue()))
    corpus: Corpus = kept[1]
    return corpus


def _what_was_read(corpus: Corpus) -> None:
    st.markdown(
        plain(
            _("Read: {sentences} sentences with arcs, {passages} passages with a pronoun.").format(
                sentences=len(corpus.sentences), passages=len(corpus.passages)
            )
        )
    )
    if corpus.problems:
        n = len(corpus.problems)
        st.warning(_n("{n} sentence is broken and left out.", "{n} sentences are broken and left out.", n).format(n=n))
        st.code("\n".join(str(problem) for problem in corpus.problems[:SHOWN_PROBLEMS]), language=None)


def _score(model_id: str, name: str, corpus: Corpus) -> None:
    """Scores under a bar. Stop reruns the script, which ends the run from inside."""
    with st.container(border=True, key="heads-scoring"):
        bar = st.progress(0.0, text=_("Scoring…"))
        st.button(_("Stop"), key="heads_stop", help=_("A stopped run keeps no results."))
    drawn = 0.0

    def progress(done: int, total: int) -> None:
        nonlocal drawn
        if time.monotonic() - drawn < REDRAWN_EVERY and done < total:
            return
        drawn = time.monotonic()
        bar.progress(done / max(total, 1), text=_("{done} of {total} sentences").format(done=done, total=total))

    try:
        run = score(load_model(model_id), corpus, progress=progress)
    except HeadworkError as error:
        st.error(explain(error))
        return
    bar.progress(1.0, text=_("Computing the intervals…"))
    about: dict[str, Any] = {
        "corpus": name,
        "date": datetime.date.today().isoformat(),
        "source": name,
        "is_chinese": is_chinese("\n".join([s.text for s in corpus.sentences] + [p.text for p in corpus.passages])),
    }
    record = as_record(run, corpus, about)
    if not (record["dependencies"] or record["coreference"] or "gender" in record):
        st.error(_("There is no arc and no pronoun with a choice in these sentences, so nothing can be scored."))
        return
    data.put(model_id, name, record)
    relations = [each["relation"] for each in record["dependencies"]]
    task = st.session_state.get("heads_relation")
    if not relations:
        task = "coref" if record["coreference"] else GENDER
    elif task not in relations:
        task = relations[0]
    # Widgets that are drawn already can't be set: the next run does it before it draws them.
    st.session_state["heads_next"] = {"heads_corpus": name, "heads_relation": task, "heads_run": "trained"}
    st.rerun()


def _results(model_id: str) -> None:
    """What was scored in this session, and the shipped records: each as a file."""
    mine = {name: record for (model, name), record in data.fresh().items() if model == model_id}
    if mine:
        st.markdown(f"**{plain(_('Scored in this session'))}**")
    for number, (name, record) in enumerate(mine.items()):
        st.markdown(plain(_summary(record)))
        st.download_button(
            _("Download {name} as JSON").format(name=plain(name)),
            as_lines(dict(record.raw)),
            file_name=f"headwork-{model_id.replace('/', '-')}-{number + 1}.json",
            mime="application/json",
            key=f"heads_download_{number}",
            on_click="ignore",
        )
    st.caption(
        _(
            "A relation needs 30 arcs for an interval; a head needs 50 sentences to be called stable; heads that "
            "can't be told apart are listed together. The form of the file is that of `python -m analysis … --json`."
        )
    )
    shipped = [name for name in data.SHIPPED if data.record(model_id, name) is not None]
    if shipped:
        with st.expander(_("Records that come with the app")):
            for name in shipped:
                there = data.record(model_id, name)
                assert there is not None
                st.markdown(plain(f"{origin(there)} · {there.provenance['source']}"))
                st.code(str(there.provenance["command"]), language=None, wrap_lines=True)
                st.download_button(
                    _("Download {name} as JSON").format(name=name.upper()),
                    as_lines(dict(there.raw)),
                    file_name=f"headwork-{model_id}-{name}.json",
                    mime="application/json",
                    key=f"heads_download_{name}",
                    on_click="ignore",
                )


def _summary(record: Record) -> str:
    n_skipped = int(record.raw["skipped"]["count"])
    said = origin(record)
    if n_skipped:
        said += " · " + _("{n} left out").format(n=n_skipped)
    return said

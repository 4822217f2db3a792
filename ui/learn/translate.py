"""Tabs of Translate: how well each head of cross-attention is aligned, what is written, what a head is needed for."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from model import HeadworkError
from model.head_id import HeadId
from model.tasks.translate import CLASSES, MARKS
from model.training.translate import TranslateTest, Translating, WithoutHead, write
from ui.frame.captions import chart
from ui.frame.languages import _, explain, plain
from ui.learn.runs import Shown
from ui.learn.words import network_names
from viz.alignment import errors_figure
from viz.learning_curves import switched_off_figure
from viz.theme import percent

END = MARKS[1]
LITTLE = 0.05  # behind the best head in a word class: near enough to do its work
LOSS = 0.05  # of words right: a head whose absence costs a class no more isn't needed for it


def alignment_tab(shown: Shown) -> None:
    """Alignment error of each head over the steps, and what the fresh sentences say at the end."""
    runs = shown.of(Translating)
    names = network_names([run.settings for run in runs])
    tests = [_test(shown.name, number, run.step_number, run) for number, run in enumerate(runs)]
    main = runs[-1]
    beside = None
    if len(runs) > 1:
        found = np.stack([frame.alignment.error for frame in runs[0].frames])
        beside = names[0], [frame.step for frame in runs[0].frames], found
    left, right = st.columns(2, gap="medium")
    with left:
        errors = np.stack([frame.alignment.error for frame in main.frames])
        steps = [frame.step for frame in main.frames]
        chart(errors_figure(steps, errors, beside, tests[-1].straight_across, t=_), "learn_alignment")
        st.caption(
            _(
                "Alignment error rate (Och & Ney 2003) on 128 sentences that are never trained on: 0 = in every row "
                "the largest weight is on the true source word."
            )
        )
    with right:
        for name, test in zip(names, tests, strict=True):
            st.markdown(plain(network_says(name, test)))
        st.markdown(plain(division_says(tests[-1])))
        _try(main)


def network_says(name: str, test: TranslateTest) -> str:
    """How well a network translates and is aligned, on 1,024 fresh sentences."""
    said = _(
        "{network}: {share} of 1,024 fresh sentences right; best head {head}, alignment error {error:.2f} (a head that "
        "ignores word order: {straight:.2f})."
    )
    found = test.alignment
    return said.format(
        network=name,
        share=percent(test.accuracy),
        head=HeadId(*found.best),
        error=found.best_error,
        straight=test.straight_across,
    )


def division_says(test: TranslateTest) -> str:
    """Which head is best aligned with each word class, and whether that is a division of work."""
    by_class = test.alignment.by_class  # (L, h, 4)
    n_heads = by_class.shape[1]

    def name_of(head: int) -> str:
        return str(HeadId(*divmod(int(head), n_heads)))

    flat = by_class.reshape(-1, by_class.shape[-1])
    best = flat.argmax(axis=0)
    told = [
        _("{word_class} {head} ({share})").format(
            word_class=_(name), head=name_of(head), share=percent(float(flat[head, number]))
        )
        for number, (name, head) in enumerate(zip(CLASSES, best, strict=True))
    ]
    said = _("Best aligned: {classes}.").format(classes=_(", ").join(told))
    if len(flat) == 1:
        return said
    every = [head for head in range(len(flat)) if (flat.max(axis=0) - flat[head] <= LITTLE).all()]
    if len(every) == len(flat):
        verdict = _("Every head is aligned with every word class: they do the same rather than split the work.")
    elif every:
        verdict = _(
            "{heads} alone would do: at most 5 points behind the best in every word class. The work isn't split."
        )
    else:
        verdict = _("No head is near the best in every word class: the classes are split among heads.")
    return f"{said} {verdict.format(heads=' / '.join(map(name_of, every)))}"


def _try(run: Translating) -> None:
    """A sentence of one's own: what the network writes, and the true translation."""
    task = run.task
    typed = st.text_input(
        _("Try a sentence"),
        task.sample,
        max_chars=200,
        key=f"learn_try_{task.id}",
        help=" ".join(task.source_vocabulary),
    )
    try:
        pairs = task.of(typed)
    except HeadworkError as error:
        st.error(explain(error), icon="✋")
        return
    written = task.target_words(write(run.network, pairs)[0])
    ended = written[: written.index(END)] if END in written else written
    rows = ((_("Written"), " ".join(ended)), (_("True"), task.translate(typed)))
    st.code("\n".join(f"{name}: {words}" for name, words in rows), language=None, wrap_lines=True)


def off_tab(shown: Shown) -> None:
    """Each head of cross-attention off alone, on fresh sentences."""
    runs = shown.of(Translating)
    main = runs[-1]
    found = _switched_off(shown.name, main.step_number, main)
    classes = [_(name) for name in CLASSES]
    left, right = st.columns([3, 2], gap="medium")
    with left:
        chart(switched_off_figure(found.without, found.unharmed, classes, t=_), "learn_off")
    with right:
        for sentence in off_says(found, classes):
            st.markdown(plain(sentence))
        st.caption(
            _(
                "Words right in 1,024 fresh sentences, the true words before each given. A head is off when its slice "
                "of the input to W_o of cross-attention is 0; nothing is trained again."
            )
        )


def off_says(found: WithoutHead, classes: Sequence[str]) -> list[str]:
    """For each word class what the worst absence costs."""
    said = []
    for number, name in enumerate(classes):
        left = found.without[..., number]
        layer, head = np.unravel_index(int(left.argmin()), left.shape)
        values = {
            "word_class": name,
            "head": HeadId(int(layer), int(head)),
            "rest": percent(float(left.min())),
            "whole": percent(float(found.unharmed[number])),
        }
        is_needed = left.min() < found.unharmed[number] - LOSS
        sentence = _("{word_class}: without {head} {rest} right, with every head {whole}.")
        if not is_needed:
            sentence = _("{word_class} needs no single head: at least {rest} right without any one, {whole} with all.")
        said.append(sentence.format(**values))
    return said


@st.cache_resource(max_entries=32, show_spinner=False)
def _test(name: str, number: int, step: int, _run: Translating) -> TranslateTest:
    return _run.test()


@st.cache_resource(max_entries=32, show_spinner=False)
def _switched_off(name: str, step: int, _run: Translating) -> WithoutHead:
    return _run.switched_off()

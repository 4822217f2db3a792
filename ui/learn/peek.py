"""The tab of Peek: what a network foretells when the words are given, and what it writes when nobody gives them."""

import streamlit as st

from model.tasks import PEEK
from model.training.peek import Peeking, PeekTest
from ui.frame.captions import small
from ui.frame.languages import _, plain
from ui.learn.runs import Shown
from ui.learn.words import network_names, spoken
from viz.theme import percent

NEAR = 0.1  # nats: as near to the floor counts as at it; a test on 1,024 texts strays by less


def alone_tab(shown: Shown) -> None:
    """Losses and right words beside the floor, and texts that each network wrote by itself."""
    runs = shown.of(Peeking)
    names = network_names([run.settings for run in runs])
    tests = [_test(f"{shown.name} {number}", run.step_number, run) for number, run in enumerate(runs)]
    st.markdown("  \n".join(plain(says(name, test)) for name, test in zip(names, tests, strict=True)))
    st.table(_table(names, tests))
    small(
        _(
            "On 1,024 fresh texts; floor {floor:.3f} nats; the past alone allows {best} of next words on average. "
            "Written alone: {n} texts, each word drawn by the network's own probabilities; a word counts that the "
            "grammar allows after the words before it."
        ).format(floor=PEEK.floor, best=percent(PEEK.best_accuracy), n=256)
    )
    columns = st.columns(len(runs), gap="medium")
    for column, name, test in zip(columns, names, tests, strict=True):
        with column:
            st.markdown(f"**{plain(_('{network} writes alone').format(network=name))}**")
            st.code("\n".join(marked(words) for words in test.written), language=None, wrap_lines=True)
    small(_("✕: the grammar doesn't allow this word here."))


def says(name: str, test: PeekTest) -> str:
    """What the numbers of a network mean: whether it foretells or reads off, and whether it can write."""
    values = {
        "network": name[:1].upper() + name[1:],
        "loss": test.loss,
        "alone": test.loss_alone,
        "floor": PEEK.floor,
        "share": percent(test.generating),
    }
    if test.loss < PEEK.floor - NEAR:
        said = _(
            "{network}: loss {loss:.2f}, below the floor of {floor:.2f}: no foretelling reaches that, so answers were "
            "read off. Where only the past exists its loss is {alone:.2f}, and {share} of the words that it writes are "
            "allowed."
        )
    elif test.loss < PEEK.floor + NEAR:
        said = _(
            "{network}: loss {loss:.2f}, at the floor of {floor:.2f}: it knows what the past tells. {share} of the "
            "words that it writes alone are allowed."
        )
    else:
        said = _(
            "{network}: loss {loss:.2f}, above the floor of {floor:.2f}: there is more to learn. {share} of the words "
            "that it writes alone are allowed."
        )
    return said.format(**values)


def _table(names: list[str], tests: list[PeekTest]) -> dict[str, list[str]]:
    """A row for each measure and a column for each network: narrow enough for a phone."""
    measures = [
        _("loss, words given"),
        _("next words right, words given"),
        _("loss, only the past"),
        _("words allowed, written alone"),
        _("whole sentences, written alone"),
    ]
    found = {name: _measured(test) for name, test in zip(names, tests, strict=True)}
    return {_("trained under"): measures, **found}


def _measured(test: PeekTest) -> list[str]:
    right, allowed, whole = map(percent, (test.teacher_forced, test.generating, test.sentences))
    return [f"{test.loss:.3f}", right, f"{test.loss_alone:.3f}", allowed, whole]


def marked(words: tuple[str, ...]) -> str:
    """A text with a cross after each word that the grammar doesn't allow there."""
    ids = tuple(PEEK.vocabulary.index(word) for word in words)
    shown = spoken(words)
    return " ".join(
        word if ids[place] in PEEK.allowed_next(ids[:place]) else f"{word} ✕" for place, word in enumerate(shown)
    )


@st.cache_resource(max_entries=32, show_spinner=False)
def _test(name: str, step: int, _run: Peeking) -> PeekTest:
    return _run.test()

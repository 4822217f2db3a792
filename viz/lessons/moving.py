"""Pictures of lessons that move under the hand: a causal mask drawn shut, and one word changed there and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analysis.lessons.answer import Answer
from analysis.lessons.answers.curtain import Curtain
from analysis.lessons.shown import Looks
from viz.encoding import colours
from viz.lessons.pictures import Moving, picture
from viz.theme import ACCENT, COLORSCALE, Translate
from viz.token_strip import reading_direction


@picture("curtain")
def curtain(answer: Answer, t: Translate) -> Moving:
    """One head's rows while the edge of a causal mask is dragged along the sentence."""
    shown: Curtain = answer.shown
    text = {
        "title": t("Head {name} while the mask closes").format(name=shown.head),
        "edge": t("Edge of the curtain"),
        "open": t("open: every token sees all"),
        "at": t("the curtain hides what comes after “{token}”"),
        "closed": t("closed: a causal mask"),
        "frozen": t("{n} of {total} rows are frozen"),
        "row": t("frozen"),
        "cell": t("query '{query}' → key '{key}': {weight}"),
        "hidden": t("masked"),
    }
    scores = [[round(float(score), 4) for score in row] for row in shown.scores]
    return Moving("lesson_curtain", {**_shared(answer.labels), "scores": scores, "text": text})


def flip(before: Looks, after: Looks, t: Translate) -> Moving | None:
    """One head's arcs from one word, in a sentence and in the same one with a word changed; None for any others."""
    labels = [list(looks.trace.labels) for looks in (before, after)]
    changed = [at for at, (one, other) in enumerate(zip(*labels, strict=False)) if one != other]
    alike = len(labels[0]) == len(labels[1]) and before.heads == after.heads and before.query == after.query
    if not alike or not changed or len(before.heads) != 1 or before.query in changed:
        return None
    head = before.heads[0]
    weights = [
        [round(float(weight), 4) for weight in looks.trace.attention[*head, looks.query]] for looks in (before, after)
    ]
    text = {
        "title": t("Head {name}: change the word, and watch the arcs").format(name=head),
        "turn": t("The word that changes"),
        "says": t("“{query}” looks most at “{key}”: {weight}"),
        "moved": t("largest change of a weight: {most}"),
    }
    shared = _shared(labels[0])
    return Moving(
        "lesson_flip",
        {**shared, "texts": labels, "weights": weights, "query": before.query, "changed": changed, "text": text},
    )


def _shared(labels: Sequence[str]) -> dict[str, Any]:
    return {
        "labels": list(labels),
        "dir": reading_direction(labels),
        "colours": colours(COLORSCALE),
        "accent": ACCENT,
    }

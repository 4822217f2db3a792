"""How much of each pronoun's weight goes to which of two nouns, as written and with the nouns swapped, head by head.

● and the hit's colour: the noun of the pronoun's gender gets more. ✕ and the accent: the other one does.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from analysis.evidence.agreement import Answers
from model.head_id import HeadId
from viz.dependency_arcs import GOLD, HIT
from viz.theme import ACCENT, TEXT, Translate, heading, layout, markup, text_width, untranslated

ROW = 44  # pixels of a question: two bars
HEADER, GROUP = 34, 26  # pixels of the heads' names, and of a sentence's name
BAR = 0.38  # of a row
ROOM = (1.5, 1.5, 2.0)  # of the longest bar, for the label behind it; three heads stand close on a phone
FONT = 14
BOLD = 1.1  # how much wider bold text is


def agreement_figure(
    answers: Answers,
    heads: Sequence[tuple[int, int]],
    *,
    selected: tuple[int, int] | None = None,
    text_scale: float = 1.0,
    t: Translate = untranslated,
) -> go.Figure:
    """A column for each head, and in it two bars for each question: the noun that agrees above the other one.

    Args:
        answers: of every head.
        heads: the heads shown, (layer, head) from 0.
        selected: the head that the page shows; its name is underlined.
        text_scale: 1 = normal text, 1.4 = for the back row.
        t: translates the figure's own words.
    """
    rows, marks, bottom = _rows(len(answers.questions))
    shown = np.stack([answers.weights[head] for head in heads])  # (H, 2, K, 2)
    longest = float(np.nan_to_num(shown).max(initial=0)) or 1.0
    size = (FONT + 2) * text_scale
    font = {"size": size, "color": TEXT}
    pronouns = [question.pronoun for question in answers.questions]
    left = max((text_width(word, size) for word in pronouns), default=0) * BOLD + 12
    y = {"range": [bottom, 0], "tickvals": rows.ravel(), "tickfont": font, "tickmode": "array"}
    y["ticktext"] = [f"<b>{markup(pronoun)}</b> " for pronoun in pronouns * 2]
    look = {
        **layout("", height=int((HEADER + bottom) * text_scale), top=int(HEADER * text_scale), left=left),
        **{"barmode": "overlay", "showlegend": False, "dragmode": False},
        "yaxis": {**y, "showgrid": False, "zeroline": False, "fixedrange": True, "automargin": False},
        "annotations": [*_names(answers, heads, selected, text_scale), *_orders(marks, text_scale, t)],
    }
    room = longest * (1 + ROOM[min(len(heads), len(ROOM)) - 1])
    for column in range(len(heads)):
        domain = [column / len(heads), (column + 1) / len(heads) - 0.02]
        axis = {"domain": domain, "range": [0, room], "visible": False, "fixedrange": True, "anchor": "y"}
        look[f"xaxis{_number(column)}"] = axis
    bars = [_bars(answers, weights, rows, f"x{_number(column)}", text_scale, t) for column, weights in enumerate(shown)]
    return go.Figure(bars, look)


def _number(column: int) -> str:
    """Of an axis: the first has none."""
    return "" if column == 0 else str(column + 1)


def _names(
    answers: Answers, heads: Sequence[tuple[int, int]], selected: tuple[int, int] | None, text_scale: float
) -> list[dict[str, Any]]:
    """Above each column its head, and how many of the questions it gets right."""
    notes = []
    for column, head in enumerate(heads):
        name = str(HeadId(*head))
        name = f"<b><u>{name}</u></b>" if head == selected else f"<b>{name}</b>"
        said = f"{name}  {int(answers.n_right()[head])}/{answers.n_asked}"
        notes.append(heading(said, size=(FONT + 2) * text_scale, xref=f"x{_number(column)} domain"))
    return notes


def _orders(marks: Sequence[float], text_scale: float, t: Translate) -> list[dict[str, Any]]:
    """Which of the two sentences the rows below belong to."""
    place: dict[str, Any] = {"xref": "x domain", "yref": "y", "yanchor": "middle"}
    return [
        heading(said, y=at, size=FONT * text_scale, **place)
        for at, said in zip(marks, (t("as written"), t("swapped")), strict=True)
    ]


def _rows(n_questions: int) -> tuple[np.ndarray, list[float], float]:
    """Pixels from the top: the middle of each question's row (2, K), of each sentence's name, and the end."""
    group = GROUP + n_questions * ROW
    starts = np.array([0, group])
    rows = starts[:, None] + GROUP + ROW * (np.arange(n_questions) + 0.5)
    return rows, [float(start) + GROUP / 2 for start in starts], float(2 * group)


def _bars(
    answers: Answers,
    weights: np.ndarray,
    rows: np.ndarray,
    xaxis: str,
    text_scale: float,
    t: Translate,
) -> dict[str, Any]:
    """The bars of one head; weights: (2, K, 2)."""
    xs, ys, texts, colours = [], [], [], []
    for order in range(2):
        for k, question in enumerate(answers.questions):
            right, wrong = weights[order, k]
            is_hit = right > wrong
            for which, (noun, weight) in enumerate(((question.right, right), (question.wrong, wrong))):
                wins = weight >= 0 and (is_hit if which == 0 else not is_hit and wrong > right)
                sign = ("● " if is_hit else "✕ ") if wins else ""
                number = t("masked") if np.isnan(weight) else f"{weight:.2f}"
                xs.append(0.0 if np.isnan(weight) else float(weight))
                ys.append(float(rows[order, k]) + (which - 0.5) * ROW * BAR)
                texts.append(f"{sign}{markup(noun)} {number}")
                colours.append((HIT if is_hit else ACCENT) if wins else GOLD)
    return {
        **{"type": "bar", "orientation": "h", "xaxis": xaxis, "yaxis": "y", "width": ROW * BAR * 0.8},
        **{"x": np.array(xs, dtype=np.float32), "y": np.array(ys, dtype=np.float32), "marker": {"color": colours}},
        **{"text": texts, "textposition": "outside", "constraintext": "none", "cliponaxis": False},
        "textfont": {"size": FONT * text_scale, "color": TEXT},
        "hoverinfo": "skip",
    }

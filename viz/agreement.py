"""How much of each pronoun's weight goes to which of two nouns, as written and with the nouns swapped, head by head.

● and the hit's colour: the noun of the pronoun's gender gets more. ✕ and the accent: the other one does.
"""

import html
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from analysis.evidence.agreement import Answers
from model.head_id import HeadId
from viz.dependency_arcs import GOLD, HIT
from viz.theme import ACCENT, TEXT, Translate, layout, untranslated

ROW = 44  # pixels of a question: two bars
HEADER, GROUP = 34, 26  # pixels of the heads' names, and of a sentence's name
BAR = 0.38  # of a row
ROOM = (1.5, 1.5, 2.0)  # of the longest bar, for the label behind it; three heads stand close on a phone
FONT = 14


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
    figure = go.Figure(
        layout={
            **layout("", height=int((HEADER + bottom) * text_scale), top=int(HEADER * text_scale)),
            "barmode": "overlay",
            "showlegend": False,
            "dragmode": False,
        }
    )
    notes = []
    width = 1 / len(heads)
    for column, (head, weights) in enumerate(zip(heads, shown, strict=True)):
        axis = "" if column == 0 else str(column + 1)
        figure.update_layout(
            {
                f"xaxis{axis}": {
                    "domain": [column * width, (column + 1) * width - 0.02],
                    "range": [0, longest * (1 + ROOM[min(len(heads), len(ROOM)) - 1])],
                    "visible": False,
                    "fixedrange": True,
                    "anchor": "y",
                }
            }
        )
        _bars(figure, answers, weights, rows, f"x{axis}", text_scale, t)
        n_right = int(answers.n_right()[head])
        name = str(HeadId(*head))
        name = f"<b><u>{name}</u></b>" if head == selected else f"<b>{name}</b>"
        notes.append(
            {
                "text": f"{name}  {n_right}/{answers.n_asked}",
                "x": 0,
                "xref": f"x{axis} domain",
                "xanchor": "left",
                "y": 1,
                "yref": "paper",
                "yanchor": "bottom",
                "showarrow": False,
                "font": {"size": (FONT + 2) * text_scale, "color": TEXT},
            }
        )
    for place, said in zip(marks, (t("as written"), t("swapped")), strict=True):
        notes.append(
            {
                "text": said,
                "x": 0,
                "xref": "x domain",
                "xanchor": "left",
                "y": place,
                "yref": "y",
                "yanchor": "middle",
                "showarrow": False,
                "font": {"size": FONT * text_scale, "color": TEXT},
            }
        )
    pronouns = [html.escape(question.pronoun, quote=False) for question in answers.questions]
    figure.update_layout(
        annotations=notes,
        yaxis={
            "range": [bottom, 0],
            "tickvals": rows.ravel(),
            "ticktext": [f"<b>{pronoun}</b> " for pronoun in pronouns * 2],
            "tickfont": {"size": (FONT + 2) * text_scale, "color": TEXT},
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
        },
    )
    return figure


def _rows(n_questions: int) -> tuple[np.ndarray, list[float], float]:
    """Pixels from the top: the middle of each question's row (2, K), of each sentence's name, and the end."""
    group = GROUP + n_questions * ROW
    starts = np.array([0, group])
    rows = starts[:, None] + GROUP + ROW * (np.arange(n_questions) + 0.5)
    return rows, [float(start) + GROUP / 2 for start in starts], float(2 * group)


def _bars(
    figure: go.Figure,
    answers: Answers,
    weights: np.ndarray,
    rows: np.ndarray,
    xaxis: str,
    text_scale: float,
    t: Translate,
) -> None:
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
                texts.append(f"{sign}{html.escape(noun, quote=False)} {number}")
                colours.append((HIT if is_hit else ACCENT) if wins else GOLD)
    figure.add_trace(
        go.Bar(
            x=np.array(xs, dtype=np.float32),
            y=np.array(ys, dtype=np.float32),
            xaxis=xaxis,
            yaxis="y",
            orientation="h",
            width=ROW * BAR * 0.8,
            marker={"color": colours},
            text=texts,
            textposition="outside",
            constraintext="none",
            textfont={"size": FONT * text_scale, "color": TEXT},
            cliponaxis=False,
            hoverinfo="skip",
        )
    )

"""What a decoder expects next, as the browser shows it: after the token that is pointed at or pinned, or the last."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from viz.theme import ACCENT, Translate, untranslated


@dataclass(frozen=True)
class Expected:
    """What was expected after one token, or one word.

    Attributes:
        label: of the token.
        candidates: labels of the most probable next tokens and their probabilities, the most probable first.
        came: the token that the text goes on with: its label, its probability, and its rank from 1 (None where that is
            not known). None where nothing follows.
        surprise: at the token itself, in nats; None where nothing predicts it.
    """

    label: str
    candidates: Sequence[tuple[str, float]]
    came: tuple[str, float, int | None] | None
    surprise: float | None


def next_tokens_view(
    rows: Sequence[Expected], *, text_scale: float = 1.0, t: Translate = untranslated
) -> dict[str, Any]:
    """The component's message.

    Args:
        rows: in the order of the page's token strip.
        text_scale: 1 = normal text.
        t: translates the component's own words.
    """
    return {
        "part": "view",
        "rows": [
            {
                "label": row.label,
                "next": [[label, round(probability, 4)] for label, probability in row.candidates],
                "came": None if row.came is None else [row.came[0], round(row.came[1], 4), row.came[2]],
                "surprise": None if row.surprise is None else round(row.surprise, 2),
            }
            for row in rows
        ],
        "accent": ACCENT,
        "text_scale": text_scale,
        "text": {
            "title": t("The most probable next tokens"),
            "after": t("After “{token}”"),
            "came": t("the text goes on with this"),
            "rank": t("number {rank}"),
            "surprise": t("surprise at “{token}” (bar): {nats} nats"),
            "first": t("nothing predicts “{token}”"),
        },
    }

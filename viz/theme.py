"""How every figure looks: colours, transparent ground, and tokens as text that Plotly leaves alone.

Paper and plot background are transparent and text takes the colour of the page, so that a figure suits light and dark.
"""

import html
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

COLORSCALE = "Cividis"  # perceptually even and the same for colour-blind readers (Nuñez et al. 2018)
ACCENT = "#E0571B"  # vermilion, at least 3.5 : 1 on the light and on the dark background
MASKED_FILL = "rgba(128, 128, 128, 0.30)"  # neutral on both backgrounds; never a colour of the scale
MASKED_LINES = "rgba(128, 128, 128, 0.75)"
HOLE = "rgba(0, 0, 0, 0)"
TEXT = "#000037"  # near black; Streamlit's browser side puts the strongest text colour of the theme in its place
MAX_LABEL = 18  # columns of a token shown on an axis; a Chinese character is two columns wide
SLANTED = 24  # labels below an axis; more stand upright, so that they don't overlap

Translate = Callable[[str], str]


def untranslated(text: str) -> str:
    """The default of every builder's `t`: its words stay English."""
    return text


def percent(share: float) -> str:
    """A share in whole per cent: 75 %. 100 % only where nothing is missing (as in components/learning.js)."""
    return "99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"


def tick_text(label: str) -> str:
    """A token as Plotly can show it unharmed: escaped, never empty, and not longer than an axis bears."""
    label = shortened(label, MAX_LABEL)
    return html.escape(label, quote=False) if label.strip() else "␣"


def columns(text: str) -> int:
    """How wide a text is, in Latin letters: Chinese characters, full-width marks and emoji are two wide."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def any_wide(labels: Sequence[str]) -> bool:
    """Whether some label holds a character that is two columns wide."""
    return any(columns(label) > len(label) for label in labels)


def shortened(text: str, most: int) -> str:
    """A text of at most `most` columns, ending in … where some of it was cut."""
    if columns(text) <= most:
        return text
    while columns(text) > most - 1:
        text = text[:-1]
    return text + "…"


def key_angle(labels: Sequence[str]) -> int:
    """By how many degrees the labels below a map are turned. Chinese fills its square: slanted, it would overlap."""
    return -90 if len(labels) > SLANTED or any_wide(labels) else -60


def layout(title: str, *, height: int, top: int, note: str = "") -> dict[str, Any]:
    """Title at the left edge, narrow margins, transparent ground. `title` is markup: escape tokens in it."""
    return {
        "title": {
            "text": title,
            "subtitle": {"text": note, "font": {"size": 13, "color": TEXT}},
            "x": 0,
            "xref": "paper",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"t": 8},
        },
        "font": {"color": TEXT},
        "height": height,
        "margin": {"l": 6, "r": 6, "t": top, "b": 6},
        "paper_bgcolor": HOLE,
        "plot_bgcolor": HOLE,
        "hoverlabel": {"font": {"size": 15}},
    }


def hover(sentence: str, **values: str) -> str:
    """A hover template from a sentence about "{query}" and "{key}", which Plotly reads from the axes."""
    return sentence.format(query="%{y}", key="%{x}", **values) + "<extra></extra>"

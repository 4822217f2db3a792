"""How every figure looks: colours, transparent ground, and tokens as text that Plotly leaves alone.

Paper and plot background are transparent and text takes the colour of the page, so that a figure suits light and dark.
"""

import html
import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

COLORSCALE = "Cividis"  # perceptually even and the same for colour-blind readers (Nuñez et al. 2018)
ACCENT = "#E0571B"  # vermilion, at least 3.5 : 1 on the light and on the dark background
MASKED_FILL = "rgba(128, 128, 128, 0.30)"  # neutral on both backgrounds; never a colour of the scale
MASKED_LINES = "rgba(128, 128, 128, 0.75)"
HOLE = "rgba(0, 0, 0, 0)"
TEXT = "#000037"  # near black; Streamlit's browser side puts the strongest text colour of the theme in its place
GROUND = "#000038"  # likewise; becomes the ground of the page
MAX_LABEL = 18  # columns of a token shown on an axis; a Chinese character is two columns wide
LINE = 1.3  # of a text's size, from one line to the next
LONGEST_STACK = 7  # characters under each other
LONGEST_RUN = 2  # Latin letters that stay side by side in a stack
DOWNWARDS = str.maketrans("（）「」『』《》〈〉【】—…", "︵︶﹁﹂﹃﹄︽︾︿﹀︻︼︱︙")
_EMS = {**dict.fromkeys("ijlI.,:;'|!()[]{} ", 0.3), **dict.fromkeys("frt-/", 0.38), **dict.fromkeys("mwMW@%—…▁␣", 0.9)}
SLANTED = 24  # labels below an axis; more stand upright, so that they don't overlap

HOVER = {"bgcolor": GROUND, "bordercolor": "#8A9096", "font": {"size": 15, "color": TEXT}}  # else: grey on grey
FLAT_LEGEND = {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"}

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
    return isolated(markup(label)) if label.strip() else "␣"


def isolated(label: str) -> str:
    """A label read from right to left, kept to itself: so `▁` and brackets stand where they do in the strip."""
    is_turned = any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in label)
    return f"\u2068{label}\u2069" if is_turned else label


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


def is_upright(label: str) -> bool:
    """Whether a label below a map is set as Chinese is set downwards: character under character."""
    runs = re.split(r"[\u2e80-\U0003ffff]", label)
    return any_wide([label]) and max(map(len, runs)) <= LONGEST_RUN


def stacked(label: str) -> str:
    """The characters under each other; brackets as they look there. Markup stays whole."""
    parts = re.findall(r"&\w+;|[!-~]{1,2}|.", label.translate(DOWNWARDS))
    if len(parts) > LONGEST_STACK:
        parts = [*parts[: LONGEST_STACK - 1], "︙"]
    return "<br>".join(parts)


def key_angle(labels: Sequence[str]) -> int:
    """By how many degrees the labels below a map are turned, save those that are upright."""
    return -90 if len(labels) > SLANTED or any_wide(labels) else -60


def text_width(text: str, size: float) -> float:
    """Pixels that a text takes, markup escaped or not: an upper bound for Streamlit's font, measured nowhere."""
    return size * sum(
        _EMS.get(character, 0.56 if columns(character) == 1 else 1.0) for character in html.unescape(text)
    )


def text_depth(label: str, size: float, angle: int) -> float:
    """Pixels that a label takes below a map."""
    label = shortened(label, MAX_LABEL)
    if is_upright(label):
        return size * LINE * (1 + stacked(label).count("<br>"))
    turn = math.radians(-angle)
    return text_width(label, size) * math.sin(turn) + size * math.cos(turn)


def layout(
    title: str, *, height: int, top: float, left: float = 6, right: float = 6, bottom: float = 6, note: str = ""
) -> dict[str, Any]:
    """Title at the left edge, transparent ground, margins in pixels. `title` is markup: escape tokens in it.

    Margins stay as they are: Plotly would draw the figure again for each thing that it measures (automargin).
    """
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
        "margin": {"l": left, "r": right, "t": top, "b": bottom, "autoexpand": False},
        "paper_bgcolor": HOLE,
        "plot_bgcolor": HOLE,
        "hoverlabel": HOVER,
    }


def markup(text: str) -> str:
    """Text as Plotly shows it unharmed."""
    return html.escape(text, quote=False)


def heading(text: str, *, size: float = 15, x: float = 0, y: float = 1, **more: Any) -> dict[str, Any]:
    """Words above the corner of a figure, or above a point of it. A title would be moved out by a colour bar."""
    return {
        "text": text,
        **{"x": x, "y": y, "xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom"},
        "showarrow": False,
        "font": {"size": size, "color": TEXT},
        **more,
    }


def hover(sentence: str, **values: str) -> str:
    """A hover template from a sentence about "{query}" and "{key}", which Plotly reads from the axes."""
    return sentence.format(query="%{y}", key="%{x}", **values) + "<extra></extra>"

"""What every SVG that is written here begins with, and how text and colours stand in it."""

import json
from collections.abc import Mapping
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import numpy.typing as npt

from viz.export.layout import Words

# Those with simplified Chinese by name: a viewer left to choose may take the Japanese shapes of the same characters.
FONTS = (
    "'Source Sans 3', 'DejaVu Sans', 'Noto Sans', 'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', "
    "'Source Han Sans SC', 'WenQuanYi Micro Hei', sans-serif"
)


def begun(width: float, height: float, title: str, source: Mapping[str, str] | None = None) -> list[str]:
    """The first lines: size, fonts, a title that is read out, and where it comes from as JSON. Ends with `</svg>`."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" role="img" font-family={quoteattr(FONTS)}>',
        f"<title>{escaped(title)}</title>",
    ]
    if source:
        lines.append(f"<metadata>{escaped(json.dumps(dict(source), ensure_ascii=False))}</metadata>")
    return lines


def svg_words(words: Words) -> str:
    """One line of text."""
    turn = f' transform="rotate({words.turn:g} {words.x:.2f} {words.y:.2f})"' if words.turn else ""
    weight = ' font-weight="600"' if words.bold else ""
    return (
        f'<text x="{words.x:.2f}" y="{words.y:.2f}" font-size="{words.size:g}" fill="{words.colour}" '
        f'text-anchor="{words.anchor}"{weight}{turn} xml:space="preserve">{escaped(words.text)}</text>'
    )


def hexed(rgb: npt.NDArray[np.uint8]) -> str:
    """(3,) red, green, blue → #rrggbb."""
    return "#{:02x}{:02x}{:02x}".format(*rgb.tolist())


def escaped(text: str) -> str:
    """As XML text. Control characters, which XML forbids, become their visible signs."""
    return escape("".join(chr(0x2400 + ord(c)) if ord(c) < 32 and c not in "\t\n\r" else c for c in text))

"""What every SVG that is written here begins with, and how text and colours stand in it."""

import json
from collections.abc import Mapping
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import numpy.typing as npt

from viz.export.layout import HATCH, MASKED, Words

# Those with simplified Chinese by name: a viewer left to choose may take the Japanese shapes of the same characters.
FONTS = (
    "'Source Sans 3', 'DejaVu Sans', 'Noto Sans', 'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', "
    "'Source Han Sans SC', 'WenQuanYi Micro Hei', sans-serif"
)
HATCH_STEP = 6  # pixels between two lines of the hatching

Rgb = npt.NDArray[np.uint8]


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


def hatching() -> list[str]:
    """What `fill="url(#masked)"` draws in masked cells; it stands in `<defs>`."""
    size = f'width="{HATCH_STEP}" height="{HATCH_STEP}"'
    return [
        f'<pattern id="masked" {size} patternUnits="userSpaceOnUse" patternTransform="rotate(45)">',
        f'<rect {size} fill="{MASKED}"/><rect width="1.2" height="{HATCH_STEP}" fill="{HATCH}"/></pattern>',
    ]


def channels(colour: str) -> Rgb:
    """#rrggbb → (3,) red, green, blue."""
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)], dtype=np.uint8)


def hexed(rgb: Rgb) -> str:
    """(3,) red, green, blue → #rrggbb."""
    return "#{:02x}{:02x}{:02x}".format(*rgb.tolist())


def escaped(text: str) -> str:
    """As XML text. Control characters, which XML forbids, become their visible signs."""
    return escape("".join(chr(0x2400 + ord(c)) if ord(c) < 32 and c not in "\t\n\r" else c for c in text))

"""Fonts for pictures that are drawn here: the first installed one that has a text's letters.

Pillow's own font knows no Chinese. What no installed font can show is written as its code point (U+5C71), so that a
missing font is seen and not guessed at.
"""

import unicodedata
from functools import cache
from pathlib import Path

from PIL import ImageFont

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont

# Latin first, then fonts with Chinese, Japanese and Korean: Debian and Fedora, macOS, Windows.
FILES = (
    "dejavu/DejaVuSans.ttf",
    "noto/NotoSans-Regular.ttf",
    "noto/NotoSansCJK-Regular.ttc",
    "google-noto-cjk/NotoSansCJK-Regular.ttc",
    "wqy/wqy-microhei.ttc",
    "noto/NotoSansHebrew-Regular.ttf",
    "noto/NotoSansArabic-Regular.ttf",
    "noto/NotoSansDevanagari-Regular.ttf",
    "Arial Unicode.ttf",
    "PingFang.ttc",
    "STHeiti Light.ttc",
    "segoeui.ttf",
    "msyh.ttc",
    "simsun.ttc",
)
FOLDERS = (
    "/usr/share/fonts/truetype",
    "/usr/share/fonts/opentype",
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "/Library/Fonts",
    "/System/Library/Fonts",
    "/System/Library/Fonts/Supplemental",
    "C:/Windows/Fonts",
)
MISSING = "\U0010ffff"  # never assigned: every font shows its "no such letter" for it


@cache
def installed() -> tuple[str, ...]:
    """Paths of the fonts of `FILES` that are there."""
    found = []
    for file in FILES:
        path = next((path for folder in FOLDERS if (path := Path(folder) / file).is_file()), None)
        if path is not None:
            found.append(str(path))
    return tuple(found)


@cache
def font(path: str, size: int) -> Font:
    """A font at a size in pixels; Pillow's own for an empty path."""
    return ImageFont.truetype(path, size) if path else ImageFont.load_default(size)


def runs(text: str, size: int) -> list[tuple[str, Font]]:
    """A text cut into pieces, each with a font that can show it."""
    pieces: list[tuple[str, str]] = []
    for letter in readable(text):
        path = _path_for(letter, pieces[-1][1] if pieces else None)
        if pieces and pieces[-1][1] == path:
            pieces[-1] = (pieces[-1][0] + letter, path)
        else:
            pieces.append((letter, path))
    return [(piece, font(path, size)) for piece, path in pieces]


def readable(text: str) -> str:
    """The text with every letter that no installed font has written as its code point."""
    return "".join(_shown(letter) for letter in text)


def width(text: str, size: float) -> float:
    """Of a text in pixels, as the PNG sets it; the SVG's reader may have other fonts of nearly the same width."""
    return sum(piece_font.getlength(piece) for piece, piece_font in runs(text, max(1, round(size))))


@cache
def _shown(letter: str) -> str:
    if unicodedata.category(letter) in ("Mn", "Cf", "Zs"):
        return letter
    return letter if any(_has(path, letter) for path in _paths()) else f"U+{ord(letter):04X}"


def _path_for(letter: str, before: str | None) -> str:
    """The font of the letter before, if it has this one too: accents stay with their letters."""
    if before is not None and (unicodedata.combining(letter) or letter == " " or _has(before, letter)):
        return before
    return next((path for path in _paths() if _has(path, letter)), _paths()[0])


def _paths() -> tuple[str, ...]:
    return installed() or ("",)


@cache
def _has(path: str, letter: str) -> bool:
    """Whether a font has its own shape for a letter."""
    if letter.isspace():
        return True
    here = font(path, 24)
    shape, missing = here.getmask(letter), here.getmask(MISSING)
    return shape.getbbox() is not None and (shape.size != missing.size or bytes(shape) != bytes(missing))

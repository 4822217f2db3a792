"""Fonts for pictures that are drawn here: the first installed one that has a text's letters.

Pillow's own font knows no Chinese. What no installed font can show is written as its code point (U+5C71), so that a
missing font is seen and not guessed at. A collection holds one face for each way of writing the same characters, the
Japanese one often first: 直, 角 and 骨 differ. The face for simplified Chinese is taken.
"""

import unicodedata
from functools import cache
from pathlib import Path
from typing import NamedTuple

from PIL import ImageFont

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont

# Latin first, then fonts with Chinese, Japanese and Korean: Debian, Arch and Fedora, macOS, Windows.
FILES = (
    "dejavu/DejaVuSans.ttf",
    "noto/NotoSans-Regular.ttf",
    "noto/NotoSansCJK-Regular.ttc",
    "noto-cjk/NotoSansCJK-Regular.ttc",
    "google-noto-cjk/NotoSansCJK-Regular.ttc",
    "google-noto-sans-cjk-vf-fonts/NotoSansCJK-VF.ttc",
    "wqy/wqy-microhei.ttc",
    "noto/NotoSansHebrew-Regular.ttf",
    "noto/NotoSansArabic-Regular.ttf",
    "noto/NotoSansDevanagari-Regular.ttf",
    "PingFang.ttc",
    "Hiragino Sans GB.ttc",
    "STHeiti Light.ttc",
    "Arial Unicode.ttf",
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
SIMPLIFIED = ("SC", "CN", "GB")  # how the family's name ends: Noto Sans CJK SC, PingFang SC, Source Han Sans CN
NO_ISOLATES = dict.fromkeys(range(0x2066, 0x206A))  # a line drawn here stands by itself anyway
MOST_FACES = 32  # of one collection
MISSING = "\U0010ffff"  # never assigned: every font shows its "no such letter" for it


class Face(NamedTuple):
    """A font file and which of its faces; an empty path is Pillow's own font."""

    path: str
    number: int = 0


@cache
def installed() -> tuple[Face, ...]:
    """The fonts of `FILES` that are there."""
    found = []
    for file in FILES:
        path = next((path for folder in FOLDERS if (path := Path(folder) / file).is_file()), None)
        if path is not None:
            found.append(Face(str(path), _simplified(str(path)) if file.endswith(".ttc") else 0))
    return tuple(found)


@cache
def font(face: Face, size: int) -> Font:
    """A font at a size in pixels."""
    return ImageFont.truetype(face.path, size, index=face.number) if face.path else ImageFont.load_default(size)


def runs(text: str, size: int) -> list[tuple[str, Font]]:
    """A text cut into pieces, each with a font that can show it."""
    pieces: list[tuple[str, Face]] = []
    for letter in readable(text.translate(NO_ISOLATES)):
        face = _face_for(letter, pieces[-1][1] if pieces else None)
        if pieces and pieces[-1][1] == face:
            pieces[-1] = (pieces[-1][0] + letter, face)
        else:
            pieces.append((letter, face))
    return [(piece, font(face, size)) for piece, face in pieces]


def readable(text: str) -> str:
    """The text with every letter that no installed font has written as its code point."""
    return "".join(_shown(letter) for letter in text)


def width(text: str, size: float) -> float:
    """Of a text in pixels, as the PNG sets it; the SVG's reader may have other fonts of nearly the same width."""
    return sum(piece_font.getlength(piece) for piece, piece_font in runs(text, max(1, round(size))))


def _simplified(path: str) -> int:
    """The face of a collection that writes simplified Chinese; the first one where no name says so."""
    for index in range(MOST_FACES):
        try:
            family = ImageFont.truetype(path, 12, index=index).getname()[0] or ""
        except OSError:  # there is no such face
            return 0
        if family.split()[-1:] and family.split()[-1] in SIMPLIFIED and "Mono" not in family:
            return index
    return 0


@cache
def _shown(letter: str) -> str:
    if unicodedata.category(letter) in ("Mn", "Cf", "Zs"):
        return letter
    return letter if any(_has(face, letter) for face in _faces()) else f"U+{ord(letter):04X}"


def _face_for(letter: str, before: Face | None) -> Face:
    """The font of the letter before, if it has this one too: accents stay with their letters."""
    if before is not None and (unicodedata.combining(letter) or letter == " " or _has(before, letter)):
        return before
    return next((face for face in _faces() if _has(face, letter)), _faces()[0])


def _faces() -> tuple[Face, ...]:
    return installed() or (Face(""),)


@cache
def _has(face: Face, letter: str) -> bool:
    """Whether a font has its own shape for a letter."""
    if letter.isspace():
        return True
    here = font(face, 24)
    shape, missing = here.getmask(letter), here.getmask(MISSING)
    return shape.getbbox() is not None and (shape.size != missing.size or bytes(shape) != bytes(missing))

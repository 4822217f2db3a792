"""The names in docs/architecture.md and CONTRIBUTING.md are names of what is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACE = re.compile(r"`((?:[\w.-]+/)+[\w.*-]*|[\w-]+\.(?:py|md|toml|txt))`")
PLACEHOLDER = re.compile(r"NAME|ID|OUT")


def places(document: str) -> list[str]:
    found = PLACE.findall((ROOT / document).read_text(encoding="utf-8"))
    return sorted({place for place in found if not PLACEHOLDER.search(place)})


@pytest.mark.parametrize("document", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_every_file_and_folder_that_is_named_is_there(document):
    named = places(document)
    assert len(named) > 10
    assert [place for place in named if not any(ROOT.glob(place.rstrip("/")))] == []


def test_every_room_and_every_pages_folder_is_named():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = [path.parent.name for path in ROOT.glob("*/*/__init__.py") if path.parts[-3] in ("model", "analysis")]
    assert [room for room in rooms if room not in text] == []
    layout = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    pages = [path.parent.name for path in (ROOT / "ui").glob("*/__init__.py")]
    assert pages and [page for page in pages if f"{page}/" not in layout] == []

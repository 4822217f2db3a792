"""From which share of [UNK] on another model is offered: the share parts Chinese sentences from English ones."""

import json
from pathlib import Path

import numpy as np
import pytest

from analysis.evidence.records import OWN_FOLDER
from tests.models import load
from ui.frame.unread import UNREADABLE

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"


def shares(*files):
    """Share of [UNK] among the pieces of each text, special tokens left out."""
    if not all(file.is_file() for file in files):
        pytest.skip("the treebanks in ../shared/data aren't here")
    tokenizer = load("minilm").tokenizer
    rows = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    found = []
    for text in [row["text"] for row in rows if "text" in row]:
        tokens = tokenizer.encode(text, limit=512)
        found.append(tokens.n_unknown / sum(not special for special in tokens.is_special))
    return np.array(found)


def test_the_figures_beside_the_threshold():
    chinese = shares(SHARED / "ud_zh_gsdsimp_dev_200.jsonl")
    assert len(chinese) == 200
    assert [round(float(np.quantile(chinese, q)), 2) for q in (0, 0.5, 1)] == [0.25, 0.62, 0.88]
    english = shares(SHARED / "ud_en_ewt_dev_500.jsonl", SHARED / "ud_en_gum_dev_400.jsonl")
    assert len(english) == 869 and english.max() == 0


@pytest.mark.parametrize(("language", "readable"), [("zh", False), ("en", True)])
def test_headworks_own_sentences_fall_on_either_side_of_it(language, readable):
    found = shares(*sorted(OWN_FOLDER.glob(f"*_{language}.jsonl")))
    assert len(found) > 50
    assert ((found < UNREADABLE) == readable).all(), np.sort(found)

"""Previous-token and induction scores: by hand on made maps, and what a model is given to read."""

import json

import numpy as np
import pytest

from analysis.maps import induction
from analysis.maps.induction import induction_score, main, previous_score, repetition
from model import HeadworkError
from model.tracing import AttentionModel
from model.transformer import Transformer
from tests.models import load

#  s a b c a b c : one token before, three that are repeated
N, START, LENGTH = 7, 1, 3


def test_an_induction_head_looks_after_the_earlier_occurrence():
    maps = np.zeros((2, N, N))
    for query, key in ((4, 2), (5, 3), (6, 4)):  # a → b, b → c, c → a, the second copy's
        maps[0, query, key] = 0.9
    maps[1, 4, 1] = maps[1, 5, 2] = maps[1, 6, 3] = 1.0  # at the same token: no induction
    np.testing.assert_allclose(induction_score(maps, START, LENGTH), [0.9, 0])
    maps[0, 5, 3] = 0.3
    assert induction_score(maps, START, LENGTH)[0] == pytest.approx(0.7)


def test_a_previous_token_head_looks_at_the_token_before():
    maps = np.zeros((1, 1, N, N))
    for query in range(2, N):
        maps[..., query, query - 1] = 0.5
    maps[..., 1, 0] = 1.0  # the special token before doesn't count
    np.testing.assert_allclose(previous_score(maps, START, 2 * LENGTH), [[0.5]])


@pytest.mark.parametrize(("name", "n_special"), [("minilm", (1, 1)), ("e5-small-4bit", (1, 1)), ("toy", (0, 0))])
def test_a_model_reads_words_of_its_own_twice(name, n_special):
    model = load(name)
    ids, frame = induction._sequences(model, 5, 3, 0)
    assert frame == n_special and ids.shape == (3, 10 + sum(n_special))
    copies = ids[:, n_special[0] : n_special[0] + 10].reshape(3, 2, 5)
    assert (copies[:, 0] == copies[:, 1]).all()
    assert all(len(set(copy.tolist())) == 5 for copy in copies[:, 0])
    assert all(model.tokenizer.is_ordinary(int(id_)) for id_ in copies.ravel())
    assert not (ids == induction._sequences(model, 5, 3, 1)[0]).all()
    assert (ids == induction._sequences(model, 5, 3, 0)[0]).all()


def test_marks_signs_and_numbers_are_no_ordinary_tokens(minilm):
    vocabulary = minilm.tokenizer.backend.get_vocab()
    ordinary = {piece for piece, id_ in vocabulary.items() if minilm.tokenizer.is_ordinary(id_)}
    assert {"the", "##ing", "猫"} & vocabulary.keys() <= ordinary
    assert not ordinary & {"[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]", "[unused1]", ".", "1990", "##2"}


@pytest.mark.parametrize("mask", ["bidirectional", "causal"])
def test_a_head_that_spreads_its_weight_evenly_gets_what_the_mask_leaves(mask):
    toy = load("toy:d_model=16,heads=2,layers=1")
    model = AttentionModel(toy.entry, Transformer(toy.config), toy.tokenizer, sha256=None, packed=False)
    for matrix in model.transformer.blocks[0].attention.W_q.parameters():
        matrix.zero_()  # all scores are 0
    found = repetition(model, mask, length=4, n_sequences=2)
    assert found.mask == mask and found.length == 4
    seen = np.tri(8) if mask == "causal" else np.ones((8, 8))
    even = seen / seen.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(found.induction, induction_score(even, 0, 4), rtol=1e-5)
    np.testing.assert_allclose(found.previous, previous_score(even, 0, 8), rtol=1e-5)
    np.testing.assert_allclose(found.first, even[1:, 0].mean(), rtol=1e-5)


def test_the_known_previous_token_head_of_minilm(minilm):
    found = repetition(minilm)
    ((head, score), *_) = found.ranked(found.previous, 1)
    assert str(head) == "1-3" and score > 0.99
    assert found.induction.max() < 0.05  # it was trained without a mask, and not to go on with a text


def test_a_mask_of_one_sentence_is_refused(minilm):
    with pytest.raises(HeadworkError, match="padding:16"):
        repetition(minilm, "padding:16")


def test_the_command_line_prints_and_writes_json(tmp_path, capsys):
    out = tmp_path / "out.json"
    assert main(["--model", "toy", "--sequences", "2", "--length", "6", "--mask", "causal", "--json", str(out)]) == 0
    assert "2 sequences of 6 random tokens" in capsys.readouterr().out
    written = json.loads(out.read_text())
    assert np.array(written["induction"]).shape == (2, 4) and written["mask"] == "causal"
    assert main(["--model", "toy", "--mask", "sideways"]) == 2
    assert 'There is no mask "sideways"' in capsys.readouterr().err

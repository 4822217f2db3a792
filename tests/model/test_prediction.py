"""The next token: probabilities and surprise, from the hidden states that a trace keeps."""

import dataclasses
import json

import numpy as np
import pytest

import model.__main__
from model import HeadworkError
from model.__main__ import main
from tests.models import LLAMA_LIKE, load, tiny_decoder


@pytest.fixture(scope="module")
def decoder():
    return tiny_decoder()


@pytest.fixture(scope="module")
def trace(decoder):
    return decoder.trace("The cat sat.")


def softmax(logits):
    e = np.exp(logits - logits.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_a_decoder_reads_under_its_own_mask(decoder, trace):
    assert str(trace.mask) == "causal"
    assert (np.triu(trace.attention, 1) == 0).all()
    assert str(decoder.trace("The cat sat.", "bidirectional").mask) == "bidirectional"


def test_next_tokens_are_the_most_probable_in_order(decoder, trace):
    probabilities = softmax(trace.logits.astype(np.float64))
    assert trace.logits.shape == (12, 258)
    for position in (-1, 3):
        best = np.argsort(-probabilities[position])[:4]
        found = trace.next(4, position)
        assert [token.id for token in found] == best.tolist()
        assert [token.probability for token in found] == pytest.approx(probabilities[position][best], abs=1e-6)
    assert len(trace.next(1000)) == 258


def test_surprise_is_minus_the_log_of_what_came(trace):
    probabilities = softmax(trace.logits.astype(np.float64))
    expected = [-np.log(probabilities[i - 1, trace.tokenized.ids[i]]) for i in range(1, 12)]
    assert np.isnan(trace.surprise()[0])
    np.testing.assert_allclose(trace.surprise()[1:], expected, atol=1e-4)


def test_long_texts_are_read_in_parts(decoder):
    long = tiny_decoder(dataclasses.replace(LLAMA_LIKE, max_tokens=200)).trace("ab " * 60)
    probabilities = softmax(long.logits.astype(np.float64))
    came = probabilities[np.arange(len(long.tokens) - 1), long.tokenized.ids[1:]]
    np.testing.assert_allclose(long.surprise()[1:], -np.log(came), atol=1e-4)


def test_padding_is_not_what_comes_before_the_next_token(decoder, trace):
    padded = decoder.trace("The cat sat.", "causal+padding:16")
    assert [t.id for t in padded.next(3)] == [t.id for t in trace.next(3)]
    np.testing.assert_allclose(padded.surprise()[1:12], trace.surprise()[1:], atol=1e-4)
    assert np.isnan(padded.surprise()[12:]).all() and len(padded.surprise()) == 16
    with pytest.raises(HeadworkError, match="no token 12: the text has 12"):
        padded.next(3, 12)


def test_an_output_matrix_of_its_own():
    trace = tiny_decoder(dataclasses.replace(LLAMA_LIKE, output="own")).trace("The cat")
    weight = trace.model.transformer.output.weight.numpy()
    np.testing.assert_allclose(trace.logits, trace.hidden @ weight.T, atol=1e-4)


def test_a_space_is_kept_in_the_token_and_shown_in_the_label(decoder):
    id_ = decoder.tokenizer.backend.token_to_id("Ġ")
    assert (decoder.tokenizer.text_of([id_]), decoder.tokenizer.label_of(id_)) == (" ", "▁")


@pytest.mark.parametrize(("arguments", "sentence"), [((0,), "At least 1"), ((1, 12), "no token 12"), ((1, -13), "13")])
def test_impossible_questions(trace, arguments, sentence):
    with pytest.raises(HeadworkError, match=sentence):
        trace.next(*arguments)


def test_encoders_predict_nothing():
    trace = load("minilm").trace("The cat sat.")
    for question in (lambda: trace.logits, trace.next, trace.surprise):
        with pytest.raises(HeadworkError, match="no output matrix"):
            question()


def test_a_trace_without_its_model_says_whom_to_ask(decoder, trace):
    alone = dataclasses.replace(trace, model=None)
    with pytest.raises(HeadworkError, match=r"model\.prediction\(trace\)"):
        alone.next()
    assert decoder.prediction(alone).next(3) == trace.next(3)


def test_a_trace_without_its_hidden_states_says_so_of_a_model_that_does_predict(trace):
    with pytest.raises(HeadworkError, match="no hidden states"):
        dataclasses.replace(trace, hidden=None).next()


@pytest.fixture
def command_line(decoder, monkeypatch, capsys):
    monkeypatch.setattr(model.__main__, "load", lambda *_args, **_options: decoder)

    def run(*arguments):
        code = main(["The cat", *arguments])
        return code, capsys.readouterr()

    return run


def test_next_on_the_command_line(command_line, decoder):
    _, printed = command_line("--next", "3", "--json")
    found = json.loads(printed.out)["next"]
    expected = decoder.trace("The cat").next(3)
    assert [token["token"] for token in found] == [token.token for token in expected]
    assert [token["probability"] for token in found] == pytest.approx([token.probability for token in expected])
    assert json.loads(printed.out)["mask"] == "causal"
    assert command_line("--next", "3")[1].out.count("\n") == 6 + 3 - 1


def test_generate_on_the_command_line(command_line, decoder, tmp_path):
    _, printed = command_line("--generate", "4", "--json", "--npz", str(tmp_path / "x.npz"))
    answer = json.loads(printed.out)
    assert len(answer["tokens"]) == 7 + 4 == len(answer["pieces"])
    assert answer["text"] == "The cat" + "".join(token["token"] for token in answer["generated"])
    with np.load(tmp_path / "x.npz") as arrays:
        assert arrays["attention"].shape == (3, 6, 11, 11)
    assert "wrote" in command_line("--generate", "2")[1].out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--generate", "3", "--temperature", "-1"), "temperature is -1.0"),
        (("--generate", "3", "--mask", "bidirectional"), "would change the rows before it"),
        (("--generate", "3", "--temperature", "nan"), "temperature is nan"),
        (("--generate", "3", "--pair", "x"), "leave out --pair"),
        (("--temperature", "0.5"), "add --generate"),
        (("--seed", "1"), "add --generate"),
    ],
)
def test_mistakes_on_the_command_line(command_line, arguments, sentence):
    code, printed = command_line(*arguments)
    assert code == 2 and sentence in printed.err


def test_what_an_encoder_cannot_be_asked_leaves_no_file(tmp_path, capsys):
    for option in (("--next", "3"), ("--generate", "3")):
        assert main(["The cat", "--npz", str(tmp_path / "x.npz"), *option]) == 2
        assert "no output matrix" in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_next_under_another_mask(command_line, decoder, tmp_path):
    file = tmp_path / "x.npz"
    _, printed = command_line("--next", "2", "--mask", "causal+window:2", "--npz", str(file), "--json")
    answer = json.loads(printed.out)
    expected = decoder.trace("The cat", "causal+window:2")
    assert answer["mask"] == "causal+window:2" and answer["next"][0]["token"] == expected.next(1)[0].token
    with np.load(file) as arrays:
        assert (arrays["mask"] == expected.allowed).all()

"""Files of Translate and Peek: what was trained is what is opened; broken files are refused."""

import json
from functools import cache

import numpy as np
import pytest
import torch
from safetensors.torch import load as read_tensors
from safetensors.torch import save as write_tensors

from model import HeadworkError, catalogue, generate, load
from model.seq2seq import EncoderDecoderModel
from model.tasks import PEEK, TRANSLATIONS
from model.training import saved
from model.training.peek import Peeking
from model.training.record import read_record, shipped
from model.training.translate import Translating, read, write
from model.weights import trained


@cache
def run(task):
    kind = Peeking if task == "peek" else Translating
    return read_record(shipped(task), kind).trainings[0]


@cache
def file(task):
    return saved.to_bytes(run(task))


@pytest.mark.parametrize("task", TRANSLATIONS)
def test_a_translator_is_opened_as_encoder_and_decoder(task):
    made, model = run(task), trained.from_bytes(file(task))
    assert isinstance(model, EncoderDecoderModel) and model.is_encoder_decoder and model.trained
    with torch.no_grad():
        expected = read(made.network, made.example)[1]
    traces = model.trace(" ".join(made.source), " ".join(made.rows[:-1]))
    np.testing.assert_allclose(traces.cross.attention, expected.cross[:, 0], atol=1e-5)
    np.testing.assert_allclose(traces.encoder.attention, expected.encoder.attention[:, 0], atol=1e-5)
    np.testing.assert_allclose(traces.decoder.attention, expected.decoder.attention[:, 0], atol=1e-5)
    assert traces.cross.tokens == ("<s>", *made.rows[:-1]) and traces.cross.keys == made.source
    assert model.write(made.task.sample) == made.task.translate(made.task.sample)
    assert model.trace(made.task.sample).cross.tokens == traces.cross.tokens  # the same when it writes itself


def test_it_writes_what_the_training_measured():
    made, model = run("translate-en"), trained.from_bytes(file("translate-en"))
    pairs = made.task.batch(torch.Generator().manual_seed(9), 6, held_out=True)
    for ids, is_source, words in zip(pairs.source, pairs.is_source, write(made.network, pairs), strict=True):
        told = made.task.target_words(words)
        assert model.write(" ".join(made.task.source_words(ids[is_source]))) == " ".join(told[: told.index("</s>")])


def test_a_kept_translator_is_one_of_the_catalogue():
    id_ = trained.put(file("translate-zh"))
    entry = catalogue.resolve(id_)
    assert entry.label == "Translate (Chinese), 1 head, 2 layers, seed 0 (trained here)"
    assert load(id_).write("孩子 忘记 聪明 王后") == "童 妃 慧 不 忆" and entry.trained_mask == "causal"


def test_words_of_the_other_language_are_told():
    model = trained.from_bytes(file("translate-en"))
    with pytest.raises(HeadworkError, match=r"not dogo\. A sentence of the task: big wise queens overlook old dogs"):
        model.write("dogo love cats")
    with pytest.raises(HeadworkError, match=r"not dogs\. A sentence of the task: kvino vaiza biga dogo olda ne sii"):
        model.trace("dogs love cats", "dogs")


def test_a_language_model_is_opened_as_a_decoder_that_writes():
    made, model = run("peek"), trained.from_bytes(file("peek"))
    text = " ".join(made.words)
    trace = model.trace(text)
    np.testing.assert_allclose(trace.attention, made.frames[-1].maps, atol=5e-4)  # float16
    assert trace.tokens == made.words and str(model.default_mask) == "causal" and model.has_output
    assert {token.label for token in model.trace("<s> cats chase").next(2)} == {"mice", "birds"}
    written = generate(model, "<s> dogs", 3)
    assert [token.label for token in written.written][-1] == "." and written.tokens.text.startswith("<s> dogs ")
    chances = np.exp(-trace.surprise()[1:].astype(float))
    np.testing.assert_allclose(chances[:4], [0.25, 0.5, 0.5, 1.0], atol=0.1)


def altered(task, change=lambda tensors: None, **about):
    """A file with some of its tensors or of what it says changed."""
    tensors = read_tensors(file(task))
    change(tensors)
    header = json.loads(file(task)[8 : 8 + int.from_bytes(file(task)[:8], "little")])["__metadata__"]
    return write_tensors(tensors, {"headwork": json.dumps(json.loads(header["headwork"]) | about)})


@pytest.mark.parametrize(
    ("task", "change", "about", "said"),
    [
        ("translate-en", lambda t: t.pop("transformer.decoder.output.weight"), {}, "decoder.output.weight"),
        ("translate-en", lambda t: t.update({"readout.weight": torch.zeros(2)}), {}, "readout.weight"),
        ("translate-en", lambda t: None, {"target_vocabulary": ["a"]}, "target_vocabulary"),
        ("translate-en", lambda t: None, {"target_vocabulary": ["a b", *"c" * 30]}, "target_vocabulary"),
        (
            "translate-en",
            lambda t: None,
            {"settings": {"task": "translate-en", "mask": "causal"}},
            "unexpected keyword",
        ),
        ("peek", lambda t: None, {"target_vocabulary": ["a"]}, "target_vocabulary"),
        ("peek", lambda t: t.update({"transformer.output.weight": torch.zeros(3, 32)}), {}, "output.weight"),
        ("peek", lambda t: None, {"settings": {"task": "peek", "mask": "padding:4"}}, "padded as they need"),
        ("peek", lambda t: None, {"settings": {"task": "peek", "ffn": 1}}, "ffn"),
        ("peek", lambda t: None, {"settings": {"task": ["peek"]}}, "damaged or incomplete"),
        ("peek", lambda t: None, {"settings": {}}, "damaged or incomplete"),
        ("peek", lambda t: None, {"sample": "dogs bark"}, "sample"),
    ],
)
def test_files_that_contradict_themselves_are_refused(task, change, about, said):
    with pytest.raises(HeadworkError, match=said):
        trained.from_bytes(altered(task, change, **about))


def test_the_file_says_what_it_is():
    about = saved.about(file("peek"))
    assert about.label == "Peek, 1 head, seed 0" and about.vocabulary == PEEK.vocabulary and about.mask == "causal"
    assert about.accuracy == pytest.approx(run("peek").test().teacher_forced, abs=1e-6)
    assert saved.about(file("translate-en")).accuracy >= 0.99

"""An encoder–decoder from a folder: its traces, what it writes, and what it says to bad input."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch

from model import EncoderDecoderModel, HeadworkError, generate, load, load_one_part
from model.__main__ import main
from model.command_line import EXIT_INPUT
from model.weights.encoder_decoders import writing_rules
from model.writing import write_greedily
from tests.hub_stand_in import hub_stand_in
from tests.model import random_pairs
from tests.model.random_checkpoints import edit_config, edit_weights

transformers = pytest.importorskip("transformers")
SOURCES = ("the cat sat", "a", "zzz yyy xxx www", "we see the end of it all")


@pytest.fixture(scope="module", params=["bart", "t5"])
def both(request, tmp_path_factory):
    """transformers' model, ours, and the folder of both; read only."""
    folder = tmp_path_factory.mktemp(f"tiny-{request.param}")
    theirs = getattr(random_pairs, request.param)(folder)
    return theirs, load(folder), folder


@pytest.fixture(scope="module")
def bart(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny-bart")
    random_pairs.bart(folder)
    return load(folder), folder


def test_a_trace_has_three_families_of_maps_with_the_texts_as_axes(bart):
    model, _ = bart
    assert isinstance(model, EncoderDecoderModel) and model.is_encoder_decoder
    assert not load("toy").is_encoder_decoder
    traces = model.trace("the cat", "le chat")
    assert traces.source == "the cat" and traces.target == "le chat" and not traces.is_written
    assert traces.encoder.tokens == ("<s>", *"the▁cat", "</s>")
    assert traces.decoder.tokens == ("</s>", "<s>", *"le▁chat")  # the start, and no end: each row predicts the next
    assert traces.encoder.attention.shape == (2, 4, 9, 9) and traces.decoder.attention.shape == (3, 4, 9, 9)
    cross = traces.cross
    assert cross.kind == "cross" and cross.context == traces.encoder.tokenized
    assert cross.tokens == traces.decoder.tokens and cross.keys == traces.encoder.tokens
    assert not np.triu(traces.decoder.attention, 1).any()
    for trace in (traces.encoder, traces.decoder, cross):
        check = trace.check()
        assert check.max_row_error < 1e-5 and check.masked_is_zero and not trace.attention.flags.writeable
    assert traces.of("cross") is cross
    with pytest.raises(HeadworkError, match=r"no maps 'all'. Use one of encoder, decoder, cross"):
        traces.of("all")


def test_a_word_is_one_word_although_the_start_stands_before_it(bart):
    tokens = bart[0].trace("the cat", "le chat").decoder.tokenized
    assert tokens.words == ("le", "chat")
    assert tokens.word_ids == (None, None, 0, 0, 1, 1, 1, 1, 1)
    assert tokens.is_special[:3] == (True, True, False)
    assert tokens.spans[2] == (0, 1)


def test_maps_and_logits_of_a_trace_are_transformers(both):
    theirs, model, _ = both
    traces = model.trace("the cat sat", "we see")
    with torch.inference_mode():
        expected = theirs(
            torch.tensor([traces.encoder.tokenized.ids]),
            decoder_input_ids=torch.tensor([traces.decoder.tokenized.ids]),
            output_attentions=True,
        )
    for trace, maps in (
        (traces.encoder, expected.encoder_attentions),
        (traces.decoder, expected.decoder_attentions),
        (traces.cross, expected.cross_attentions),
    ):
        assert np.abs(trace.attention - torch.cat(maps).numpy()).max() < 1e-5
    assert np.abs(traces.decoder.logits - expected.logits[0].numpy()).max() < 2e-5 * expected.logits.abs().max()
    assert traces.decoder.next(1)[0].id == int(expected.logits[0, -1].argmax())
    labels = theirs.prepare_decoder_input_ids_from_labels(torch.tensor([[*traces.decoder.tokenized.ids[1:], 1]]))
    assert labels[0].tolist() == list(traces.decoder.tokenized.ids)  # shifted right as in training


def greedy(theirs, ids, **more):
    with torch.inference_mode():
        found = theirs.generate(torch.tensor([ids]), num_beams=1, do_sample=False, **more)
    return found[0].tolist()


def writers(folder, kind):
    """A model that doesn't write one token again and again."""
    if kind == "bart":
        return random_pairs.bart(folder, std=0.1, tables=1.0, tie_word_embeddings=False)
    return random_pairs.t5(folder, tables=0.1, feed_forward_proj="gated-gelu", scale_decoder_outputs=False)


@pytest.fixture(scope="module", params=["bart", "t5"])
def writer(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(f"writing-{request.param}")
    theirs, ours = writers(folder, request.param), load(folder)
    assert max(len(set(ours.trace(source).decoder.tokenized.ids)) for source in SOURCES) > 8
    return theirs, ours


@pytest.fixture(scope="module")
def writer_of_bytes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("writing-bytes")
    return writers(folder, "bart"), load(folder), folder


@pytest.mark.parametrize("source", SOURCES)
def test_writing_is_transformers_greedy_generation(writer, source):
    theirs, model = writer
    traces = model.trace(source)
    written = greedy(theirs, traces.encoder.tokenized.ids, max_new_tokens=64, forced_eos_token_id=None)
    ends = model.rules.ends
    assert list(traces.decoder.tokenized.ids) == (written[:-1] if written[-1] in ends else written)
    assert traces.is_written and traces.target == model.write(source)
    again = model.trace(source, traces.target) if traces.target else traces
    if again.decoder.tokenized.ids == traces.decoder.tokenized.ids:
        np.testing.assert_allclose(again.cross.attention, traces.cross.attention, atol=1e-6)


@pytest.mark.parametrize(
    "rules",
    [
        {"no_repeat_ngram_size": 2},
        {"no_repeat_ngram_size": 1},
        {"min_length": 12},
        {"bad_words_ids": [[7], [9], [60]]},
        {"suppress_tokens": [*range(20, 200)]},
        {"forced_bos_token_id": 11},
        {"eos_token_id": [2, *range(60, 140)]},
        {"eos_token_id": [2, *range(60, 140)], "min_length": 12},
    ],
)
def test_what_a_models_makers_set_for_writing_is_kept(writer_of_bytes, tmp_path, rules):
    theirs, model, folder = writer_of_bytes
    as_it_was = json.loads((folder / "generation_config.json").read_text())
    (tmp_path / "generation_config.json").write_text(json.dumps(as_it_was | rules))
    ours = writing_rules(tmp_path, json.loads((folder / "config.json").read_text()))
    theirs.generation_config = transformers.GenerationConfig.from_pretrained(tmp_path)
    for source in SOURCES[:2]:
        ids = model.source_tokens(source).ids
        expected = greedy(theirs, ids, max_new_tokens=24, forced_eos_token_id=None)[1:]
        with torch.inference_mode():
            hidden = model.transformer.encoder(torch.tensor([ids])).hidden
        written = write_greedily(model.transformer, hidden, ours, 24)
        assert written == expected
        assert len(written) < 24 or "eos_token_id" not in rules


@pytest.mark.parametrize(
    ("rule", "value"), [("repetition_penalty", 1.5), ("encoder_no_repeat_ngram_size", 3), ("bad_words_ids", [[5, 6]])]
)
def test_rules_that_are_not_done_here_are_named_before_it_writes_otherwise(bart, tmp_path, rule, value):
    for file in bart[1].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "generation_config.json").write_text(json.dumps({rule: value}))
    model = load(tmp_path)
    with pytest.raises(HeadworkError, match=f"sets {rule}, which is not done here"):
        model.trace("the cat")
    assert model.trace("the cat", "le chat").target == "le chat"


def test_a_text_that_nobody_may_type_is_written_and_traced_all_the_same(bart):
    """Control characters alone are no text, but a model may write them."""
    model, _ = bart
    control = model.tokenizer.backend.token_to_id("Ă")  # byte 2
    rules = model.rules
    try:
        model.rules = replace(rules, banned=tuple(id_ for id_ in range(260) if id_ != control))
        traces = model.trace("the cat")
    finally:
        model.rules = rules
    assert set(traces.decoder.tokenized.ids[1:]) == {control}
    assert traces.cross.attention.shape[2] == len(traces.decoder.tokens)


def test_it_writes_no_more_than_asked(bart):
    model, _ = bart
    assert len(model.trace("the cat").decoder.tokens) <= 65
    assert len(model.write("the cat", most=3)) <= 3


def test_the_start_comes_from_where_the_folder_says_it(tmp_path):
    random_pairs.t5(tmp_path)
    raw = json.loads((tmp_path / "config.json").read_text())
    assert writing_rules(tmp_path, raw).start == 0 and writing_rules(tmp_path, raw).ends == (1,)
    (tmp_path / "generation_config.json").write_text('{"decoder_start_token_id": 7, "eos_token_id": [1, 9]}')
    assert writing_rules(tmp_path, raw).start == 7 and writing_rules(tmp_path, raw).ends == (1, 9)
    (tmp_path / "generation_config.json").write_text('{"decoder_start_token_id": 4000}')
    with pytest.raises(HeadworkError, match="starts with the token 4000"):
        load(tmp_path)
    (tmp_path / "generation_config.json").write_text('{"decoder_start_token_id": "x"}')
    with pytest.raises(HeadworkError, match="by number"):
        load(tmp_path)


@pytest.mark.parametrize(("source", "target"), [("a " * 900, "b"), ("a", "b " * 900), ("a", "b")])
def test_texts_of_any_length_are_cut_on_their_own_side(both, source, target):
    _, model, _ = both
    traces = model.trace(source, target)
    sources, targets = traces.encoder.tokenized, traces.decoder.tokenized
    assert len(sources) <= 512 and len(targets) <= 512
    assert (sources.n_cut > 0) == (len(source) > 9) and (targets.n_cut > 0) == (len(target) > 9)
    assert traces.cross.attention.shape[2:] == (len(targets), len(sources))
    assert targets.ids[0] == model.rules.start


def test_padding_of_either_text_is_seen_by_nobody(bart):
    model, _ = bart
    plain = model.trace("the cat", "le chat")
    padded = model.trace("the cat", "le chat", "causal+padding:14", source_mask="padding:12")
    assert len(padded.encoder.tokens) == 12 and len(padded.decoder.tokens) == 14
    assert str(padded.cross.mask) == "padding:12" and not padded.cross.allowed[:, 9:].any()
    assert not padded.cross.attention[..., 9:].any() and padded.cross.check().masked_is_zero
    np.testing.assert_allclose(padded.cross.attention[:, :, :9, :9], plain.cross.attention, atol=1e-6)
    np.testing.assert_allclose(padded.decoder.attention[:, :, :9, :9], plain.decoder.attention, atol=1e-6)
    assert padded.decoder.next(1)[0].probability == pytest.approx(plain.decoder.next(1)[0].probability, abs=1e-5)


def test_a_mask_acts_on_the_decoders_self_attention_alone(bart):
    model, _ = bart
    plain, peeking = model.trace("the cat", "le chat"), model.trace("the cat", "le chat", "bidirectional")
    assert np.triu(peeking.decoder.attention, 1).any()
    assert np.array_equal(plain.encoder.attention, peeking.encoder.attention)


@pytest.mark.parametrize("rule", ["decoder_start_token_id", "forced_bos_token_id"])
@pytest.mark.parametrize("id_", [260, 10**30])
def test_a_target_that_starts_with_a_token_the_model_has_not_is_told_at_once(bart, tmp_path, rule, id_):
    shutil.copytree(bart[1], tmp_path, dirs_exist_ok=True)
    (tmp_path / "generation_config.json").write_text(json.dumps({"decoder_start_token_id": 2, rule: id_}))
    with pytest.raises(HeadworkError, match=rf"starts with the token {id_}, but the model has"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda model: model.trace(""), "no source to read"),
        (lambda model: model.trace(" \n"), "no source to read"),
        (lambda model: model.trace("a", ""), "no target to read"),
        (lambda model: model.trace(("a", "b")), "one source text and one target text"),
        (lambda model: model.trace("a", 5), "one source text and one target text"),
        (lambda model: model.trace("a", "b", "sideways"), 'no mask "sideways"'),
        (lambda model: model.trace("a", "b", "padding:2"), "padding:2 is too short"),
        (lambda model: model.trace("a", None, "causal+padding:9"), "Only a target that is typed can be padded"),
        (lambda model: model.trace("a", "b", "matrix:2:f"), "drawn for 2 tokens"),
        (lambda model: model.write(""), "no source to read"),
        (lambda model: generate(model, "a", 3), "it writes a target for it"),
        (lambda model: model.write("a", 0), "1 or more, not 0"),
        (lambda model: model.prediction(model.trace("a", "b").encoder), "no hidden states"),
    ],
)
def test_bad_input_is_told_in_a_sentence(bart, ask, sentence):
    with pytest.raises(HeadworkError, match=sentence):
        ask(bart[0])


def test_what_takes_one_part_says_so(bart):
    with pytest.raises(HeadworkError, match="is an encoder–decoder, and what was asked for takes a model of one part"):
        load_one_part(bart[1])


def test_a_family_that_is_not_read_is_told(tmp_path):
    random_pairs.bart(tmp_path)
    edit_config(tmp_path, model_type="pegasus")
    with pytest.raises(HeadworkError, match=r"pegasus is an encoder–decoder of a family.*: bart, marian, t5"):
        load(tmp_path)
    edit_config(tmp_path, is_encoder_decoder=False)
    with pytest.raises(HeadworkError, match=r"pegasus is not supported\. These are: bert.* bart, marian, t5"):
        load(tmp_path)
    edit_config(tmp_path, model_type="bart")  # one half of a BART
    with pytest.raises(HeadworkError, match=r"config\.json sets is_encoder_decoder to False, which is not"):
        load(tmp_path)


def test_from_the_hub_come_the_rules_of_writing_too(bart, no_hub, monkeypatch):
    with hub_stand_in(bart[1], "someone/tiny-bart") as server:
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        model = load("someone/tiny-bart", download=True)
        got = {
            path.rpartition("/")[2] for method, path, _ in server.requests if method == "GET" and "/resolve/" in path
        }
    assert got == {"config.json", "generation_config.json", "tokenizer.json", "model.safetensors"}
    assert model.write("the cat", 5) == bart[0].write("the cat", 5)


def test_a_tokenizer_that_needs_another_library_says_how_to_go_on(tmp_path):
    random_pairs.t5(tmp_path)
    (tmp_path / "tokenizer.json").rename(tmp_path / "spiece.model")
    with pytest.raises(HeadworkError, match=r"only there as spiece.model.* writes the tokenizer.json"):
        load(tmp_path)
    (tmp_path / "spiece.model").unlink()
    with pytest.raises(HeadworkError, match="has no tokenizer"):
        load(tmp_path)


def test_a_model_saved_without_its_head_reads_a_target_and_writes_none(tmp_path):
    theirs = random_pairs.bart(tmp_path, tie_word_embeddings=False)
    edit_weights(tmp_path, lambda tensors: tensors.pop("lm_head.weight"))
    model = load(tmp_path)
    assert not model.has_output
    traces = model.trace("the cat", "le chat")
    with torch.inference_mode():
        ids = (torch.tensor([trace.tokenized.ids]) for trace in (traces.encoder, traces.decoder))
        maps = theirs.model(*(next(ids),), decoder_input_ids=next(ids), output_attentions=True).cross_attentions
    assert np.abs(traces.cross.attention - torch.cat(maps).numpy()).max() < 1e-5
    with pytest.raises(HeadworkError, match="no output matrix"):
        model.trace("the cat")


@pytest.mark.parametrize(
    ("maps", "shape"), [("encoder", [2, 4, 9, 9]), ("decoder", [3, 4, 4, 4]), ("cross", [3, 4, 4, 9])]
)
def test_the_command_line(bart, capsys, tmp_path, maps, shape):
    file = tmp_path / "maps.npz"
    arguments = ["the cat", "--target", "le", "--model", str(bart[1]), "--maps", maps, "--json", "--npz", str(file)]
    assert main(arguments) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["shapes"]["attention"] == shape and printed["target"] == "le" and printed["source"] == "the cat"
    assert printed["target_is_written"] is False and printed["maps"] == maps
    with np.load(file) as arrays:
        assert list(arrays["attention"].shape) == shape
        assert ("keys" in arrays) == (maps == "cross")


def test_the_command_line_lets_it_write_and_says_so(bart, capsys):
    assert main(["the cat", "--model", str(bart[1]), "--next", "2"]) == 0
    printed = capsys.readouterr().out
    assert "written by the model" in printed and "keys    <s> t h e" in printed and "next    " in printed


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["a", "--target", "b"], EXIT_INPUT, "leave out --target and --maps"),
        (["a", "--maps", "cross"], EXIT_INPUT, "leave out --target and --maps"),
        (["a", "--pair", "b", "--model", ...], EXIT_INPUT, "leave out --pair and --generate"),
        (["a", "--generate", "3", "--model", ...], EXIT_INPUT, "leave out --pair and --generate"),
        ([" ", "--model", ...], EXIT_INPUT, "no source"),
        (["a", "--target", " ", "--model", ...], EXIT_INPUT, "no target"),
        (["a", "--maps", "encoder", "--next", "1", "--model", ...], EXIT_INPUT, "no hidden states"),
    ],
)
def test_errors_of_the_command_line(bart, capsys, arguments, code, sentence):
    assert main([str(bart[1]) if part is ... else part for part in arguments]) == code
    assert sentence in capsys.readouterr().err

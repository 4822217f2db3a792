"""load(…).trace(…): what a notebook gets, and figures known from another implementation (transformers' BertModel)."""

import shutil
import threading
from dataclasses import replace

import numpy as np
import pytest
import torch

from model import HeadworkError, Mask, load
from model.__main__ import head_entropies
from model.arrays import trace_arrays
from model.trace import Check
from tests.model.random_checkpoints import save_random


@pytest.fixture(scope="module")
def builtin():
    return load("minilm")


def weight(trace, head, query, key):
    """Weight from the first token named `query` to the last named `key`; head as "4-2"."""
    layer, number = (int(n) - 1 for n in head.split("-"))
    last = len(trace.tokens) - 1 - trace.tokens[::-1].index(key)
    return trace.attention[layer, number, trace.tokens.index(query), last]


def test_shapes_labels_and_origin(builtin):
    trace = builtin.trace("The cat sat.", mask="causal")
    assert trace.tokens == ("[CLS]", "the", "cat", "sat", ".", "[SEP]")
    assert trace.attention.shape == (6, 12, 6, 6)
    assert trace.attention.dtype == np.float32
    assert trace.allowed.tolist() == np.tril(np.ones((6, 6), bool)).tolist()
    assert (trace.n_layers, trace.n_heads, trace.n_tokens) == (6, 12, 6)
    assert trace.model_id == "minilm"
    assert trace.trained
    assert trace.sha256.startswith("53aa5117")
    assert str(trace.mask) == "causal"


def test_arrays_are_read_only(builtin):
    trace = builtin.trace("The cat sat.")
    with pytest.raises(ValueError, match="read-only"):
        trace.attention[0, 0, 0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        trace.allowed[0, 0] = False


@pytest.mark.parametrize(
    ("text", "head", "query", "key", "expected"),
    [
        ("The teacher praised the students because they worked hard.", "4-2", "they", "students", 0.92),
        ("A big dog chased the black cat.", "1-3", "chased", "dog", 1.00),
        ("A big dog chased the black cat.", "3-9", "a", "dog", 0.54),
        ("A big dog chased the black cat.", "2-9", "big", "dog", 0.80),
        ("When the queen met the ministers, she asked them about the war.", "4-2", "them", "ministers", 0.69),
        ("The old captain quickly opened a small wooden box.", "3-1", "box", "opened", 0.14),
    ],
)
def test_weights_known_from_another_implementation(builtin, text, head, query, key, expected):
    assert weight(builtin.trace(text), head, query, key) == pytest.approx(expected, abs=0.0051)


@pytest.mark.parametrize("mask", ["bidirectional", "causal", "window:2", "prefix:3", "padding:12", "causal+padding:12"])
def test_the_check_line_holds_under_every_mask(builtin, mask):
    check = builtin.trace("The cat sat on the mat.", mask).check()
    assert check.max_row_error < 1e-6
    assert check.masked_is_zero
    assert check.n_empty_rows == 0


@pytest.mark.parametrize(("layer", "head"), [(0, 0), (5, 11), (2, 7)])
def test_the_check_can_fail_anywhere(builtin, layer, head):
    def check(place, value):
        trace = builtin.trace("The cat sat.", "causal")
        broken = trace.attention.copy()
        broken[(layer, head, *place)] = value
        object.__setattr__(trace, "attention", broken)
        return trace.check()

    assert check((0, 0), 0.5).max_row_error == pytest.approx(0.5)
    assert not check((0, 3), 1e-9).masked_is_zero
    assert check((0, 0), 0.5).masked_is_zero


def test_rows_that_see_nothing_are_counted(builtin):
    drawn = torch.ones(6, 6, dtype=torch.bool)
    drawn[2] = False
    trace = builtin.trace("The cat sat.", Mask.matrix(drawn))
    assert trace.check().n_empty_rows == 1
    assert trace.check().max_row_error < 1e-6
    assert not trace.attention[:, :, 2].any()


def test_a_sentence_that_looks_at_itself_is_square_and_its_keys_are_its_tokens(builtin):
    trace = builtin.trace("The cat sat.", "causal")
    assert (trace.kind, trace.is_square, trace.n_queries, trace.n_keys) == ("self", True, 6, 6)
    assert trace.keys == trace.tokens
    assert all(trace.allowed_in(layer) is trace.allowed for layer in range(6))
    assert set(trace_arrays(trace)) == {"attention", "tokens", "mask"}


def cross_trace(builtin, **changes):
    """Three tokens that look at six others, in two layers of one head; the last query may look at nothing."""
    queries, keys = (builtin.trace(text).tokenized for text in ("cat", "The cat sat."))
    allowed = np.ones((3, 6), bool)
    allowed[2] = False
    attention = np.full((2, 1, 3, 6), 1 / 6, np.float32) * allowed
    made = {"attention": attention, "allowed": allowed, "tokenized": queries, "context": keys}
    return replace(builtin.trace("cat"), **made | changes)


def test_a_trace_of_cross_attention_names_rows_and_columns_apart(builtin):
    trace = cross_trace(builtin)
    assert (trace.kind, trace.is_square, trace.n_queries, trace.n_keys) == ("cross", False, 3, 6)
    assert trace.tokens == ("[CLS]", "cat", "[SEP]")
    assert trace.keys == ("[CLS]", "the", "cat", "sat", ".", "[SEP]")
    assert trace.check() == Check(max_row_error=pytest.approx(0, abs=1e-6), masked_is_zero=True, n_empty_rows=1)
    arrays = trace_arrays(trace)
    assert (arrays["attention"].shape, arrays["mask"].shape) == ((2, 1, 3, 6), (3, 6))
    assert (tuple(arrays["queries"]), tuple(arrays["keys"])) == (trace.tokens, trace.keys)


def test_the_check_takes_each_layer_with_its_own_mask(builtin):
    per_layer = np.ones((2, 3, 6), bool)
    per_layer[0, 2] = False
    per_layer[1, :, 4:] = False
    maps = per_layer / np.maximum(per_layer.sum(-1, keepdims=True), 1)
    trace = cross_trace(builtin, allowed=per_layer, attention=maps[:, None].astype(np.float32))
    assert trace.check() == Check(max_row_error=pytest.approx(0, abs=1e-6), masked_is_zero=True, n_empty_rows=1)
    assert trace.allowed_in(0).tolist() == per_layer[0].tolist()
    assert trace.allowed_in(1).tolist() == per_layer[1].tolist()
    swapped = replace(trace, attention=trace.attention[::-1])
    assert not swapped.check().masked_is_zero
    assert swapped.check().max_row_error == pytest.approx(1)
    assert np.array(head_entropies(trace)) == pytest.approx(np.log([[6], [4]]))


@pytest.mark.parametrize("mask", [torch.ones(6, 6, dtype=torch.bool).tril(), np.tril(np.ones((6, 6), int))])
def test_a_matrix_is_a_mask(builtin, mask):
    trace = builtin.trace("The cat sat.", mask)
    assert (trace.attention == builtin.trace("The cat sat.", "causal").attention).all()
    assert trace.mask == Mask.matrix(mask)


@pytest.mark.parametrize("text", [["a", "b"], ("a",), ("a", "b", "c"), ("a", 3), None, 3, b"a"])
def test_what_is_no_text_is_refused_by_a_sentence(builtin, text):
    with pytest.raises(HeadworkError, match=r"of one text, or of two .* make a trace of each"):
        builtin.trace(text)


FIRST, SECOND = "The cat sat on the mat.", "The cat lay on the rug."


@pytest.mark.parametrize("text", [(FIRST, SECOND), f"{FIRST} [SEP] {SECOND}"])
def test_a_pair_has_the_tokens_and_maps_that_transformers_gives_it(builtin, minilm_folder, text):
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(minilm_folder)
    theirs = transformers.BertModel.from_pretrained(minilm_folder, attn_implementation="eager").eval()
    encoded = tokenizer(FIRST, SECOND, return_tensors="pt")
    with torch.inference_mode():
        expected = torch.stack(theirs(**encoded, output_attentions=True).attentions)[:, 0].numpy()
    trace = builtin.trace(text)
    assert list(trace.tokenized.ids) == encoded["input_ids"][0].tolist()
    assert list(trace.tokenized.token_types) == encoded["token_type_ids"][0].tolist() == [0] * 9 + [1] * 8
    assert np.abs(trace.attention - expected).max() <= 1e-5
    assert trace.attention[0, 2, 9, 8] == pytest.approx(0.42, abs=0.005)  # head 1-3; .99 as one text
    assert builtin.trace(trace.text).tokenized == trace.tokenized  # what pages and caches ask for again


def test_a_model_without_token_types_reads_the_same_tokens(minilm_folder, tmp_path):
    transformers = pytest.importorskip("transformers")
    sizes = {"dim": 8, "n_layers": 2, "n_heads": 2, "hidden_dim": 8}
    theirs = save_random(transformers.DistilBertConfig(**sizes), transformers.DistilBertModel, tmp_path)
    shutil.copy(minilm_folder / "tokenizer.json", tmp_path)
    trace = load(str(tmp_path)).trace((FIRST, SECOND))
    with torch.inference_mode():
        ids = torch.tensor([trace.tokenized.ids])
        expected = torch.stack(theirs(ids, output_attentions=True).attentions)[:, 0].numpy()
    assert trace.tokenized.is_pair
    assert np.abs(trace.attention - expected).max() <= 1e-5


def test_padding_shows_in_the_tokens_and_leaves_the_real_rows_alone(builtin):
    alone, padded = builtin.trace("The cat sat."), builtin.trace("The cat sat.", "padding:9")
    assert padded.tokens == (*alone.tokens, "[PAD]", "[PAD]", "[PAD]")
    assert not padded.allowed[:, 6:].any()
    assert np.abs(padded.attention[:, :, :6, :6] - alone.attention).max() < 1e-5


def test_a_head_that_is_off_changes_later_layers_only(builtin):
    head_mask = np.ones((6, 12))
    head_mask[2, 8] = 0
    full, masked_head = builtin.trace("The cat sat."), builtin.trace("The cat sat.", head_mask=head_mask)
    assert (masked_head.attention[:3] == full.attention[:3]).all()
    assert np.abs(masked_head.attention[3:] - full.attention[3:]).max() > 1e-4


@pytest.mark.parametrize("shape", [(7, 12), (3, 12), (6, 11), (12,), ()])
def test_a_gate_of_another_shape_is_refused(builtin, shape):
    with pytest.raises(HeadworkError, match="6 × 12 heads"):
        builtin.trace("The cat sat.", head_mask=np.ones(shape))


@pytest.mark.parametrize("value", [np.nan, np.inf, "on", None])
def test_a_head_mask_of_anything_but_numbers_is_refused(builtin, value):
    with pytest.raises(HeadworkError, match="a number for each head"):
        builtin.trace("The cat sat.", head_mask=[[value] * 12] * 6)


def test_a_head_mask_of_rows_of_unequal_length_is_refused(builtin):
    with pytest.raises(HeadworkError, match="a number for each head"):
        builtin.trace("The cat sat.", head_mask=[[1], [1, 0]])


def test_a_tokenizer_that_knows_more_than_the_model_is_refused_when_it_matters(minilm_folder, tmp_path):
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    config = transformers.BertConfig(vocab_size=2000, max_position_embeddings=30, **sizes)
    save_random(config, transformers.BertModel, tmp_path)
    shutil.copy(minilm_folder / "tokenizer.json", tmp_path)
    model = load(str(tmp_path))
    assert model.trace("the").n_tokens == 3  # "the" is 1996
    with pytest.raises(HeadworkError, match=r"cat the id 4937, .* below 2000"):
        model.trace("the cat")


def test_the_models_own_limit_counts_where_it_is_lower(minilm_folder, tmp_path):
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    save_random(transformers.BertConfig(max_position_embeddings=30, **sizes), transformers.BertModel, tmp_path)
    shutil.copy(minilm_folder / "tokenizer.json", tmp_path)
    model = load(str(tmp_path))
    trace = model.trace("word " * 100)
    assert model.token_limit == trace.n_tokens == 30
    assert trace.tokenized.n_cut == 72


def test_the_seed_of_a_toy_does_not_reach_torchs_own_generator():
    def state_after(seed):
        torch.manual_seed(5)
        load(f"toy:seed={seed}").trace("one two")
        return torch.get_rng_state()

    assert state_after(1).equal(state_after(2))


def test_run_hands_out_every_step_of_the_same_forward(builtin):
    tokens, allowed, output = builtin.run("The cat sat.", "causal")
    trace = builtin.trace("The cat sat.", "causal")
    assert tokens == trace.tokenized
    assert (allowed.numpy() == trace.allowed).all()
    assert np.abs(output.blocks[3].attention.attention[0].numpy() - trace.attention[3]).max() < 1e-6
    assert output.blocks[3].attention.masked_scores[0, 0, 0, 1] == -torch.inf


def test_the_longest_text_is_cut_at_the_models_limit(builtin):
    trace = builtin.trace("word " * 3000)
    assert trace.n_tokens == builtin.token_limit == 512
    assert trace.tokenized.n_cut == 3000 - 510
    assert trace.tokens[-1] == "[SEP]"
    assert trace.check().max_row_error < 1e-5


def test_the_courses_example_in_a_toy():
    trace = load("toy:d_model=8,heads=2,layers=1,seed=42").trace("猫 吃 鱼")
    assert trace.tokens == ("猫", "吃", "鱼")
    assert trace.attention.shape == (1, 2, 3, 3)
    assert not trace.trained
    assert "untrained" in trace.model_label
    assert trace.sha256 is None


def test_a_toy_is_the_same_each_time_and_other_with_another_seed():
    def maps(seed):
        return load(f"toy:seed={seed}").trace("one two three").attention

    assert (maps(1) == maps(1)).all()
    assert not (maps(1) == maps(2)).all()


def test_threads_may_share_a_model(builtin):
    texts = [f"The cat number {i} sat on the mat." for i in range(8)]
    expected = [builtin.trace(text, "causal").attention for text in texts]
    found = [None] * len(texts)

    def ask(i):
        found[i] = builtin.trace(texts[i], "causal").attention

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((a == b).all() for a, b in zip(expected, found, strict=True))


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\u200b"])
def test_no_text_is_an_error_with_a_sentence(builtin, text):
    with pytest.raises(HeadworkError, match="no text"):
        builtin.trace(text)


@pytest.mark.parametrize(
    "text", ["<s>", "$x$", "<script>alert(1)</script>", "🦊🦊", "e\u0301", "猫", "the the the", "a" * 5000]
)
def test_odd_texts_are_traced(builtin, text):
    trace = builtin.trace(text)
    assert len(trace.tokens) == trace.n_tokens
    assert trace.check().max_row_error < 1e-5

"""The decisive test for encoder–decoders: the same weights give the same three families of maps, states and logits.

Real rows only, as for decoders: what a query of padding says is read by nobody.
"""

import time

import pytest
import torch

from model import HeadworkError, Mask
from model.weights.checkpoints import config_of
from model.weights.encoder_decoders import load_pair
from model.weights.families import ENCODER_DECODERS
from tests.model.random_checkpoints import edit_config, edit_weights, save_random
from tests.model.test_decoder_parity import BAR, NONSENSE, Precise

transformers = pytest.importorskip("transformers")
V, LONGEST = 97, 512
PARTS = {
    f"{part}_{name}": n for part in ("encoder", "decoder") for name, n in (("attention_heads", 4), ("ffn_dim", 40))
}
BART = {
    "vocab_size": V,
    "d_model": 24,
    "max_position_embeddings": LONGEST,
    "encoder_layers": 2,
    "decoder_layers": 3,
    **PARTS,
    "pad_token_id": 1,
    "decoder_start_token_id": 2,
}
MARIAN = BART | {"pad_token_id": 96, "decoder_start_token_id": 96, "scale_embedding": True}
T5 = {"vocab_size": V, "d_model": 24, "d_kv": 10, "d_ff": 40, "num_layers": 2, "num_heads": 4}
T5 |= {"decoder_start_token_id": 0, "pad_token_id": 0}
# What each config says; the name begins with its model_type.
PAIRS = {
    "bart": ("BartForConditionalGeneration", BART),
    "bart, scaled embeddings": ("BartForConditionalGeneration", BART | {"scale_embedding": True}),
    "bart, relu, fewer heads": (
        "BartForConditionalGeneration",
        BART | {"activation_function": "relu", "decoder_attention_heads": 2, "decoder_ffn_dim": 56},
    ),
    "bart, own output": ("BartForConditionalGeneration", BART | {"tie_word_embeddings": False}),
    "marian": ("MarianMTModel", MARIAN),
    "marian, swish": ("MarianMTModel", MARIAN | {"activation_function": "swish"}),
    "marian, two vocabularies": (
        "MarianMTModel",
        MARIAN | {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": 103},
    ),
    "t5": ("T5ForConditionalGeneration", T5),
    "t5, v1.1": (
        "T5ForConditionalGeneration",
        T5 | {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "num_decoder_layers": 3},
    ),
    "t5, few ranges": (
        "T5ForConditionalGeneration",
        T5 | {"relative_attention_num_buckets": 8, "relative_attention_max_distance": 20, "layer_norm_epsilon": 0.05},
    ),
    "t5, gated silu": ("T5ForConditionalGeneration", T5 | {"feed_forward_proj": "gated-silu"}),
}


def saved(kind, folder):
    """A random model of this kind, written to a folder; its output matrix and the bias of its scores are not 0."""
    name, sizes = PAIRS[kind]
    config = getattr(transformers, name.partition("For")[0].removesuffix("MTModel") + "Config")(**sizes)

    def make(config):
        model = getattr(transformers, name)(config)
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.normal_(generator=torch.Generator().manual_seed(1))
        if kind == "t5, v1.1":
            own = torch.randn(V, 24, generator=torch.Generator().manual_seed(2))
            model.lm_head.weight = torch.nn.Parameter(own / 24**0.5)
        return model

    return save_random(config, make, folder)


def batch(lengths, side, seed):
    """Random ids (B, N), and is_padding (B, N) on one side."""
    n = max(lengths)
    ids = torch.randint(2, V - 1, (len(lengths), n), generator=torch.Generator().manual_seed(seed))
    place = torch.arange(n)[None] if side == "right" else torch.arange(n)[None].flip(1)
    return ids, place >= torch.tensor(lengths)[:, None]


def largest_differences(ours, theirs, source, target):
    """max |ours − theirs| of real rows: encoder's, decoder's and cross maps, both hidden states, logits."""
    (source_ids, no_source), (target_ids, no_target) = source, target
    with torch.inference_mode():
        mine = ours(
            source_ids,
            target_ids,
            Mask.bidirectional().allowed(source_ids.size(1), no_source),
            Mask.causal().allowed(target_ids.size(1), no_target),
            ~no_source[:, None, None, :],
        )
        with Precise():
            reference = theirs(
                input_ids=source_ids,
                attention_mask=(~no_source).long(),
                decoder_input_ids=target_ids,
                decoder_attention_mask=(~no_target).long(),
                output_attentions=True,
                output_hidden_states=True,
                use_cache=False,
            )
        logits = ours.logits(mine.hidden)
    pairs = {
        "encoder": (mine.encoder.attention, torch.stack(reference.encoder_attentions), no_source),
        "decoder": (mine.decoder.attention, torch.stack(reference.decoder_attentions), no_target),
        "cross": (mine.cross, torch.stack(reference.cross_attentions), no_target),
        "encoder hidden": (mine.encoder.hidden, reference.encoder_last_hidden_state, no_source),
        "logits": (logits, reference.logits, no_target),
    }
    found = {}
    for name, (a, b, is_padding) in pairs.items():
        assert a.shape == b.shape, name
        difference = (a - b).abs()
        rows = difference.amax(dim=(0, 2, 4)) if a.dim() == 5 else difference.amax(-1)  # (B, N)
        found[name] = rows[~is_padding].max().item()
    return found


@pytest.fixture(scope="module", params=PAIRS)
def pair(request, tmp_path_factory):
    """transformers' model of a kind and our reading of its folder, both in float32."""
    folder = tmp_path_factory.mktemp("pair")
    return saved(request.param, folder), load_pair(folder)


def test_every_family_of_encoder_decoders_has_its_rows():
    assert {kind.split(",")[0] for kind in PAIRS} == set(ENCODER_DECODERS)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("source", "target", "sides"),
    [
        ([11], [7], ("right", "right")),
        ([13, 9, 4, 1], [6, 7, 1, 3], ("right", "right")),
        ([13, 9, 4, 1], [6, 7, 1, 3], ("left", "left")),
        ([3], [1], ("right", "right")),
        ([LONGEST], [1], ("right", "right")),
        ([1], [40], ("right", "right")),
    ],
)
def test_three_families_of_maps_hidden_states_and_logits(pair, dtype, source, target, sides):
    theirs, ours = pair[0].to(dtype), pair[1].transformer.to(dtype)
    found = largest_differences(ours, theirs, batch(source, sides[0], 0), batch(target, sides[1], 1))
    assert max(found.values()) <= BAR[dtype], found


@pytest.mark.parametrize("kind", ["bart", "marian", "t5"])
def test_copies_of_the_one_table_of_vectors_and_old_buffers_are_left_alone(tmp_path, kind):
    theirs = saved(kind, tmp_path)
    prefix = "" if kind == "t5" else "model."

    def add(tensors):
        table = tensors[f"{prefix}shared.weight"]
        names = (f"{prefix}encoder.embed_tokens.weight", f"{prefix}decoder.embed_tokens.weight", "lm_head.weight")
        tensors.update({name: table.clone() for name in names})
        if kind == "marian":
            tensors[f"{prefix}encoder.embed_positions.weight"] = torch.ones(3, 24)
        if kind == "t5":
            tensors["decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"] = torch.ones(32, 4)

    edit_weights(tmp_path, add)
    checkpoint = load_pair(tmp_path)
    assert checkpoint.config.shared_embedding and checkpoint.config.decoder.output == "tied"
    found = largest_differences(checkpoint.transformer, theirs, batch([9], "right", 0), batch([5], "right", 1))
    assert max(found.values()) <= 1e-5


def test_tables_that_are_not_equal_stay_apart_as_transformers_reads_them(tmp_path):
    saved("t5", tmp_path)
    edit_weights(tmp_path, lambda tensors: tensors.update({"decoder.embed_tokens.weight": torch.randn(V, 24)}))
    theirs = transformers.T5ForConditionalGeneration.from_pretrained(tmp_path, attn_implementation="eager").eval()
    checkpoint = load_pair(tmp_path)
    assert not checkpoint.config.shared_embedding
    with torch.inference_mode():
        ids = batch([9], "right", 0)[0]
        expected = theirs(input_ids=ids, decoder_input_ids=ids, output_attentions=True)
        cross = checkpoint.transformer(ids, ids).cross
    assert (cross - torch.stack(expected.cross_attentions)).abs().max() <= 1e-5


@pytest.mark.parametrize("kind", ["t5", "t5, v1.1"])
def test_hidden_states_are_scaled_for_the_output_as_config_json_says_in_any_version(tmp_path, kind):
    theirs = saved(kind, tmp_path)
    assert load_pair(tmp_path).config.output_scale == (24**-0.5 if kind == "t5" else 1.0)
    edit_config(tmp_path, scale_decoder_outputs=..., tie_word_embeddings=kind == "t5")  # as version 4 wrote it
    checkpoint = load_pair(tmp_path)
    assert checkpoint.config.output_scale == (24**-0.5 if kind == "t5" else 1.0)
    found = largest_differences(checkpoint.transformer, theirs, batch([9], "right", 0), batch([5], "right", 1))
    assert max(found.values()) <= 1e-5


@pytest.mark.parametrize(
    ("kind", "entries", "sentence"),
    [
        ("bart", {"normalize_before": True}, "normalize_before to True"),
        ("bart", {"add_final_layer_norm": True}, "add_final_layer_norm to True"),
        ("bart", {"normalize_embedding": False}, "normalize_embedding to False"),
        ("bart", {"static_position_embeddings": True}, "static_position_embeddings to True"),
        ("bart", {"activation_function": "tanh"}, "activation tanh is not supported"),
        ("bart", {"encoder_attention_heads": 5}, "24 can't be split over 5 heads"),
        ("bart", {"d_model": ...}, "no entry d_model"),
        ("bart", {"is_encoder_decoder": False}, "is_encoder_decoder to False"),
        ("marian", {"static_position_embeddings": False}, "static_position_embeddings to False"),
        ("marian", {"normalize_embedding": True}, "normalize_embedding to True"),
        ("t5", {"feed_forward_proj": "gated-tanh"}, "feed_forward_proj to gated-tanh"),
        ("t5", {"feed_forward_proj": 3}, "activation 3 is not supported"),
        ("t5", {"relative_attention_max_distance": 4}, "beyond: 4 is not"),
        ("t5", {"num_decoder_layers": 0}, "num_layers is 0"),
        ("t5", {"decoder_start_token_id": "start"}, "by number"),
    ],
)
def test_what_is_not_done_here_is_refused_by_name(tmp_path, kind, entries, sentence):
    saved(kind, tmp_path)
    (tmp_path / "generation_config.json").unlink(missing_ok=True)
    edit_config(tmp_path, **entries)
    with pytest.raises(HeadworkError, match=sentence):
        load_pair(tmp_path)


@pytest.mark.parametrize(
    ("kind", "name", "shape", "sentence"),
    [
        (
            "bart",
            "model.decoder.layers.1.encoder_attn.k_proj.weight",
            (24, 23),
            r"encoder_attn\.k_proj\.weight has the shape",
        ),
        ("bart", "final_logits_bias", (1, 96), "final_logits_bias has the shape"),
        ("bart", "model.encoder.layers.0.encoder_attn.k_proj.weight", (24, 24), "no place for"),
        ("t5", "decoder.block.1.layer.0.SelfAttention.relative_attention_bias.weight", (32, 4), "no place for"),
        ("t5", "encoder.final_layer_norm.bias", (24,), "no place for"),
        ("marian", "model.encoder.layernorm_embedding.weight", (24,), "no place for"),
    ],
)
def test_tensors_that_do_not_fit_are_named(tmp_path, kind, name, shape, sentence):
    saved(kind, tmp_path)
    edit_weights(tmp_path, lambda tensors: tensors.update({name: torch.zeros(shape)}))
    with pytest.raises(HeadworkError, match=sentence):
        load_pair(tmp_path)


@pytest.mark.parametrize("kind", ["bart", "marian", "t5, v1.1"])
def test_any_entry_of_a_config_json_may_be_nonsense(kind):
    """A sentence or a config, at once: a billion layers are not counted."""
    name, sizes = PAIRS[kind]
    raw = getattr(transformers, name.partition("For")[0].removesuffix("MTModel") + "Config")(**sizes).to_dict()
    said, start = 0, time.process_time()
    for entry in raw.keys() - {"model_type"}:
        for value in NONSENSE:
            try:
                config_of(ENCODER_DECODERS[raw["model_type"]], raw | {entry: value})
            except HeadworkError:
                said += 1
    assert said > 50
    assert time.process_time() - start < 5

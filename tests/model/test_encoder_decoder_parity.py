"""The decisive test for encoder–decoders: the same weights give the same three families of maps, states and logits.

Real rows only, as for decoders: what a query of padding says is read by nobody.
"""

import pytest
import torch

from model import Mask
from model.weights.encoder_decoders import load_pair
from model.weights.families import ENCODER_DECODERS
from tests.model.random_checkpoints import save_random
from tests.model.test_decoder_parity import BAR, Precise

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

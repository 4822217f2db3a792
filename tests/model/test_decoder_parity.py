"""The decisive test for decoders: the same weights give the same maps, hidden states and logits as in transformers.

transformers computes RMSNorm and the softmax of a float64 model in float32 (`Precise` takes that out, so that 1e-9 can
be asked for); its tables of rotary positions are float32 in both, as models are trained. Real rows only: what a query
of padding says is read by nobody.
"""

import time

import pytest
import torch
from torch.overrides import TorchFunctionMode

from model import HeadworkError, Mask
from model.weights.checkpoints import config_from, load_folder
from model.weights.families import FAMILIES
from tests.model.random_checkpoints import edit_config, edit_weights, save_random

transformers = pytest.importorskip("transformers")
BAR = {torch.float32: 1e-5, torch.float64: 1e-9}
LONGEST = 40
SIZES = {
    "vocab_size": 97,
    "hidden_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "intermediate_size": 80,
    "max_position_embeddings": LONGEST,
    **dict.fromkeys(("bos_token_id", "eos_token_id"), 0),
}
GROUPED = SIZES | {"num_key_value_heads": 2}
GPT2 = {"vocab_size": 97, "n_embd": 48, "n_layer": 3, "n_head": 6, "n_positions": LONGEST} | {
    name: 0 for name in ("bos_token_id", "eos_token_id")
}
LLAMA3 = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16}
WINDOWS = {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1}
# What each config says; the name begins with its model_type.
DECODERS = {
    "gpt2": ("GPT2", GPT2),
    "gpt2, own output": ("GPT2", GPT2 | {"tie_word_embeddings": False, "n_inner": 72, "activation_function": "gelu"}),
    "gpt_neox": ("GPTNeoX", SIZES | {"num_attention_heads": 3}),
    "gpt_neox, one after the other": ("GPTNeoX", SIZES | {"use_parallel_residual": False, "rotary_pct": 1.0}),
    "gpt_neox, without biases": (
        "GPTNeoX",
        SIZES | {"attention_bias": False, "rotary_pct": 0.5, "hidden_act": "gelu_fast"},
    ),
    "llama": ("Llama", GROUPED),
    "llama, every head its own keys": ("Llama", SIZES | {"rms_norm_eps": 0.05, "tie_word_embeddings": True}),
    "llama, one key head": ("Llama", SIZES | {"num_key_value_heads": 1, "head_dim": 12, "attention_bias": True}),
    "llama, biases": ("Llama", GROUPED | {"mlp_bias": True, "rope_theta": 500.0}),
    "llama, linear": ("Llama", GROUPED | {"rope_scaling": {"rope_type": "linear", "factor": 3.0}}),
    "llama, llama3": ("Llama", GROUPED | {"rope_scaling": {"rope_type": "llama3", "factor": 8.0, **LLAMA3}}),
    "mistral": ("Mistral", GROUPED | {"sliding_window": 5, "head_dim": 10}),
    "mistral, no window": ("Mistral", GROUPED | {"sliding_window": None}),
    "qwen2": ("Qwen2", GROUPED),
    "qwen2, windows": ("Qwen2", GROUPED | WINDOWS),
    "qwen3": ("Qwen3", GROUPED | {"head_dim": 16}),
    "qwen3, windows": (
        "Qwen3",
        GROUPED | WINDOWS | {"head_dim": 6, "attention_bias": True, "tie_word_embeddings": True},
    ),
}


class Precise(TorchFunctionMode):
    """Leaves a float64 model of transformers in float64, where it goes to float32 and back."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func is torch.Tensor.to and args[0].dtype == torch.float64 and args[1:] == (torch.float32,):
            return args[0]
        if func is torch.nn.functional.softmax and args[0].dtype == torch.float64:
            kwargs.pop("dtype", None)
        return func(*args, **kwargs)


def saved(kind, folder, *, head=True):
    """A random model of this kind, written to a folder."""
    name, sizes = DECODERS[kind]
    config = getattr(transformers, f"{name}Config")(**sizes, pad_token_id=0)
    model_class = ("LMHeadModel" if name == "GPT2" else "ForCausalLM") if head else "Model"
    return save_random(config, getattr(transformers, name + model_class), folder)


def batch(lengths, side, seed=0):
    """Random ids (B, N) padded with 0 on one side, is_padding (B, N), and where each token stands (B, N)."""
    n = max(lengths)
    ids = torch.randint(1, 97, (len(lengths), n), generator=torch.Generator().manual_seed(seed))
    place = torch.arange(n)[None] if side == "right" else torch.arange(n)[None].flip(1)
    is_padding = place >= torch.tensor(lengths)[:, None]
    positions = (~is_padding).long().cumsum(1).sub(1).clamp(min=0)
    return ids.masked_fill(is_padding, 0), is_padding, positions


def largest_differences(ours, theirs, ids, is_padding, positions):
    """max |ours − theirs| over maps of real queries, hidden states and logits of real tokens; the logits' if any."""
    with torch.inference_mode():
        allowed = Mask.causal().allowed(ids.size(1), is_padding)
        mine = ours(ids, allowed, positions=positions)
        with Precise():
            reference = theirs(
                ids,
                attention_mask=(~is_padding).long(),
                position_ids=positions,
                output_attentions=True,
                output_hidden_states=True,
                use_cache=False,
            )
    maps = torch.stack(reference.attentions)  # (L, B, h, N, N)
    assert mine.attention.shape == maps.shape
    real = ~is_padding
    rows = (mine.attention - maps).abs().amax(dim=(0, 2, 4))[real]  # of each real query
    hidden = (mine.hidden - reference.hidden_states[-1]).abs()[real]
    if not hasattr(reference, "logits"):
        return rows.max().item(), hidden.max().item()
    logits = (ours.logits(mine.hidden) - reference.logits).abs()[real]
    return rows.max().item(), hidden.max().item(), logits.max().item()


def test_every_family_of_decoders_has_its_rows():
    assert {kind.split(",")[0] for kind in DECODERS} == {name for name, family in FAMILIES.items() if family.is_decoder}


@pytest.fixture(scope="module", params=DECODERS)
def pair(request, tmp_path_factory):
    """transformers' model of a kind and our reading of its folder, both in float32."""
    folder = tmp_path_factory.mktemp("decoder")
    return saved(request.param, folder), load_folder(folder)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("lengths", "side"),
    [
        ([11], "right"),
        ([17, 11, 6, 1], "right"),
        ([17, 11, 6, 1], "left"),
        ([1], "right"),
        ([LONGEST], "right"),
    ],
)
def test_maps_hidden_states_and_logits(pair, dtype, lengths, side):
    theirs, checkpoint = pair[0].to(dtype), pair[1]
    assert checkpoint.is_decoder and checkpoint.config.output != "none"
    differences = largest_differences(checkpoint.transformer.to(dtype), theirs, *batch(lengths, side))
    assert max(differences) <= BAR[dtype], differences


def test_products_computed_in_float32_are_the_same_here(tmp_path):
    """reorder_and_upcast_attn: transformers itself takes only float32 then."""
    config = transformers.GPT2Config(**GPT2, reorder_and_upcast_attn=True)
    theirs = save_random(config, transformers.GPT2LMHeadModel, tmp_path)
    assert max(largest_differences(load_folder(tmp_path).transformer, theirs, *batch([9, 4], "right"))) <= 1e-5


@pytest.mark.parametrize("kind", ["gpt2", "gpt2, own output", "gpt_neox", "llama", "qwen2, windows"])
def test_a_model_saved_without_its_head_has_an_output_matrix_only_where_that_is_the_embedding(tmp_path, kind):
    theirs = saved(kind, tmp_path, head=False)
    checkpoint = load_folder(tmp_path)
    assert checkpoint.config.output == ("tied" if theirs.config.tie_word_embeddings else "none")
    assert max(largest_differences(checkpoint.transformer, theirs, *batch([9, 4], "right"))) <= 1e-5
    if checkpoint.config.output == "none":
        with pytest.raises(HeadworkError, match="no output matrix"):
            checkpoint.transformer.logits(torch.zeros(1, 48))


@pytest.mark.parametrize(
    ("kind", "entries"),
    [
        ("llama", {"rope_theta": 500.0}),
        ("llama", {"rope_theta": 500.0, "rope_scaling": {"type": "linear", "factor": 3.0}}),
        ("llama", {"rope_theta": 500.0, "rope_scaling": {"rope_type": "llama3", "factor": 8.0, **LLAMA3}}),
        ("gpt_neox", {"rotary_emb_base": 500, "rotary_pct": 0.5}),
        ("qwen2, windows", {"rope_theta": 500.0, "layer_types": ...}),
        ("qwen3", {"rope_theta": 500.0, "layer_types": ["full_attention"] * 3}),
    ],
)
def test_a_config_json_as_older_versions_wrote_it(tmp_path, kind, entries):
    """What transformers makes of it is the reference: it still reads them."""
    saved(kind, tmp_path)
    edit_config(tmp_path, rope_parameters=..., **entries)
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, attn_implementation="eager").eval()
    assert theirs.config.rope_parameters["rope_theta"] == 500
    assert max(largest_differences(load_folder(tmp_path).transformer, theirs, *batch([17, 9], "left"))) <= 1e-5


@pytest.mark.parametrize(
    ("kind", "name", "shape"),
    [
        ("gpt2", "transformer.h.0.attn.bias", (1, 1, LONGEST, LONGEST)),
        ("gpt2", "transformer.h.0.attn.masked_bias", ()),
        ("gpt2", "lm_head.weight", (97, 48)),
        ("gpt_neox", "gpt_neox.layers.0.attention.masked_bias", ()),
        ("gpt_neox", "gpt_neox.layers.0.attention.rotary_emb.inv_freq", (2,)),
        ("llama", "model.layers.0.self_attn.rotary_emb.inv_freq", (4,)),
        ("llama, every head its own keys", "lm_head.weight", (97, 48)),
    ],
)
def test_buffers_of_old_versions_and_a_copy_of_the_embedding_are_left_alone(tmp_path, kind, name, shape):
    theirs = saved(kind, tmp_path)
    edit_weights(tmp_path, lambda tensors: tensors.update({name: torch.ones(shape)}))
    assert max(largest_differences(load_folder(tmp_path).transformer, theirs, *batch([9], "right"))) <= 1e-5


@pytest.mark.parametrize(
    ("kind", "entries", "sentence"),
    [
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx to True"),
        ("gpt2", {"scale_attn_weights": False}, "scale_attn_weights to False"),
        ("gpt2", {"add_cross_attention": True}, "add_cross_attention to True"),
        ("gpt2", {"activation_function": "silu"}, "activation silu is not supported"),
        ("gpt_neox", {"rope_parameters": {"rope_type": "dynamic", "factor": 2.0}}, "scaled as dynamic"),
        ("llama", {"rope_parameters": {"rope_type": "yarn", "factor": 2.0}}, "scaled as yarn .* linear, llama3"),
        ("llama", {"rope_parameters": ..., "rope_scaling": {"type": "longrope"}}, "scaled as longrope"),
        ("llama", {"rope_parameters": {"rope_type": "linear"}}, "no entry factor"),
        ("llama", {"rope_parameters": {"rope_type": "linear", "factor": "3"}}, "scaled by"),
        ("llama", {"rope_parameters": {"partial_rotary_factor": 0.5}}, "partial_rotary_factor to 0.5"),
        ("llama", {"partial_rotary_factor": 0.5}, "partial_rotary_factor to 0.5"),
        ("gpt_neox", {"rope_parameters": ..., "rotary_pct": 0.0}, "rotary_pct to 0.0"),
        ("llama", {"rope_parameters": {"full_attention": {"rope_theta": 5.0}}}, "another kind in each layer"),
        ("llama", {"rope_parameters": [1]}, "entry of the wrong kind"),
        ("llama", {"rope_parameters": {"rope_theta": None}}, "rotary_base is None"),
        ("llama", {"hidden_act": "gelu"}, "activation gelu is not supported. These are: silu"),
        ("llama", {"num_key_value_heads": 4}, "6 query heads can't share 4 key heads"),
        ("mistral", {"sliding_window": "wide"}, "Windows are a whole number"),
        ("qwen2", {"layer_types": ["chunked_attention"] * 3}, "layer_types to chunked_attention"),
        ("qwen2", {"layer_types": ["sliding_attention"] * 3}, "layer_types to sliding_attention"),
        ("qwen2", {"use_mrope": True}, "use_mrope to True"),
        ("qwen2, windows", {"layer_types": ["full_attention"]}, "layer_types to"),
    ],
)
def test_what_is_not_done_here_is_refused_by_name(tmp_path, kind, entries, sentence):
    saved(kind, tmp_path)
    edit_config(tmp_path, **entries)
    with pytest.raises(HeadworkError, match=sentence):
        load_folder(tmp_path)


@pytest.mark.parametrize(
    ("kind", "name", "shape", "sentence"),
    [
        (
            "gpt2",
            "transformer.h.1.attn.c_attn.weight",
            (48, 141),
            r"h\.1\.attn\.c_attn\.q\.weight has the shape \(47, 48\)",
        ),
        ("gpt2", "transformer.h.1.attn.c_attn.weight", (48, 143), r"lack 3 tensors .* h\.1\.attn\.c_attn\.q\.weight"),
        ("gpt2", "transformer.h.1.attn.c_attn.bias", (), r"lack 3 tensors .* h\.1\.attn\.c_attn\.q\.bias"),
        ("gpt_neox", "gpt_neox.layers.1.attention.query_key_value.weight", (143, 48), r"query_key_value\.q\.weight"),
        ("gpt_neox", "gpt_neox.layers.1.attention.query_key_value.weight", (), r"query_key_value\.q\.weight"),
        ("llama", "model.layers.1.self_attn.k_proj.weight", (48, 48), r"k_proj\.weight has the shape \(48, 48\)"),
        ("llama", "lm_head.weight", (96, 48), r"lm_head\.weight has the shape \(96, 48\)"),
        ("llama", "lm_head.bias", (97,), "no place for, among them lm_head.bias"),
        ("llama", "model.layers.1.self_attn.q_proj.bias", (48,), "no place for"),
        ("qwen3", "model.layers.1.self_attn.q_norm.weight", (48,), r"q_norm\.weight has the shape"),
    ],
)
def test_tensors_that_do_not_fit_are_named(tmp_path, kind, name, shape, sentence):
    saved(kind, tmp_path)
    edit_weights(tmp_path, lambda tensors: tensors.update({name: torch.zeros(shape)}))
    with pytest.raises(HeadworkError, match=sentence):
        load_folder(tmp_path)


NONSENSE = (None, "x", "", -1, 0, 3.5, float("nan"), float("inf"), True, [], [1], {}, {"a": 1}, 10**9, 10**400, [[[]]])
SCALINGS = (
    {"rope_type": 5},
    {"type": "linear", "factor": 0},
    {"rope_type": "llama3", "factor": float("nan"), **LLAMA3},
)


@pytest.mark.parametrize("kind", DECODERS)
def test_any_entry_of_a_config_json_may_be_nonsense(kind):
    """A sentence or a config, at once: a billion layers are not counted."""
    name, sizes = DECODERS[kind]
    raw = getattr(transformers, f"{name}Config")(**sizes).to_dict()
    said = 0
    start = time.process_time()
    for entry in raw.keys() - {"model_type"} | {"rope_scaling", "rope_theta", "rotary_pct", "rotary_emb_base"}:
        for value in (*NONSENSE, *SCALINGS):
            try:
                config_from(raw | {entry: value})
            except HeadworkError:
                said += 1
    assert said > 50
    assert time.process_time() - start < 5

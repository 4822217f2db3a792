"""The decisive test: the same weights give the same maps in transformers' eager attention and here.

Bars from measurement: transformers' own float32 is 1.3e-6 away from its float64 on these weights, so 1e-5 for float32
and 1e-9 for float64. Rows of padding queries are left out: nothing reads them.
"""

import pytest
import torch

from model import Mask
from model.packed import PackedLinear, pack
from model.weights.checkpoints import load_folder
from model.weights.families import FAMILIES
from tests.model.random_checkpoints import save_random

transformers = pytest.importorskip("transformers")
BAR = {torch.float32: 1e-5, torch.float64: 1e-9}
LENGTHS = {1: [11], 4: [17, 11, 6, 1]}


WIDE = {"hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 80}
DISTIL = {"dim": 48, "n_layers": 3, "n_heads": 4, "hidden_dim": 80}
# A row a family, and more where one has choices: transformers' name of it, and what its config says.
ENCODERS = {
    "bert": ("Bert", WIDE),
    "bert, tanh GELU": ("Bert", WIDE | {"hidden_act": "gelu_new"}),
    "bert, another epsilon": ("Bert", WIDE | {"layer_norm_eps": 0.05}),
    "roberta": ("Roberta", WIDE | {"pad_token_id": 1}),
    "roberta padded with 4": ("Roberta", WIDE | {"pad_token_id": 4}),
    "xlm-roberta": ("XLMRoberta", WIDE | {"pad_token_id": 1}),
    "camembert": ("Camembert", WIDE | {"pad_token_id": 1}),
    "distilbert": ("DistilBert", DISTIL),
}


def small(kind, model="Model"):
    name, sizes = ENCODERS[kind]
    config = getattr(transformers, f"{name}Config")(vocab_size=97, max_position_embeddings=40, **sizes)
    return config, getattr(transformers, f"{name}{model}")


def test_every_family_of_encoders_has_its_row():
    encoders = {name for name, family in FAMILIES.items() if not family.is_decoder}  # decoders: test_decoder_parity
    assert {small(kind)[0].model_type for kind in ENCODERS} == encoders


def batch(lengths, vocabulary, pad_id, seed=0):
    """Random ids (B, N), padded on the right, and is_padding (B, N)."""
    n = max(lengths)
    ids = torch.randint(5, vocabulary, (len(lengths), n), generator=torch.Generator().manual_seed(seed))
    is_padding = torch.arange(n)[None] >= torch.tensor(lengths)[:, None]
    return ids.masked_fill(is_padding, pad_id), is_padding


def largest_difference(ours, theirs, ids, is_padding):
    """max |ours − theirs| over maps of real queries, and over hidden states of real tokens."""
    with torch.inference_mode():
        mine = ours(ids, Mask.bidirectional().allowed(ids.size(1), is_padding))
        reference = theirs(ids, attention_mask=(~is_padding).long(), output_attentions=True)
    maps = torch.stack(reference.attentions)  # (L, B, h, N, N)
    assert mine.attention.shape == maps.shape
    real = ~is_padding
    rows = (mine.attention - maps).abs().amax(dim=(0, 2, 4))[real]  # of each real query
    return rows.max().item(), (mine.hidden - reference.last_hidden_state).abs()[real].max().item()


@pytest.mark.parametrize("batch_size", [1, 4])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", ENCODERS)
def test_random_checkpoints(tmp_path, kind, dtype, batch_size):
    config, model_class = small(kind)
    theirs = save_random(config, model_class, tmp_path).to(dtype)
    ours = load_folder(tmp_path).transformer.to(dtype)
    ids, is_padding = batch(LENGTHS[batch_size], 97, config.pad_token_id)
    assert max(largest_difference(ours, theirs, ids, is_padding)) <= BAR[dtype]


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert"])
def test_the_encoder_is_found_inside_a_model_with_a_head(tmp_path, kind):
    config, model_class = small(kind, "ForMaskedLM")
    theirs = save_random(config, model_class, tmp_path).base_model
    ids, is_padding = batch([9, 4], 97, config.pad_token_id)
    assert max(largest_difference(load_folder(tmp_path).transformer, theirs, ids, is_padding)) <= 1e-5


@pytest.fixture(scope="module")
def bert_base_folder(tmp_path_factory):
    """A random model of BERT-base's sizes, as transformers writes it: 3 of its 12 layers, which are all alike."""
    folder = tmp_path_factory.mktemp("bert-base-sized")
    return folder, save_random(transformers.BertConfig(num_hidden_layers=3), transformers.BertModel, folder)


@pytest.fixture(scope="module", params=[torch.float32, torch.float64], ids=["dtype0", "dtype1"])
def bert_base(bert_base_folder, request):
    """The number format, ours and theirs. Read from the disk once for each."""
    folder, theirs = bert_base_folder
    return request.param, load_folder(folder).transformer.to(request.param), theirs.to(request.param)


@pytest.mark.parametrize("batch_size", [1, 4])
def test_bert_base_sized(bert_base, batch_size):
    dtype, ours, theirs = bert_base
    ids, is_padding = batch(LENGTHS[batch_size], 30_000, 0)
    assert max(largest_difference(ours, theirs, ids, is_padding)) <= BAR[dtype]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("batch_size", [1, 4])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_built_in_model_with_its_real_weights(minilm_folder, dtype, batch_size, packed):
    ours = load_folder(minilm_folder).transformer.to(dtype)
    if packed:
        did_pack = pack(ours.blocks)
        assert did_pack is (dtype == torch.float32 and torch.backends.mkldnn.is_available())
        assert any(isinstance(m, PackedLinear) for m in ours.modules()) is did_pack
    theirs = transformers.BertModel.from_pretrained(minilm_folder, attn_implementation="eager", dtype=dtype).eval()
    ids, is_padding = batch([39, 20, 5, 2] if batch_size == 4 else [16], 30_000, 0)
    assert max(largest_difference(ours, theirs, ids, is_padding)) <= BAR[dtype]


def test_causal_maps_equal_those_of_a_bert_configured_as_decoder(tmp_path):
    config, _ = small("bert")
    config.is_decoder = True
    theirs = save_random(config, transformers.BertModel, tmp_path)
    checkpoint = load_folder(tmp_path)
    assert checkpoint.is_decoder
    ids, _ = batch([9], 97, 0)
    with torch.inference_mode():
        mine = checkpoint.transformer(ids, Mask.causal().allowed(9))
        reference = theirs(ids, output_attentions=True, use_cache=False)
    assert (mine.attention - torch.stack(reference.attentions)).abs().max() <= 1e-5


def test_token_types_reach_the_embeddings(tmp_path):
    config, model_class = small("bert")
    theirs = save_random(config, model_class, tmp_path)
    ours = load_folder(tmp_path).transformer
    ids, _ = batch([8], 97, 0)
    types = torch.tensor([[0, 0, 0, 0, 1, 1, 1, 1]])
    with torch.inference_mode():
        mine = ours(ids, token_types=types)
        reference = theirs(ids, token_type_ids=types)
        assert (mine.hidden - reference.last_hidden_state).abs().max() <= 1e-5
        assert (mine.hidden - ours(ids).hidden).abs().max() > 1e-3

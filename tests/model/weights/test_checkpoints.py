"""model.weights.checkpoints: what is read, and the sentence for everything that can't be."""

import hashlib
import json
import shutil

import pytest
import torch

from model import HeadworkError
from model.weights.checkpoints import load_folder, read_config, transformer_folder
from tests.model.random_checkpoints import edit_config, edit_weights

transformers = pytest.importorskip("transformers")

PUBLISHED = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def test_the_built_in_folder_is_a_bert_with_the_published_weights(minilm_folder):
    checkpoint = load_folder(minilm_folder, expected_sha256=PUBLISHED)
    assert checkpoint.architecture == "bert"
    assert checkpoint.sha256 == PUBLISHED
    assert not checkpoint.is_decoder
    config = checkpoint.config
    assert (config.num_layers, config.num_heads, config.d_model, config.d_ff) == (6, 12, 384, 1536)
    assert (config.vocab_size, config.max_tokens, config.norm, config.activation) == (30_522, 512, "post", "gelu")
    assert not checkpoint.transformer.training
    assert all(p.dtype == torch.float32 and not p.requires_grad for p in checkpoint.transformer.parameters())


def test_other_weights_than_expected_are_refused(bert):
    with pytest.raises(HeadworkError, match="not the published ones"):
        load_folder(bert, expected_sha256=PUBLISHED)


def test_the_hash_is_that_of_the_file(bert):
    assert load_folder(bert).sha256 == hashlib.sha256((bert / "model.safetensors").read_bytes()).hexdigest()


def test_half_precision_weights_are_read_as_float32(folder):
    full = load_folder(folder).transformer
    edit_weights(folder, lambda t: t.update({k: v.to(torch.bfloat16) for k, v in t.items()}))
    half = load_folder(folder).transformer
    for (name, a), b in zip(full.state_dict().items(), half.state_dict().values(), strict=True):
        assert b.dtype == torch.float32, name
        torch.testing.assert_close(b, a.to(torch.bfloat16).float(), rtol=0, atol=0)


def test_shards_are_read_together(bert, folder, tmp_path):
    model = transformers.BertModel.from_pretrained(folder)
    sharded = tmp_path / "sharded"
    model.save_pretrained(sharded, max_shard_size="6KB")
    assert len(list(sharded.glob("model-*.safetensors"))) > 1
    assert not (sharded / "model.safetensors").exists()
    a, b = load_folder(folder), load_folder(sharded)
    for (name, x), y in zip(a.transformer.state_dict().items(), b.transformer.state_dict().values(), strict=True):
        assert x.equal(y), name
    assert a.sha256 != b.sha256
    assert len(b.sha256) == 64

    first = sorted(sharded.glob("model-*.safetensors"))[0]
    first.unlink()
    with pytest.raises(HeadworkError, match=f"names the file {first.name}, which is not in the folder"):
        load_folder(sharded)


def test_an_index_can_not_point_outside_its_folder(folder):
    secret = folder.parent / "elsewhere.safetensors"
    shutil.move(folder / "model.safetensors", secret)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "../elsewhere.safetensors"}}))
    with pytest.raises(HeadworkError, match="not in the folder"):
        load_folder(folder)


@pytest.mark.parametrize("content", ["", "[]", '{"weight_map": 3}', '{"weight_map": {"a": 1}}', "{"])
def test_a_broken_index(folder, content):
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(content)
    with pytest.raises(HeadworkError):
        load_folder(folder)


def test_names_of_old_checkpoints(folder):
    def old(tensors):
        for name in [n for n in tensors if "LayerNorm" in n]:
            renamed = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
            tensors[f"bert.{renamed}"] = tensors.pop(name)
        tensors["embeddings.position_ids"] = torch.arange(20)[None]

    expected = load_folder(folder).transformer.state_dict()
    edit_weights(folder, old)
    assert all(value.equal(expected[name]) for name, value in load_folder(folder).transformer.state_dict().items())


def test_a_missing_tensor_is_named(folder):
    edit_weights(folder, lambda t: t.pop("encoder.layer.1.attention.self.key.bias"))
    with pytest.raises(HeadworkError, match=r"lack 1 tensors .*encoder\.layer\.1\.attention\.self\.key\.bias"):
        load_folder(folder)


def test_a_surplus_tensor_is_named(folder):
    edit_weights(folder, lambda t: t.update({"encoder.layer.7.output.dense.bias": torch.zeros(24)}))
    with pytest.raises(HeadworkError, match=r"hold 1 tensors .*encoder\.layer\.7\.output\.dense\.bias"):
        load_folder(folder)


def test_a_tensor_of_another_shape_is_named_with_both_shapes(folder):
    edit_config(folder, intermediate_size=48)
    with pytest.raises(HeadworkError, match=r"intermediate\.dense\.weight has the shape \(32, 24\).*\(48, 24\)"):
        load_folder(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "bloom"}, "architecture bloom is not supported. These are: bert"),
        ({"model_type": ...}, "config.json has no entry model_type"),
        ({"position_embedding_type": "relative_key"}, "relative_key"),
        ({"hidden_act": "silu"}, "activation silu"),
        ({"hidden_act": ["gelu"]}, "activation"),
        ({"num_attention_heads": 5}, "24 can't be split over 5 heads"),
        ({"hidden_size": ...}, "no entry hidden_size"),
        ({"hidden_size": "wide"}, "d_model is 'wide'"),
        ({"hidden_size": None}, "d_model is None"),
        ({"num_hidden_layers": 0}, "num_layers is 0"),
        ({"vocab_size": -4}, "vocab_size is -4"),
        ({"vocab_size": 0}, "no vocabulary"),
        ({"pad_token_id": "x", "model_type": "roberta"}, "config.json"),
        ({"layer_norm_eps": "small"}, "layer_norm_eps"),
        ({"hidden_size": 24.0}, "d_model is 24.0"),
        ({"num_hidden_layers": 10**9}, "num_layers"),
    ],
)
def test_configs_that_can_not_be_used(folder, changes, message):
    edit_config(folder, **changes)
    with pytest.raises(HeadworkError, match=message):
        load_folder(folder)


@pytest.mark.parametrize("content", [b"", b"{", b"[1, 2]", b"\xff\xfe\x00", b"null"])
def test_a_config_that_is_no_json_object(folder, content):
    (folder / "config.json").write_bytes(content)
    with pytest.raises(HeadworkError):
        load_folder(folder)


def test_a_folder_that_is_not_there_and_one_without_a_config(tmp_path):
    with pytest.raises(HeadworkError, match="There is no folder"):
        load_folder(tmp_path / "nowhere")
    with pytest.raises(HeadworkError, match=r"has no config\.json"):
        read_config(tmp_path)


def test_a_folder_without_weights_and_one_with_pickles_only(folder):
    (folder / "model.safetensors").unlink()
    with pytest.raises(HeadworkError, match=r"no weights: model\.safetensors is missing"):
        load_folder(folder)
    (folder / "pytorch_model.bin").write_bytes(b"never opened")
    with pytest.raises(HeadworkError, match="pickled weights, which can run code"):
        load_folder(folder)


@pytest.mark.parametrize("keep", [0, 4, 100, 0.5, -1])
def test_truncated_weights(folder, keep):
    path = folder / "model.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * keep) if isinstance(keep, float) else keep])
    with pytest.raises(HeadworkError, match=r"model\.safetensors are damaged or incomplete"):
        load_folder(folder)


MODULES = [
    {"idx": 0, "name": "0", "path": "0_Transformer", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
]


def test_sentence_transformers_folders_of_both_layouts(folder, tmp_path):
    (folder / "modules.json").write_text(json.dumps(MODULES))
    assert transformer_folder(folder) == folder  # the newer layout: the Transformer lies at the top
    older = tmp_path / "older"
    older.mkdir()
    shutil.move(folder, older / "0_Transformer")
    shutil.move(older / "0_Transformer" / "modules.json", older / "modules.json")
    assert load_folder(transformer_folder(older)).config.d_model == 24


@pytest.mark.parametrize("content", ["", "{}", "[1]", '[{"type": "x.Transformer"}]', "[{}]"])
def test_a_broken_modules_file(tmp_path, content):
    (tmp_path / "modules.json").write_text(content)
    with pytest.raises(HeadworkError):
        read_config(transformer_folder(tmp_path))


def test_a_modules_file_can_not_point_outside_its_folder(folder):
    outside = folder.parent / "outside"
    outside.mkdir()
    modules = [{**MODULES[0], "path": "../copy"}]
    (outside / "modules.json").write_text(json.dumps(modules))
    assert transformer_folder(outside) == outside

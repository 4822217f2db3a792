"""Files read back and equal the arrays; no token can break a row or run in a spreadsheet."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.maps.export import MOST_ROWS, csv_bytes, csv_text, npz_bytes, provenance, read_csv, tidy
from analysis.maps.metrics import METRICS
from analysis.maps.patterns import metrics_table
from analysis.maps.readings import value_norms
from analysis.words.units import by_pieces, by_words
from model import HeadworkError
from model.version import app_version
from tests.analysis.made import tokens_of, trace_of

HARD = [
    "=1+1",
    "-2",
    "+3",
    "@SUM(A1)",
    "'=1",
    "'s",
    "a,b",
    'say "hi"',
    "two\nlines",
    "\rtab\t",
    "##s",
    "# note",
    "NA",
    "2009",
    "",
    " =x",
    "＝1",
    "猫;",
]


def hard_trace(labels):
    n_tokens = len(labels)
    tokens = replace(tokens_of(*"w" * n_tokens), labels=tuple(labels))
    maps = np.random.default_rng(0).dirichlet(np.ones(n_tokens), size=(2, 2, n_tokens))
    return trace_of(maps, tokens, np.tri(n_tokens, dtype=bool))


def test_csv_reads_back_and_equals_the_arrays(minilm):
    trace = minilm.trace("The cat, =1+1, sat # on the mat; argentinian \u2028 猫.", "causal")
    units = by_pieces(trace)
    source = provenance(trace, reading="raw", head="4-2")
    table, read_source = read_csv(csv_bytes(tidy(units), source))
    assert read_source == source
    n_tokens = trace.n_tokens
    assert len(table) == 72 * n_tokens**2
    np.testing.assert_array_equal(table["weight"].to_numpy(np.float32).reshape(trace.attention.shape), trace.attention)
    np.testing.assert_array_equal(table["allowed"][: n_tokens**2].to_numpy().reshape(n_tokens, n_tokens), trace.allowed)
    row = table[(table["layer"] == 4) & (table["head"] == 2) & (table["query"] == 3) & (table["key"] == 1)].iloc[0]
    assert (row["query_token"], row["key_token"]) == (trace.tokens[3], trace.tokens[1])
    assert np.float32(row["weight"]) == trace.attention[3, 1, 3, 1]


def test_plain_pandas_reads_it_too(minilm):
    trace = minilm.trace('Cats, dogs ## and "more".')
    table = tidy(by_words(trace), [(3, 1)])
    read = pd.read_csv(io.BytesIO(csv_bytes(table, provenance(trace))), comment="#")
    np.testing.assert_allclose(read["weight"], table["weight"], rtol=1e-6)
    assert read["query_token"].tolist() == table["query_token"].tolist()
    assert list(read.columns) == ["layer", "head", "query", "query_token", "key", "key_token", "weight", "allowed"]


def test_hard_tokens_come_back_and_none_starts_a_formula():
    trace = hard_trace(HARD)
    text = csv_text(tidy(by_pieces(trace), [(1, 0)]), provenance(trace))
    table, _ = read_csv(text)
    assert table["key_token"].tolist()[: len(HARD)] == HARD
    assert table["query_token"].tolist()[:: len(HARD)] == HARD
    for cell in (cell for row in csv.reader(io.StringIO(text)) for cell in row):
        assert cell.lstrip()[:1] not in ("=", "+", "@", "＝"), cell
        assert not cell.startswith(("\t", "\r"))


@given(
    st.lists(
        st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=6), min_size=1, max_size=4
    )
)
def test_any_labels_and_any_text_come_back(labels):
    trace = hard_trace(labels)
    source = {**provenance(trace), "text": "".join(labels)}
    table, read_source = read_csv(csv_bytes(tidy(by_pieces(trace)), source))
    assert read_source == source
    assert table["key_token"].tolist()[: len(labels)] == labels


def test_a_text_in_the_header_stays_in_its_line_and_cell():
    trace = hard_trace(["a"])
    text = csv_text(tidy(by_pieces(trace)), {"text": "x,=1+1\n=2;=3\t=4"})
    line = text.split("\n")[0]
    assert line == '# text: "x\\u002c=1+1\\n=2\\u003b=3\\t=4"'
    assert json.loads(line.removeprefix("# text: ")) == "x,=1+1\n=2;=3\t=4"


def test_the_table_of_metrics_reads_back(minilm):
    trace = minilm.trace("The cat sat on the mat.", "causal")
    table = metrics_table(by_words(trace))
    read, _ = read_csv(csv_text(table, provenance(trace)))
    assert read["name"].tolist() == table["name"].tolist()
    assert read["patterns"].tolist() == ["; ".join(titles) for titles in table["patterns"]]
    for name in METRICS:
        np.testing.assert_array_equal(read[name].to_numpy(float), table[name].to_numpy(float))
    assert read["next_mass"].isna().all()  # a causal mask hides every next word


def test_too_many_rows_are_refused_with_a_way_out(minilm):
    trace = minilm.trace("word " * 600)
    with pytest.raises(HeadworkError, match=r"72 heads of 512 tokens make 18874368 rows.*NPZ"):
        tidy(by_pieces(trace))
    assert len(tidy(by_pieces(trace), [(0, 0)])) == 512**2 < MOST_ROWS


@pytest.mark.parametrize("text", ["The cat sat.", "word " * 600])  # compressed, and too large to be worth it
def test_npz_holds_everything(minilm, text):
    trace = minilm.trace(text, "causal")
    norms = value_norms(minilm, trace.text, trace.mask)
    source = provenance(trace)
    with np.load(io.BytesIO(npz_bytes(trace, source, norms)), allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["attention"], trace.attention)
        assert arrays["attention"].dtype == np.float32
        assert tuple(arrays["tokens"].tolist()) == trace.tokens
        assert tuple(arrays["pieces"].tolist()) == trace.tokenized.pieces
        assert arrays["word_ids"][:2].tolist() == [-1, 0]
        assert arrays["is_special"].tolist() == list(trace.tokenized.is_special)
        np.testing.assert_array_equal(arrays["mask"], trace.allowed)
        np.testing.assert_array_equal(arrays["value_norms"], norms)
        assert json.loads(str(arrays["provenance"])) == source


def test_provenance_names_model_weights_mask_text_and_version(minilm):
    source = provenance(minilm.trace("He sang.", "causal"), reading="norm")
    assert source == {
        "app": f"Headwork {app_version()}",
        "model": "MiniLM-L6 (built in)",
        "model_id": "minilm",
        "weights_sha256": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "mask": "causal",
        "text": "He sang.",
        "reading": "norm",
    }
    assert app_version()[0].isdigit()
    assert provenance(hard_trace(["a"]))["weights_sha256"] == "none: untrained"

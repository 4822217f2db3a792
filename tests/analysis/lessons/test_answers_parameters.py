"""Parameters of published models, by the formulas that a class writes down."""

import pytest

from analysis.lessons.answers.parameters import (
    all_parameters,
    attention_parameters,
    cache_saved,
    embedding_share,
    ffn_to_attention,
    heaviest_part,
)
from analysis.lessons.setup import Setup
from model import HeadworkError

BERT, MULTILINGUAL, MISTRAL = "bert-base-uncased", "bert-base-multilingual-cased", "mistralai/Mistral-7B-v0.1"
ATTENTION = 4 * 768**2 + 4 * 768
FFN = 2 * 768 * 3072 + 3072 + 768
NORMS = 2 * 2 * 768
EMBEDDINGS = (30522 + 512 + 2) * 768 + 2 * 768
POOLER = 768**2 + 768


def test_attention_and_ffn_of_bert_base():
    assert attention_parameters(Setup(), config=BERT).right == pytest.approx(ATTENTION / 1e6)
    assert ffn_to_attention(Setup(), config=BERT).right == pytest.approx(FFN / ATTENTION)


def test_all_of_bert_base_is_109_5_million_with_its_pooler():
    body = 12 * (ATTENTION + FFN + NORMS) + EMBEDDINGS
    assert all_parameters(Setup(), config=BERT).right == pytest.approx(body / 1e6)
    assert all_parameters(Setup(), config=BERT, pooler=True).said["count"] == f"{body + POOLER:,}" == "109,482,240"


def test_the_ffns_weigh_most_and_the_parts_add_up():
    found = heaviest_part(Setup(), config=BERT)
    assert found.right == "ffn"
    assert found.said["ffn"] == f"{12 * FFN / 1e6:.1f}"
    parts = sum(float(found.said[part]) for part in ("embeddings", "attention", "ffn", "rest"))
    assert parts == pytest.approx((12 * (ATTENTION + FFN + NORMS) + EMBEDDINGS) / 1e6, abs=0.2)


def test_half_of_multilingual_bert_is_embeddings():
    embeddings = (119547 + 512 + 2) * 768 + 2 * 768
    share = embeddings / (12 * (ATTENTION + FFN + NORMS) + embeddings)
    assert embedding_share(Setup(), config=MULTILINGUAL).right == pytest.approx(100 * share)


def test_eight_key_heads_for_32_query_heads_keep_a_quarter():
    found = cache_saved(Setup(), config=MISTRAL, tokens=4096)
    assert found.right == 4
    assert found.said["grouped"] == f"{2 * 32 * 8 * 128 * 2 * 4096 / 1e6:.0f}"  # K and V, layers, heads, d_k, bytes, N


def test_a_config_that_is_not_there_is_named():
    with pytest.raises(HeadworkError, match="no-such-model"):
        all_parameters(Setup(), config="no-such-model")

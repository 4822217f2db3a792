"""Parameters and cost: sizes, presets, impossible sizes, counts beside formulas, the measurement."""

import json

import pytest

from analysis.blocks.known_configs import known_config
from analysis.blocks.ledger import ledger
from ui.cost import several

TABS = ["Parameters", "One head or several", "Longer sentences", "What the paper measured"]


@pytest.fixture
def cost(app, monkeypatch):
    measured = several.time_heads
    monkeypatch.setattr(several, "time_heads", lambda *sizes: measured(*sizes, longest=0.02))
    several.measure.clear()

    class Cost:
        def __init__(self):
            self.app = app

        def open(self, tab=TABS[0], **link):
            app.open_page("cost", **link)
            return self.tab(tab) if tab != TABS[0] else self

        def tab(self, name):
            app.test.session_state["cost_tab_tabs_en"] = name
            app.run()
            return self

        @property
        def metrics(self):
            return [metric.value for metric in app.test.metric]

        def table(self):
            return app.test.dataframe[0].value

    return Cost()


def test_opens_on_bert_base_and_agrees_with_it_to_the_last_parameter(cost):
    cost.open()
    assert cost.metrics == ["2.36 M", "4.72 M", "7.09 M", "23.8 M", "109 M"]
    assert "Formula and count agree to the last parameter: 109,482,240." in cost.app.words
    table = cost.table()
    assert (table["by formula"] == table["counted"]).all()
    assert table["total"].iloc[-1] == table["total"].iloc[:-1].sum() == 109_482_240


@pytest.mark.parametrize(
    "model_id", ["minilm", "bert-base-cased", "bert-base-chinese", "bert-base-multilingual-cased", "toy"]
)
def test_any_model_of_the_catalogue_by_its_config_alone(cost, model_id, forwards):
    cost.open()
    forwards.clear()  # the page Attention opens first
    cost.app.pick("cost_preset", model_id)
    total = ledger(known_config(model_id), pooler=True).total
    assert f"to the last parameter: {total:,}." in cost.app.words
    assert cost.app.value("cost_preset") == model_id
    assert not forwards


def test_a_changed_size_is_no_longer_that_model(cost):
    cost.open()
    cost.app.pick("cost_layers", 6)
    assert cost.app.value("cost_preset") == "own"
    assert cost.table()["×"].max() == 6
    cost.app.pick("cost_layers", 12)
    assert cost.app.value("cost_preset") == "bert-base-uncased"


def test_bias_swiglu_and_pooler_move_the_ledger(cost):
    cost.open()
    before = cost.table()["total"].iloc[-1]
    cost.app.pick("cost_pooler", False)
    assert before - cost.table()["total"].iloc[-1] == 590_592
    cost.app.pick("cost_attention_bias", "none")
    assert "4·d_model²" in set(cost.table()["formula"])
    cost.app.pick("cost_ffn_bias", False)
    cost.app.pick("cost_swiglu", True)
    assert "3·d_model·d_ff" in set(cost.table()["formula"])


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("heads", 7, "d_model 768 can't be split over 7 heads"),
        ("d_model", 0, "d_model is 0"),
        ("heads", 0, "num_heads is 0"),
        ("d_ff", -1, "d_ff is -1"),
        ("layers", -1, "num_layers is -1"),
        ("layers", 10**9, "num_layers is 1000000000"),
        ("vocabulary", 10**12, "vocab_size is"),
        ("positions", -5, "it can't be below 0"),
        ("d_model", 65_536 - 65_536 % 12, "more than any model"),
    ],
)
def test_impossible_sizes_say_why_and_keep_the_rest(cost, name, value, said):
    cost.open()
    if said == "more than any model":
        cost.app.pick("cost_layers", 512)
    before = cost.metrics
    cost.app.pick(f"cost_{name}", value)
    (error,) = cost.app.errors
    assert said in error and "Below: still d_model" in error
    assert cost.metrics == before


def test_eight_heads_cost_no_more_than_one_by_proof_count_and_measurement(cost):
    cost.open(TABS[1], d_model="512", heads="8", d_ff="2048", n="10")
    latex = " ".join(latex.value for latex in cost.app.test.get("latex"))
    assert r"8 \cdot 10^2 \cdot 64 = 51{,}200" in latex and r"1 \cdot 10^2 \cdot 512 = 51{,}200" in latex
    table = cost.table()
    assert (table["h = 1"] == table["h = 8"]).all() and (table["by formula"] == table["h = 8"]).all()
    assert "8 heads: " in cost.app.words and "Medians of " in cost.app.words
    assert "100 with one head and 800 with 8" in cost.app.words
    assert cost.app.figures()


def test_what_is_too_much_to_time_is_said_and_still_counted(cost):
    cost.open(TABS[1], n="4096")
    assert "too much work to time on a page" in cost.app.words
    assert (cost.table()["h = 1"] == cost.table()["by formula"]).all()


@pytest.mark.parametrize("n", ["0", "-4", "1000000"])
def test_an_impossible_number_of_tokens(cost, n):
    cost.open(TABS[1], n=n)
    assert "N is" in cost.app.errors[0]


def test_measuring_again_measures_again(cost, monkeypatch):
    cost.open(TABS[1], d_model="64", heads="4")
    ran = []
    original = several.time_heads
    monkeypatch.setattr(several, "time_heads", lambda *sizes: ran.append(sizes) or original(*sizes))
    cost.app.run()
    assert not ran
    next(button for button in cost.app.test.button if button.label == "Measure again").click()
    cost.app.run()
    assert len(ran) == 1


def test_growth_says_where_the_costs_cross(cost):
    cost.open(TABS[2])
    assert "2·d_model = 1,536, and all the rest at N = 4,608" in cost.app.words
    assert len(cost.app.figures()) == 2


def test_the_papers_table_has_its_source(cost):
    cost.open(TABS[3])
    assert "Vaswani et al. 2017" in cost.app.words and "newstest2013" in cost.app.words


def test_wrong_link_values_become_defaults(cost):
    cost.open(d_model="<script>", heads="", attention_bias="maybe", n="many", layers="1e3")
    assert cost.metrics[-1] == "109 M" and not cost.app.errors


def test_a_limited_server_offers_only_its_models(cost, monkeypatch):
    monkeypatch.setenv("HEADWORK_MODELS", "minilm")
    cost.open()
    assert "bert-base-cased" not in cost.app.test.get_by_key("cost_preset").options


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_no_column_header_of_the_ledger_is_cut_and_the_columns_fit_on_a_laptop(cost, lang):
    cost.open(lang=lang)
    widths = {
        name: column["width"]
        for name, column in json.loads(cost.app.test.dataframe[0].proto.columns).items()
        if name in cost.table().columns
    }
    assert len(widths) == 7 and sum(widths.values()) <= 916  # at 1280 pixels, beside the sidebar
    for name, width in widths.items():
        letters = sum(2 if letter > "\u2e7f" else 1 for letter in name)
        assert 7 * letters + 16 <= width, name  # at 14 pixels a letter takes 6 to 7, and the cell 8 at each side


SMOLLM2 = {
    **{"d_model": "576", "heads": "9", "key_heads": "3", "d_ff": "1536", "layers": "30", "vocabulary": "49152"},
    **{"positions": "0", "types": "0", "norms": "rms", "attention_bias": "none", "ffn_bias": "0", "output": "tied"},
    **{"swiglu": "1", "embedding_norm": "0", "final_norm": "1", "pooler": "0"},
}


def test_a_decoders_sizes_come_from_a_link(cost):
    cost.open(**SMOLLM2)
    assert "Formula and count agree to the last parameter: 134,515,008." in cost.app.words
    assert cost.metrics == ["885 k", "2.65 M", "3.54 M", "28.3 M", "135 M", "23 kB"]
    by_part = dict(zip(cost.table()["part"], cost.table()["formula"], strict=True))
    assert by_part["multi-head attention"] == "2·d_model·d_k·(h + h_kv)"
    assert by_part["RMSNorms of a block"] == "2·d_model" and by_part["output matrix"] == "tied: 0"


def test_grouped_queries_shrink_the_projections_and_nothing_else(cost):
    cost.open(TABS[1], **SMOLLM2)
    table = cost.table().set_index("FLOP")
    assert (table["by formula"] == table["h = 9, h_kv = 3"]).all()
    assert (table["h = 1"] == table["h = 9"]).all()
    fewer = table["h = 9"] - table["h = 9, h_kv = 3"]
    assert set(fewer[fewer > 0].index) == {"projections", "all"}
    assert "with 3 key heads for 9 query heads" in cost.app.words


def test_the_cache_a_token_with_and_without_grouped_queries(cost):
    cost.open(TABS[2], **SMOLLM2)
    assert (
        "2·30·3·64·2 = 23,040 bytes a token. With a key head for each of the 9 query heads: 69,120, 3" in cost.app.words
    )
    cost.app.pick("cost_bytes", 4)
    assert "2·30·3·64·4 = 46,080 bytes a token" in cost.app.words and cost.metrics[-1] == "46.1 kB"
    assert [trace["name"] for trace in cost.app.figures()[1]["data"]][1:] == [
        "keys and values",
        "9 key heads instead of 3",
    ]


def test_an_encoder_keeps_no_keys_and_values(cost):
    cost.open(TABS[2])
    assert "bytes a token" not in cost.app.words and len(cost.metrics) == 5


def test_key_heads_that_do_not_divide_the_heads_say_so(cost):
    cost.open(**{**SMOLLM2, "key_heads": "4"})
    assert "9 query heads can't share 4 key heads" in cost.app.errors[0]


def paste(cost, text):
    cost.app.pick("cost_json", text)
    next(button for button in cost.app.test.button if button.label == "Take these sizes").click()
    cost.app.run()


def test_a_pasted_config_is_taken_apart(cost):
    cost.open()
    sizes = {"vocab_size": 100, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3}
    paste(cost, json.dumps({"model_type": "bert", **sizes, "intermediate_size": 20, "max_position_embeddings": 9}))
    assert cost.app.value("cost_preset") == "pasted" and cost.app.value("cost_heads") == 3
    assert "Formula and count agree" in cost.app.words and not cost.app.errors
    cost.app.pick("cost_layers", 3)
    assert cost.app.value("cost_preset") == "own"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "can't be read as a config.json"),
        ("{", "can't be read as a config.json"),
        ("[1]", "can't be read as a config.json (list)"),
        ("9" * 200_000, "can't be read as a config.json (200000 letters)"),
        ('{"hidden_size": 8}', "has no entry model_type"),
        ('{"model_type": "mixtral", "num_local_experts": 8}', "The architecture mixtral is not supported"),
        ('{"model_type": "bloom"}', "The architecture bloom is not supported"),
        ('{"model_type": "bert", "hidden_size": 8}', "has no entry vocab_size"),
        ('{"model_type": "bert", "vocab_size": 9, "hidden_size": "x"}', "config.json has"),
    ],
)
def test_what_cannot_be_taken_apart_says_why_and_changes_nothing(cost, text, said):
    cost.open()
    before = cost.metrics
    paste(cost, text)
    (error,) = cost.app.errors
    assert said in error and cost.metrics == before and cost.app.value("cost_preset") == "bert-base-uncased"

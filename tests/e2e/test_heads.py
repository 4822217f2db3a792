"""The page of heads in a real browser: from a relation to a head's card to a sentence, and a run that is stopped."""

from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from model import HeadworkError
from tests.e2e.conftest import complete, settled, widest
from tests.models import load


def opened(page: Page, server: str, query: str = "") -> None:
    page.goto(f"{server}/heads{query}")
    settled(page)
    expect(page.locator(".st-key-heads_grid .heatmaplayer .hm").first).to_be_attached(timeout=60_000)


def link(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def choose(page: Page, key: str, option: str) -> None:
    page.locator(f".st-key-{key}").get_by_role("combobox").click()
    page.keyboard.type(option)
    page.get_by_role("option").first.click()
    settled(page)


def tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name).click()
    settled(page)


def click_cell(page: Page, layer: int, head: int) -> None:
    """Clicks the cell of a head, counted from 1, in the main picture."""
    cell = page.locator(".st-key-heads_grid .scatterlayer .points path").nth((layer - 1) * 12 + head - 1)
    box = cell.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    settled(page)


def test_from_a_relation_to_a_head_card_to_a_sentence(page: Page, server: str):
    page.set_viewport_size({"width": 1280, "height": 720})
    opened(page, server)
    grid = page.locator(".st-key-heads_grid")
    assert grid.bounding_box()["y"] + 0.9 * grid.bounding_box()["height"] < 720, "the picture needs scrolling"
    expect(page.get_by_text("Head 3-1 gets 75 %")).to_be_visible()

    choose(page, "heads_relation", "det:")
    expect(page.get_by_text("Head 3-9 gets 80 %")).to_be_visible()
    assert (link(page)["relation"], link(page).get("at", "3-9")) == ("det", "3-9")

    click_cell(page, 3, 2)
    assert link(page)["at"] == "3-2"
    page.locator(".st-key-heads_pick_3-9 button").click()
    settled(page)
    assert link(page).get("at", "3-9") == "3-9"

    tab(page, "Head card")
    expect(page.get_by_text("A head is not a fixed label")).to_be_visible()
    expect(page.get_by_text("of its arrows join words that no arc links")).to_be_visible()

    tab(page, "In a sentence")
    expect(page.locator(".st-key-heads_arcs .scatterlayer").first).to_be_attached()
    expect(page.get_by_text("right here.")).to_be_visible()
    page.get_by_text("Switch each head off").click()
    settled(page)
    expect(page.locator(".st-key-heads_used_figure .scatterlayer .points path")).to_have_count(72, timeout=60_000)
    assert link(page)["view"] == "sentence"

    page.reload()
    settled(page)
    expect(page.get_by_text("Head 3-9 gets 80 %")).to_be_visible()
    expect(page.locator(".st-key-heads_arcs")).to_be_visible()


def test_pronouns_lead_to_4_2_on_gum_and_to_another_head_on_balanced_pairs(page: Page, server: str):
    opened(page, server, "?relation=coref-noun")
    expect(page.get_by_text("Head 4-2 gets 81 %")).to_be_visible()
    expect(page.get_by_text("GAP: 73 % of 300, best 4-2")).to_be_visible()
    choose(page, "heads_corpus", "Headwork")
    expect(page.get_by_text("Head 2-4 gets 88 %")).to_be_visible()


def test_a_run_is_stopped_and_another_one_is_finished(page: Page, server: str):
    opened(page, server, "?view=corpus")
    choose(page, "heads_upload_source", "Headwork's English")
    page.get_by_role("button", name="Score MiniLM-L6").click()
    stop = page.get_by_test_id("stMain").get_by_role("button", name="Stop", exact=True)  # Streamlit has its own above
    stop.click(timeout=60_000)
    settled(page)
    expect(page.get_by_text("Scored in this session")).to_have_count(0)
    assert link(page).get("corpus", "ud") == "ud"

    page.get_by_role("button", name="Score MiniLM-L6").click()
    expect(page.get_by_text("Scored in this session")).to_be_visible(timeout=120_000)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download Headwork's English").click()
    assert download.value.suggested_filename.endswith(".json")


def test_nothing_scrolls_sideways_on_a_phone(page: Page, server: str):
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, server)
    for tab in page.get_by_role("tab").all():
        tab.click()
        complete(page)
        assert widest(page) <= 390, tab.inner_text()


def test_the_picture_stands_on_a_phones_first_screen(page: Page, server: str):
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, server)
    box = page.locator(".st-key-heads_grid").bounding_box()
    assert box["y"] + box["height"] <= 844


def test_a_file_of_ones_own_is_uploaded_scored_and_chosen(page: Page, server: str, tmp_path):
    sentence = "\n".join(
        f"{i}\t{word}\t_\t{tag}\t_\t_\t{head}\t{deprel}\t_\t_"
        for i, (word, tag, head, deprel) in enumerate(
            [("The", "DET", 2, "det"), ("dog", "NOUN", 3, "nsubj"), ("barked", "VERB", 0, "root")], start=1
        )
    )
    file = tmp_path / "my dogs.conllu"
    file.write_text("\n\n".join([sentence] * 40 + ["1\tbroken"]) + "\n\n", encoding="utf-8")
    opened(page, server, "?view=corpus")
    page.locator(".st-key-heads_upload input[type=file]").set_input_files(file)
    expect(page.get_by_text("Read: 40 sentences with arcs")).to_be_visible()
    expect(page.get_by_text("1 sentence is broken and left out.")).to_be_visible()
    expect(page.get_by_text("my dogs.conllu, line")).to_be_visible()
    page.get_by_role("button", name="Score MiniLM-L6").click()
    expect(page.get_by_text("Scored in this session")).to_be_visible(timeout=60_000)
    assert link(page)["corpus"] == "my dogs.conllu"
    expect(page.get_by_text("of 40 determiners").first).to_be_visible()


def test_the_chinese_model_shows_its_144_heads_and_what_they_are_not_without_scrolling(page: Page, server: str):
    try:
        load("e5-small-4bit")
    except HeadworkError as error:
        pytest.skip(str(error))
    page.set_viewport_size({"width": 1280, "height": 720})
    opened(page, server, "?lang=zh&model=e5-small-4bit&text=小明把苹果递给了小红，因为她帮过他。")
    last = page.locator(".st-key-heads_grid .xaxislayer-above .xtick text").last
    expect(last).to_have_text("12")
    assert last.bounding_box()["y"] + last.bounding_box()["height"] < 720
    expect(page.locator(".st-key-heads_grid .scatterlayer .points path")).to_have_count(144)
    caution = page.get_by_text("这是性别匹配，不是理解。")
    assert caution.bounding_box()["y"] + caution.bounding_box()["height"] < 720
    click_cell(page, 8, 5)
    assert link(page)["at"] == "8-5"

    tab(page, "句中表现")
    words = page.locator(".st-key-heads_arcs text")
    for word in ("爸爸", "妈妈", "他"):
        expect(words.filter(has_text=word).first).to_be_attached()
    choose(page, "heads_relation", "obj")
    expect(page.get_by_text("头 8-5 答对 190 个宾语中的 73 %")).to_be_visible()
    assert link(page)["relation"] == "obj" and "corpus" not in link(page)  # the first corpus, the Chinese treebank

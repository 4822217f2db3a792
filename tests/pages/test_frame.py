"""The frame around the pages: shared controls where they act, the chosen head, what the link of each page keeps."""

import pytest

from tests.pages.conftest import ROOT, App
from ui.frame import links
from ui.frame.shell import APART, MENU

PAGES = [name for pages in MENU.values() for name in pages]
SHOWN = {
    "heads": ["Model"],
    "effects": ["Model"],
    "inside": ["Mask"],
    "cost": [],
    "learn": [],
    "lessons": [],
}  # at first; the others show all three


def shared(app) -> list[str]:
    sidebar = app.test.sidebar
    labels = [widget.label for widget in (*sidebar.text_area, *sidebar.selectbox)]
    return [name for name in ("Sentence", "Model", "Mask") if name in labels]


def test_every_page_file_stands_in_the_menu_or_is_opened_by_links_alone():
    assert sorted([*PAGES, *APART]) == sorted(path.stem for path in (ROOT / "pages").glob("[!_]*.py"))
    assert PAGES[0] == "attention"


@pytest.mark.parametrize("path", PAGES)
def test_a_page_shows_the_shared_controls_that_do_something_on_it_and_keeps_the_others(app, path):
    app.open(text="Two cats slept.", mask="causal+padding:8", large="on")
    app.test.switch_page(f"pages/{path}.py")
    app.run()
    assert shared(app) == SHOWN.get(path, ["Sentence", "Model", "Mask"])
    kept = {"text": "Two cats slept.", "mask": "causal+padding:8", "large": "on"}
    assert {name: app.link.get(name) for name in kept} == kept
    app.test.switch_page("pages/attention.py")
    app.run()
    assert shared(app) == ["Sentence", "Model", "Mask"]
    assert app.value("text") == "Two cats slept." and app.value("mask_padding") == 8
    assert "mask causal+padding:8 · N = 8" in app.words


def sizes(part, name=""):
    """Pixels of all letters in a figure's layout, in the order in which they stand."""
    if isinstance(part, dict):
        if name.endswith("font") and "size" in part:
            return [part["size"]]
        return [size for key, value in part.items() if key != "template" for size in sizes(value, key)]
    return [size for item in part for size in sizes(item, name)] if isinstance(part, list) else []


@pytest.mark.parametrize("path", [path for path in PAGES if path != "lessons"])  # its shelf has no figure
def test_large_text_from_a_link_enlarges_the_letters_of_all_figures_of_a_page(path):
    small, large = (App().open(**link) for link in ({"layer": "4"}, {"layer": "4", "large": "on"}))
    for opened in (small, large):
        opened.test.switch_page(f"pages/{path}.py")
        opened.run()
    pairs = list(zip(small.figures(), large.figures(), strict=True))
    assert pairs
    for before, after in pairs:
        of, now = (max(sizes(figure["layout"])) for figure in (before, after))
        assert now >= 1.2 * of, (before["layout"].get("title"), of, now)


def test_no_page_places_a_figure_past_the_large_text():
    placing = [
        str(path.relative_to(ROOT)) for path in (ROOT / "ui").rglob("*.py") if "plotly_chart" in path.read_text()
    ]
    assert placing == ["ui/frame/captions.py"]


def test_the_mask_of_the_status_line_is_said_in_chinese(app):
    assert "掩码 因果+填充:8 · N = 8" in app.open(text="Two cats slept.", mask="causal+padding:8", lang="zh").words
    assert "掩码 双向 ·" in app.pick("mask_base", "bidirectional").pick("mask_pads", False).words


@pytest.mark.parametrize(
    ("path", "choice", "expected"),
    [
        ("inside", {"inside_source": "sentence"}, ["Sentence", "Mask"]),
        ("inside", {"inside_source": "model"}, ["Sentence", "Model", "Mask"]),
        ("heads", {"heads_view_tabs_en": "In a sentence"}, ["Sentence", "Model", "Mask"]),
    ],
)
def test_a_mode_that_needs_them_shows_them(app, path, choice, expected):
    app.open()
    app.test.switch_page(f"pages/{path}.py")
    app.run()
    for key, value in choice.items():
        app.test.session_state[key] = value
    app.run()
    assert shared(app) == expected


def test_inside_a_block_shows_the_head_of_the_link_and_of_the_attention_page(app):
    app.open(layer="5", head="9")
    app.test.switch_page("pages/inside.py")
    app.run().pick("inside_source", "model")
    assert (app.value("layer_menu"), app.value("head_menu")) == (5, 9)
    app.pick("head_menu", 3)
    app.test.switch_page("pages/attention.py")
    app.run()
    assert (app.value("layer"), app.value("head")) == (5, 3)
    assert (app.link["layer"], app.link["head"]) == ("5", "3")


def test_after_a_change_of_language_a_reload_keeps_sentence_and_model(app):
    app.open().pick("lang", "zh")
    before = app.value("text"), app.value("model")
    again = type(app)().open(**app.link)
    assert (again.value("text"), again.value("model"), again.value("lang")) == (*before, "zh")


def test_what_a_page_started_ends_when_it_is_left(app):
    ended = []
    app.open()
    app.test.session_state["when_left"] = lambda: ended.append(1)
    app.run()
    assert not ended
    app.test.switch_page("pages/masks.py")
    app.run().run()
    assert ended == [1]


def test_back_to_the_usual_toy_shows_its_sizes(app, monkeypatch):
    app.open(model="toy").pick("toy_d_model", 64)
    assert "d_model=64" in app.link["model"]
    app.test.query_params["model"] = "toy"
    monkeypatch.setattr(links, "went_back", lambda: True)
    app.run()
    assert app.value("toy_d_model") == 32 and app.link["model"] == "toy"

"""When something goes wrong: one sentence instead of a traceback, everywhere. And what a session keeps alive."""

import ast
import gc
import weakref
from pathlib import Path

import pytest

from model import HeadworkError
from ui.attention import maps
from ui.frame import loading
from ui.masks import runs

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.stem for path in (ROOT / "pages").glob("[!_]*.py"))


def run(app):
    """One run; no box of Streamlit's with an exception in it."""
    app.test.run()
    assert not app.test.exception, app.test.exception
    return app


@pytest.mark.parametrize(
    "place",
    [
        "ui.attention.page.remarks.status",
        "ui.attention.page.heads_tab",
        "ui.attention.page.explorer_view.read_controls",
    ],
)
@pytest.mark.parametrize(
    ("error", "said"),
    [(ZeroDivisionError("secret"), "Something went wrong in the app"), (HeadworkError("No {x}.", x="$$"), "No $$.")],
)
def test_a_fault_inside_the_part_that_reruns_alone_is_one_sentence(app, monkeypatch, caplog, place, error, said):
    def fail(*args, **kwargs):
        raise error

    app.open()
    with monkeypatch.context() as broken:
        broken.setattr(place, fail)
        run(app)
    assert [text for text in app.errors if text.startswith(said)] and "secret" not in app.words
    assert ("secret" in caplog.text) is isinstance(error, ZeroDivisionError)
    assert "What does each head look at?" in app.words
    assert not run(app).errors


def test_every_fragment_of_the_app_is_a_told_one():
    """`st.fragment` stands in ui/frame/faults.py only: one that reruns alone runs outside the frame of the app."""
    found = [
        path.name
        for room in ("ui", "pages")
        for path in (ROOT / room).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "fragment"
    ]
    assert found == ["faults.py"]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("HEADWORK_MODELS", "minlm", "There is no model 'minlm'. Did you mean minilm?"),
        (
            "HEADWORK_MODELS",
            "/nowhere/at/all",
            "HEADWORK_MODELS names 'all', which isn't there. The server's log",
        ),
        ("HEADWORK_MODELS", ",", "HEADWORK_MODELS is ',', which names no model."),
        ("HEADWORK_THREADS", "auto", "HEADWORK_THREADS is 'auto', but it takes a whole number from 1 to 1024"),
        ("HEADWORK_THREADS", "0", "HEADWORK_THREADS is '0', but it takes a whole number from 1 to 1024"),
        ("HEADWORK_CACHE_MB", "256MB", "HEADWORK_CACHE_MB is '256MB', but it takes a number of megabytes"),
    ],
)
def test_a_setting_of_the_server_that_makes_no_sense_is_told(app, monkeypatch, name, value, said):
    monkeypatch.setenv(name, value)
    loading.models.clear()
    run(app)
    assert len(app.errors) == 1 and app.errors[0].startswith(said)
    assert "nowhere" not in app.words


def test_where_a_missing_folder_was_looked_for_is_in_the_log_alone_and_once(app, monkeypatch, caplog):
    monkeypatch.setenv("HEADWORK_MODELS", "minilm,/srv/models/missing/")
    for _ in range(2):
        run(app)
    assert caplog.text.count("names /srv/models/missing/, which isn't there") == 1
    assert "'missing'" in app.errors[0] and "/srv" not in app.words


@pytest.mark.parametrize("path", PAGES)
def test_a_session_keeps_no_trace_alive_that_the_cache_let_go(app, monkeypatch, path):
    made = []
    trace = loading.trace

    def seen(*args):
        found = trace(*args)
        made.extend([weakref.ref(found), weakref.ref(found.attention)])
        return found

    monkeypatch.setattr(loading, "trace", seen)
    app.open()
    if path != "attention":
        app.test.switch_page(f"pages/{path}.py")
    app.run()
    app.run()
    assert made
    for store in (loading.trace_cache, maps.readings, runs._results):
        store.clear()
    gc.unfreeze()  # a model may have been loaded, and its freeze kept what lived then
    gc.collect()
    assert not [type(found()) for found in made if found() is not None]

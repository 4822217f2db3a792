"""The app without a browser: AppTest from app.py, with a count of the forwards."""

import base64
import functools
import json
from pathlib import Path

import numpy as np
import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest

from model.transformer import Transformer
from ui.frame import loading
from ui.frame.languages import NO_WIDTH
from ui.inside import runs

ROOT = Path(__file__).parents[2]
INSIDE_TABS = {
    "steps": "Attention, step by step",
    "cell": "One cell",
    "block": "The block",
    "layers": "Heads and layers",
}
FAULT = "Something went wrong"  # the app answers a fault of its own with this sentence instead of a traceback


class App:
    """AppTest from app.py, with the words of these tests."""

    def __init__(self) -> None:
        self.test = AppTest.from_file(ROOT / "app.py", default_timeout=60)

    def open(self, **link: str) -> "App":
        for name, value in link.items():
            self.test.query_params[name] = value
        return self.run()

    def open_page(self, name: str, **link: str) -> "App":
        """Opens a page straight away, as a link to it does, without one on Attention before."""
        self.test.switch_page(f"pages/{name}.py")
        return self.open(**link)

    def run(self) -> "App":
        self.test.run()
        assert not self.test.exception, self.test.exception
        assert not [error.value for error in self.test.error if FAULT in error.value]
        return self

    def pick(self, key: str, value: object) -> "App":
        """Sets one control and runs."""
        self.test.get_by_key(key).set_value(value)
        return self.run()

    def value(self, key: str) -> object:
        return self.test.get_by_key(key).value

    @property
    def link(self) -> dict[str, str]:
        return {
            name: values if isinstance(values, str) else values[0] for name, values in self.test.query_params.items()
        }

    @property
    def words(self) -> str:
        """Everything that is written on the page, without the backslashes that keep it from being Markdown."""
        kinds = ("title", "markdown", "caption", "text", "warning", "error", "info")
        return _read("\n".join(element.value for kind in kinds for element in self.test.get(kind)))

    @property
    def errors(self) -> list[str]:
        return [_read(error.value) for error in self.test.error]

    def figures(self) -> list[dict]:
        """The figures as the browser gets them."""
        return [json.loads(chart.proto.spec) for chart in self.test.get("plotly_chart")]

    def head_map(self) -> np.ndarray:
        """The large map as the browser gets it, NaN where it is masked."""
        z = self.figures()[0]["data"][0]["z"]
        return np.frombuffer(base64.b64decode(z["bdata"]), z["dtype"]).reshape([int(n) for n in z["shape"].split(",")])


def _read(markdown: str) -> str:
    return markdown.replace("\\", "").replace(NO_WIDTH, "")


@pytest.fixture(scope="session", autouse=True)
def scanned_once():
    """Streamlit asks every installed package for components, for each AppTest anew: 0.18 s of the 0.24 s it takes."""
    once = functools.cache(manifest_scanner.scan_component_manifests)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", once)
        yield


@pytest.fixture
def app(monkeypatch, opened_before):
    monkeypatch.delenv("HEADWORK_MODELS", raising=False)
    loading.trace_cache.clear()
    return App()


@pytest.fixture
def opened_before(monkeypatch):
    """A server on which someone has opened the app: it runs app.py for every page. AppTest forgets that after each run,
    and then runs the page first and lets its guard start over, which loses clicks on buttons."""
    prepare = PagesManager.__init__

    def prepared(self, *args, **kwargs):
        PagesManager.uses_pages_directory = False
        prepare(self, *args, **kwargs)

    monkeypatch.setattr(PagesManager, "__init__", prepared)


@pytest.fixture
def forwards(monkeypatch):
    """(B, N) of every forward that ran."""
    ran = []
    forward = Transformer.forward

    def counted(self, ids, *args, **kwargs):
        ran.append(tuple(ids.shape))
        return forward(self, ids, *args, **kwargs)

    monkeypatch.setattr(Transformer, "forward", counted)
    return ran


@pytest.fixture
def inside(app):
    """The page, opened; `open` with a link's values as for App."""
    runs.records.clear()
    runs.stacks.clear()

    class Inside:
        def __init__(self):
            self.app = app

        def open(self, tab="steps", **link):
            app.open_page("inside", **link)
            return self.tab(tab) if tab != "steps" else self

        def tab(self, name):
            app.test.session_state["inside_tab_tabs_en"] = INSIDE_TABS[name]
            app.run()
            return self

        def set(self, **values):
            for name, value in values.items():
                app.test.session_state[f"inside_{name}"] = value
            app.run()
            return self

        def matrix(self, index=0):
            """The numbers of a figure's first heatmap, without the gaps between tiles."""
            z = app.figures()[index]["data"][0]["z"]
            values = np.frombuffer(base64.b64decode(z["bdata"]), z["dtype"])
            return values[~np.isnan(values)]

    return Inside()

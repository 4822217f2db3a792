"""What goes wrong in a part that reruns alone, and a download: shown, stopped, and taken up again."""

import pytest
from playwright.sync_api import Page, expect
from transformers import BertConfig, BertModel

from tests.e2e.conftest import drawn, running_app, settled
from tests.hub_stand_in import hub_stand_in
from tests.model.random_checkpoints import save_random

REPO = "someone/tiny-bert"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "teacher", "praised", "students", "because", "they", "."]


@pytest.fixture(scope="module")
def faults():
    with running_app("tests/e2e/apps/faults_app.py") as address:
        yield address


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("fault", "Something went wrong in the app, and the picture can't be drawn."),
        ("mistake", "That is $wrong$. Do the other."),
        ("absent", "someone/tiny-bert is not on this computer yet."),
    ],
)
def test_what_goes_wrong_in_a_part_that_reruns_alone_is_told(page: Page, faults: str, kind: str, said: str):
    page.goto(f"{faults}/?kind={kind}")
    expect(page.get_by_text("part 1")).to_be_visible(timeout=60_000)
    page.get_by_role("button", name="Go wrong").click()
    expect(page.get_by_text(said)).to_be_visible()
    expect(page.get_by_text("page 1")).to_be_visible()  # so the part did rerun alone
    expect(page.get_by_test_id("stException")).to_have_count(0)
    assert "secret" not in page.inner_text("body") and "Error" not in page.inner_text("body")


def test_a_download_shows_how_far_it_is_and_can_be_stopped_and_done_again(page: Page, tmp_path):
    sizes = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 2, "intermediate_size": 1024}
    save_random(BertConfig(vocab_size=len(WORDS), max_position_embeddings=40, **sizes), BertModel, tmp_path / "repo")
    (tmp_path / "repo" / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    with hub_stand_in(tmp_path / "repo", REPO) as hub:
        clean = {name: "" for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HUB_OFFLINE", "HF_TOKEN")}
        home = tmp_path / "home"
        with running_app(HF_ENDPOINT=hub.endpoint, HF_HOME=str(home), NO_PROXY="127.0.0.1", **clean) as address:
            page.goto(f"{address}/?model={REPO}")
            page.get_by_role("button", name="Ask the hub for its size").click(timeout=60_000)
            download = page.get_by_role("button", name="Download 13 MB")
            expect(download).to_be_visible()
            hub.pause = 0.25  # 13 MB take a quarter of a minute
            download.click()
            bar = page.get_by_role("progressbar")
            expect(bar).to_be_visible()
            expect(page.get_by_text("of 13 MB: model.safetensors")).to_be_visible()
            expect(page.get_by_text("2 MB of 13 MB: model.safetensors")).to_be_visible()
            page.get_by_test_id("stMain").get_by_role("button", name="Stop").click()
            expect(bar).to_have_count(0)
            expect(download).to_be_visible()
            settled(page)
            assert not list(home.rglob("*.safetensors"))  # nothing that looks finished
            hub.pause = 0.0
            download.click()
            drawn(page)
            expect(page.get_by_text(f"{REPO} · head")).to_be_visible()

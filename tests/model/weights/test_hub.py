"""model.weights.hub against a stand-in for the hub: huggingface_hub's own code runs, over real connections."""

import errno
import json
import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from model.errors import HeadworkError
from model.weights import hub, hub_cache
from tests.hub_stand_in import COMMIT, hub_stand_in

REPO = "someone/tiny-bert"
WEIGHTS = os.urandom(3_500_000)  # more than three chunks, so that progress and stopping show
SMALL = {
    "config.json": b'{"model_type": "bert"}',
    "tokenizer.json": b"{}" * 50,
    "tokenizer_config.json": b"{}",
}
NOT_NEEDED = {
    "README.md": b"# A model",
    "pytorch_model.bin": b"pickle" * 100,
    "tf_model.h5": b"h5" * 100,
    "onnx/model.safetensors": b"other" * 100,
    "vocab.txt": b"[PAD]\n",
}


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache, and an environment that says nothing about hubs."""
    for name in ("HF_ENDPOINT", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    from huggingface_hub.utils import close_session

    close_session()  # connections to the stand-in of the test before
    return tmp_path / "home" / "hub"


@pytest.fixture
def server(tmp_path, monkeypatch):
    write(tmp_path / "repo", {**SMALL, **NOT_NEEDED, "model.safetensors": WEIGHTS})
    with hub_stand_in(tmp_path / "repo", REPO) as running:
        monkeypatch.setenv("HF_ENDPOINT", running.endpoint + "/")
        yield running


@pytest.fixture
def no_waiting(monkeypatch):
    """huggingface_hub waits a second before it takes up a broken download; five times, then it gives up."""
    from huggingface_hub import file_download

    monkeypatch.setattr(file_download, "time", SimpleNamespace(sleep=lambda seconds: None, time=time.time))


def test_plan_names_what_is_needed_and_tells_its_size(server):
    plan = hub.plan(REPO)
    assert [file.name for file in plan.files] == [
        "config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "model.safetensors",
    ]
    assert plan.commit == COMMIT
    assert plan.total_bytes == sum(map(len, SMALL.values())) + len(WEIGHTS)
    assert server.bytes_sent_for("model.safetensors") == 0


def test_fetch_brings_the_needed_files_unchanged_and_nothing_else(server, cache):
    folder = hub.fetch(hub.plan(REPO))
    assert folder == cache / "models--someone--tiny-bert" / "snapshots" / COMMIT
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {**SMALL, "model.safetensors": WEIGHTS}
    assert hub_cache.local(REPO) == folder


def test_what_was_fetched_is_found_by_huggingface_hub_too(server, cache):
    import huggingface_hub

    folder = hub.fetch(hub.plan(REPO))
    found = huggingface_hub.try_to_load_from_cache(REPO, "model.safetensors", cache_dir=cache)
    assert Path(found) == folder / "model.safetensors"


def test_progress_counts_every_byte_once_and_grows(server):
    calls = []
    plan = hub.plan(REPO)
    hub.fetch(plan, lambda *call: calls.append(call))
    done = [call[0] for call in calls]
    assert done == sorted(done)
    assert done[0] == 0 and done[-1] == plan.total_bytes
    assert {call[1] for call in calls} == {plan.total_bytes}
    assert [*dict.fromkeys(call[2] for call in calls)] == [file.name for file in plan.files]
    assert sum(call[2] == "model.safetensors" for call in calls) >= 4


def test_nothing_is_local_before_and_local_asks_no_network(server):
    assert hub_cache.local(REPO) is None
    assert server.requests == []


def test_a_second_fetch_asks_for_no_file(server):
    hub.fetch(hub.plan(REPO))
    before = server.bytes_sent_for("model.safetensors")
    plan = hub.plan(REPO)
    assert plan.bytes_here == plan.total_bytes
    hub.fetch(plan)
    assert server.bytes_sent_for("model.safetensors") == before == 1


def test_a_cache_without_the_weights_is_not_local(server, cache):
    folder = hub.fetch(hub.plan(REPO))
    (folder / "model.safetensors").unlink()
    assert hub_cache.local(REPO) is None


class Pressed(Exception):
    pass


@pytest.mark.parametrize("error", [Pressed("stop"), OSError(errno.EPIPE, "gone"), KeyboardInterrupt()])
def test_a_callback_that_raises_stops_the_download_which_can_be_taken_up_again(server, cache, error):
    def stop(done, total, name):
        if name == "model.safetensors" and done > 2_000_000:
            raise error

    with pytest.raises(type(error)) as caught:
        hub.fetch(hub.plan(REPO), stop)
    assert caught.value is error
    assert hub_cache.local(REPO) is None
    assert list(cache.rglob("*.incomplete")) == []

    server.requests.clear()
    assert (hub.fetch(hub.plan(REPO)) / "model.safetensors").read_bytes() == WEIGHTS
    assert server.bytes_sent_for("tokenizer.json") == 0  # came the first time


def test_a_dropped_connection_is_taken_up_where_it_broke(server, no_waiting):
    server.drop_after, server.drops_left = 1_500_000, 2
    calls = []
    folder = hub.fetch(hub.plan(REPO), lambda *call: calls.append(call))
    assert (folder / "model.safetensors").read_bytes() == WEIGHTS
    ranges = [wanted for method, path, wanted in server.requests if method == "GET" and path.endswith(".safetensors")]
    assert len(ranges) == 3 and ranges[0] is None and ranges[1].startswith("bytes=")
    assert max(call[0] for call in calls) == calls[-1][1]


def test_a_connection_that_keeps_dropping_is_an_error_and_leaves_no_half_file(server, cache, no_waiting):
    server.drop_after = 0
    plan = hub.plan(REPO)
    with pytest.raises(HeadworkError, match=r"connection to .* broke while model\.safetensors .* Try again"):
        hub.fetch(plan)
    assert not (plan.folder / "model.safetensors").exists() and hub_cache.local(REPO) is None
    assert list(cache.rglob("*.incomplete")) == []


def test_a_truncated_file_is_an_error_and_is_fetched_again(server):
    server.shorten_by = 1000
    plan = hub.plan(REPO)
    with pytest.raises(HeadworkError, match=r"model\.safetensors arrived incomplete"):
        hub.fetch(plan)
    assert hub_cache.local(REPO) is None
    server.shorten_by = 0
    assert (hub.fetch(plan) / "model.safetensors").read_bytes() == WEIGHTS


def test_a_file_of_the_right_length_with_a_wrong_byte_is_an_error_and_is_fetched_again(server):
    server.corrupt = True
    with pytest.raises(HeadworkError, match="arrived damaged"):
        hub.fetch(hub.plan(REPO))
    assert hub_cache.local(REPO) is None
    server.corrupt = False
    assert (hub.fetch(hub.plan(REPO)) / "model.safetensors").read_bytes() == WEIGHTS


def test_sharded_weights_are_fetched_with_their_index(tmp_path, monkeypatch):
    shards = {f"model-0000{i}-of-00002.safetensors": os.urandom(1000 + i) for i in (1, 2)}
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    files = {**SMALL, **shards, "model.safetensors.index.json": json.dumps(index).encode()}
    with hub_stand_in(write(tmp_path / "repo", files), REPO) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        folder = hub.fetch(hub.plan(REPO))
        assert {path.name for path in folder.iterdir()} == set(files)
        (folder / "model-00002-of-00002.safetensors").unlink()
        assert hub_cache.local(REPO) is None


def test_an_index_that_names_a_missing_shard_is_an_error_before_any_shard_is_fetched(tmp_path, monkeypatch):
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    files = {
        **SMALL,
        "model-00001-of-00002.safetensors": b"1",
        "model.safetensors.index.json": json.dumps(index).encode(),
    }
    with hub_stand_in(write(tmp_path / "repo", files), REPO) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        with pytest.raises(HeadworkError, match="model-00002-of-00002"):
            hub.fetch(hub.plan(REPO))
        assert server.bytes_sent_for("model-00001-of-00002.safetensors") == 0


@pytest.mark.parametrize(
    ("missing", "extra", "sentence"),
    [
        ("model.safetensors", {"pytorch_model.bin": b"x"}, r"no safetensors .* never loaded"),
        ("model.safetensors", {}, "no weights"),
        ("config.json", {}, r"no config\.json"),
        ("tokenizer.json", {}, "no tokenizer"),
    ],
)
def test_a_repository_that_cannot_be_used_is_refused_before_anything_large_is_fetched(
    tmp_path, monkeypatch, missing, extra, sentence
):
    files = {**SMALL, "model.safetensors": b"weights", **extra}
    del files[missing]
    with hub_stand_in(write(tmp_path / "repo", files), REPO) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        with pytest.raises(HeadworkError, match=sentence):
            hub.plan(REPO)
        assert [path for method, path, _ in server.requests] == [f"/api/models/{REPO}"]


@pytest.mark.parametrize(
    ("status", "code", "sentence"),
    [
        (404, "RepoNotFound", "There is no model someone/tiny-bert at"),
        (404, None, "There is no model someone/tiny-bert at"),
        (401, None, "is private, or there is no such model"),
        (401, "RepoNotFound", "is private, or there is no such model"),
        (403, None, "is private, or there is no such model"),
        (403, "GatedRepo", "accepted its terms"),
        (429, None, "too many requests"),
        (500, None, r"can't answer at the moment \(status 500\)"),
    ],
)
def test_an_answer_that_says_no_is_one_clear_sentence(server, status, code, sentence):
    server.status, server.error_code = status, code
    with pytest.raises(HeadworkError, match=sentence):
        hub.plan(REPO)


def test_a_gated_model_whose_list_is_public_says_so_at_the_first_file(server):
    server.file_status, server.error_code = 403, "GatedRepo"
    with pytest.raises(HeadworkError, match="accepted its terms"):
        hub.plan(REPO)


@pytest.mark.parametrize("step", ["plan", "fetch"])
def test_a_refused_connection_is_told_at_once(server, monkeypatch, step):
    plan = hub.plan(REPO)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # "discard": nobody listens
    started = time.monotonic()
    with pytest.raises(HeadworkError, match=r"http://127\.0\.0\.1:9 can't be reached .* mirror"):
        hub.plan(REPO) if step == "plan" else hub.fetch(plan)
    assert time.monotonic() - started < 5


def test_an_unknown_host_is_told_at_once(monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "https://hub.invalid")  # RFC 2606: never resolves
    with pytest.raises(HeadworkError, match=r"https://hub\.invalid can't be reached"):
        hub.plan(REPO)


@pytest.mark.parametrize("step", ["plan", "fetch"])
def test_a_server_that_never_answers_is_given_up_after_the_timeout_with_no_second_try(server, monkeypatch, step):
    plan = hub.plan(REPO)
    server.silent = True
    monkeypatch.setattr(hub, "TIMEOUT", 0.3)
    started = time.monotonic()
    with pytest.raises(HeadworkError, match="did not answer in time"):
        hub.plan(REPO) if step == "plan" else hub.fetch(plan)
    assert 0.25 < time.monotonic() - started < 3


def test_a_login_page_instead_of_a_hub_is_told(server):
    server.html = True
    with pytest.raises(HeadworkError, match="Check HF_ENDPOINT"):
        hub.plan(REPO)


@pytest.mark.parametrize("endpoint", ["huggingface.co", "ftp://x", "https://", "http://a b"])
def test_a_malformed_endpoint_is_told(monkeypatch, endpoint):
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    with pytest.raises(HeadworkError, match="not a web address"):
        hub.plan(REPO)


@pytest.mark.parametrize(
    "repo_id", ["", "a/b/c", "../etc", "a b/c", "a--b/c", "a/b.git", "x" * 97, "a/\u0000", "猫/吃"]
)
def test_a_malformed_id_is_told_without_asking_anybody(server, repo_id):
    assert hub_cache.local(repo_id) is None
    with pytest.raises(HeadworkError, match="not a hub id"):
        hub.plan(repo_id)
    assert server.requests == []


@pytest.mark.parametrize("repo_id", ["bert-base-uncased", "google-bert/bert-base-uncased", "a/b_c.d-1", "A1/_x"])
def test_ids_that_are_well_formed_for_us_are_so_for_huggingface_hub(repo_id):
    from huggingface_hub.utils import validate_repo_id

    validate_repo_id(repo_id)
    assert hub_cache.is_repo_id(repo_id)


def test_offline_mode_asks_nobody(server, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(HeadworkError, match="HF_HUB_OFFLINE"):
        hub.plan(REPO)
    assert server.requests == []


def test_the_token_of_the_moment_is_sent(server, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_of_the_test")
    hub.fetch(hub.plan(REPO))
    assert server.authorization == {"Bearer hf_of_the_test"}


def test_the_cache_of_the_moment_is_used(server, monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "elsewhere"))
    assert tmp_path / "elsewhere" in hub.fetch(hub.plan(REPO)).parents


def test_a_full_disk_is_told(server, monkeypatch):
    from huggingface_hub import file_download

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(file_download, "http_get", full)
    with pytest.raises(HeadworkError, match="disk is full"):
        hub.plan(REPO)


def test_a_cache_that_cannot_be_written_is_told(server, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "file"))
    with pytest.raises(HeadworkError, match="can't be stored"):
        hub.plan(REPO)


def test_importing_the_module_does_not_import_huggingface_hub(imported):
    assert not {"huggingface_hub", "transformers"} & imported["hub"]

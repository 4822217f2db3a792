"""A small hub on 127.0.0.1 that serves one folder as a model repository, and can fail in chosen ways.

It answers what huggingface_hub 2.4 asks: /api/models/{id}, and HEAD and GET of /{id}/resolve/{commit}/{file} with ETag,
X-Repo-Commit and ranges. Large files carry their sha256, as files in large-file storage do on the real hub.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

PIECE = 1 << 18  # bytes between two pauses
COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub:
    """The state of a stand-in: what it serves, how it fails, what it was asked."""

    def __init__(self, folder: Path, repo_id: str) -> None:
        self.folder = folder
        self.repo_id = repo_id
        self.status: int | None = None  # answer everything with this status
        self.error_code: str | None = None  # X-Error-Code to go with it
        self.file_status: int | None = None  # answer files with this status, but not the question which files there are
        self.drop_after: int | None = None  # break the connection after so many bytes of each answer with weights
        self.drops_left = 1_000_000
        self.shorten_by = 0  # serve weights that end too early, with the true size in the answer to HEAD
        self.corrupt = False  # serve weights with one byte changed
        self.pause = 0.0  # seconds between pieces of weights
        self.silent = False  # take the connection and never answer
        self.html = False  # answer as something that is no hub
        self.requests: list[tuple[str, str, str | None]] = []  # method, path, Range
        self.authorization: set[str | None] = set()
        self.released = threading.Event()
        self.endpoint = ""

    def bytes_sent_for(self, name: str) -> int:
        """How often a file was asked for in full or in part."""
        return sum(method == "GET" and path.endswith("/" + name) for method, path, _ in self.requests)


@contextmanager
def hub_stand_in(folder: Path, repo_id: str = "someone/tiny-bert") -> Iterator[Hub]:
    """A running stand-in; `hub.endpoint` is its address."""
    hub = Hub(folder, repo_id)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(hub))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    hub.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield hub
    finally:
        hub.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self._answer()

        def do_GET(self) -> None:
            self._answer()

        def _answer(self) -> None:
            path = unquote(urlsplit(self.path).path)
            hub.requests.append((self.command, path, self.headers.get("Range")))
            hub.authorization.add(self.headers.get("Authorization"))
            if hub.silent:
                hub.released.wait(60)
                self.close_connection = True
            elif hub.html:
                self._send(200, b"<html>Sign in to the hotel's network</html>", {"Content-Type": "text/html"})
            elif hub.status is not None:
                headers = {"X-Error-Code": hub.error_code} if hub.error_code else {}
                self._send(hub.status, b'{"error": "no"}', headers)
            elif path == f"/api/models/{hub.repo_id}":
                self._send(200, json.dumps(_info(hub)).encode(), {"Content-Type": "application/json"})
            elif path.startswith(f"/{hub.repo_id}/resolve/"):
                self._file(path.removeprefix(f"/{hub.repo_id}/resolve/").split("/", 1)[1])
            else:
                self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"})

        def _file(self, name: str) -> None:
            path = hub.folder / name
            if hub.file_status is not None:
                return self._send(hub.file_status, b"{}", {"X-Error-Code": hub.error_code} if hub.error_code else {})
            if not path.is_file():
                return self._send(404, b"{}", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT})
            content = path.read_bytes()
            headers = {"ETag": f'"{_sha256(path)}"', "X-Repo-Commit": COMMIT, "Accept-Ranges": "bytes"}
            is_weights = name.endswith(".safetensors")
            if self.command == "GET" and is_weights:
                if hub.corrupt:
                    content = content[:-1] + bytes([content[-1] ^ 1])
                content = content[: len(content) - hub.shorten_by]
            start = 0
            if (wanted := self.headers.get("Range")) is not None and self.command == "GET":
                start = int(wanted.removeprefix("bytes=").split("-")[0])
                headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
            drop = hub.drop_after if is_weights and self.command == "GET" and hub.drops_left else None
            if drop is not None:
                hub.drops_left -= 1
            self._send(206 if start else 200, content[start:], headers, drop)

        def _send(self, status: int, body: bytes, headers: dict[str, str], drop_after: int | None = None) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "HEAD":
                return
            body = body if drop_after is None else body[:drop_after]
            step = PIECE if hub.pause else max(len(body), 1)
            try:
                for start in range(0, len(body), step):
                    self.wfile.write(body[start : start + step])
                    self.wfile.flush()
                    if hub.pause and start + step < len(body):
                        hub.released.wait(hub.pause)
            except OSError:  # who asked has gone
                self.close_connection = True
            if drop_after is not None:
                self.close_connection = True

    return Handler


def _info(hub: Hub) -> dict[str, object]:
    siblings = []
    for path in sorted(hub.folder.rglob("*")):
        if path.is_file():
            sibling: dict[str, object] = {
                "rfilename": path.relative_to(hub.folder).as_posix(),
                "size": path.stat().st_size,
                "blobId": hashlib.sha1(path.read_bytes()).hexdigest(),
            }
            if path.name.endswith((".safetensors", ".bin")):
                sibling["lfs"] = {"size": path.stat().st_size, "sha256": _sha256(path), "pointerSize": 134}
            siblings.append(sibling)
    return {
        "id": hub.repo_id,
        "modelId": hub.repo_id,
        "sha": COMMIT,
        "siblings": siblings,
        "tags": [],
        "private": False,
    }


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()

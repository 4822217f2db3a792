"""A class at once: students open the app and choose example sentences in the same moment, on a server of two cores.

    python -m benchmarks.students                 about two minutes; --students, --rounds, --language

The students are websocket clients that speak Streamlit's protocol as its page does: a browser is a machine of the
student's own, twenty of them here would be what is measured. A time is from the click to the last message of the
answer, so what the browser draws comes on top (benchmarks/page.py). Every answer is read: the large map must carry the
tokens of the sentence, and nothing on the page may be an error.
"""

from __future__ import annotations

import argparse
import asyncio
import html
import json
import os
import re
import statistics
import time
import unicodedata
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from streamlit.proto.Alert_pb2 import Alert
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect

from benchmarks.measure import describe_machine, markdown_table
from benchmarks.page import cpu_ms, running_app

BUDGET_SECONDS = 2.0  # p95 of example sentences, 20 students
CORES = 2
PATIENCE = 90.0  # seconds after which an answer counts as none
DONE = ForwardMsg.FINISHED_SUCCESSFULLY
SPECIAL = {"[CLS]", "[SEP]", "<s>", "</s>"}


@dataclass
class Student:
    """One open page: what it was sent, and what it would send along with the next click."""

    socket: ClientConnection
    query: str = ""
    page: str = ""
    menu: str = ""  # the id of the example menu
    options: list[str] = field(default_factory=list)
    kept: dict[str, ForwardMsg] = field(default_factory=dict)  # large messages, which the server sends once

    async def open(self) -> list[ForwardMsg]:
        """As a page that has just loaded."""
        answer = await self._ask()
        selects = [_element(message).selectbox for message in answer if _is(message, "selectbox")]
        self.menu, self.options = next(
            (menu.id, list(menu.options)) for menu in reversed(selects) if menu.id.endswith("-example")
        )
        return answer

    async def choose(self, example: str) -> list[ForwardMsg]:
        """As a click in the menu of example sentences."""
        return await self._ask(example)

    async def _ask(self, example: str | None = None) -> list[ForwardMsg]:
        asked = BackMsg()
        state = asked.rerun_script
        state.query_string, state.page_script_hash = self.query, self.page
        state.cached_message_hashes.extend(self.kept)
        state.context_info.locale, state.context_info.color_scheme = "en-US", "light"
        if example is not None:
            widget = state.widget_states.widgets.add()
            widget.id, widget.string_value = self.menu, example
        await self.socket.send(asked.SerializeToString())
        answer: list[ForwardMsg] = []
        while True:
            message = ForwardMsg.FromString(await self.socket.recv(decode=False))
            kind = message.WhichOneof("type")
            if kind == "ref_hash":
                message = self.kept[message.ref_hash]
            elif message.metadata.cacheable and message.hash:
                self.kept[message.hash] = message
            if kind == "new_session":
                self.page = message.new_session.page_script_hash
                answer.clear()  # a run that was started over
            elif kind == "page_info_changed":
                self.query = message.page_info_changed.query_string
            answer.append(message)
            if kind == "script_finished" and message.script_finished == DONE:
                return answer


def _is(message: ForwardMsg, kind: str) -> bool:
    return (
        message.WhichOneof("type") == "delta"
        and message.delta.WhichOneof("type") == "new_element"
        and message.delta.new_element.WhichOneof("type") == kind
    )


def _element(message: ForwardMsg) -> object:
    return message.delta.new_element


def wrong(answer: Sequence[ForwardMsg], sentence: str | None) -> str:
    """What is wrong with an answer; nothing when it shows this sentence, or any when it doesn't matter which."""
    for message in answer:
        if _is(message, "exception"):
            return "an exception"
        if _is(message, "alert") and message.delta.new_element.alert.format == Alert.ERROR:
            return message.delta.new_element.alert.body
    specs = [m.delta.new_element.plotly_chart.spec for m in answer if _is(m, "plotly_chart") and _is_map(m)]
    if not specs:
        return "no map"
    ticks = json.loads(specs[-1])["layout"]["xaxis"]["ticktext"]
    if sentence is None or re.fullmatch(_pattern(ticks), _plain(sentence)):
        return ""
    return f"a map of {ticks}"


def _is_map(message: ForwardMsg) -> bool:
    return str(message.delta.new_element.plotly_chart.id).endswith("-head_map")


def _pattern(ticks: Sequence[str]) -> str:
    labels = (html.unescape(tick) for tick in ticks)
    pieces = (label.removeprefix("##") for label in labels if label not in SPECIAL)
    return "".join(".+" if piece in ("[UNK]", "<unk>") else re.escape(_plain(piece)) for piece in pieces)


def _plain(text: str) -> str:
    return re.sub(r"[\s▁]", "", unicodedata.normalize("NFKC", text)).casefold()


@dataclass
class Times:
    """Seconds of each answer, and what was wrong with the others."""

    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    cpu: float = 0.0  # seconds in the server

    def quantile(self, share: float) -> float:
        """A share of the answers took at most so long."""
        return sorted(self.seconds)[max(0, -(-int(100 * share) * len(self.seconds) // 100) - 1)]

    def row(self, what: str) -> list[str]:
        n = len(self.seconds) + len(self.failures)
        if not self.seconds:
            return [what, str(n), "–", "–", "–", "–", str(len(self.failures))]
        numbers = (statistics.median(self.seconds), self.quantile(0.95), max(self.seconds), self.cpu / n)
        return [what, str(n), *(f"{number:.2f}" for number in numbers), str(len(self.failures))]


async def at_once(
    asks: Sequence[Callable[[], Awaitable[list[ForwardMsg]]]], sentences: Sequence[str | None], into: Times
) -> None:
    """All of them start in the same moment; each is timed by itself, and read when all have their answer."""
    before = cpu_ms()

    async def timed(ask: Callable[[], Awaitable[list[ForwardMsg]]]) -> tuple[float, list[ForwardMsg]]:
        start = time.perf_counter()
        answer = await asyncio.wait_for(ask(), PATIENCE)
        return time.perf_counter() - start, answer

    answers = await asyncio.gather(*(timed(ask) for ask in asks), return_exceptions=True)
    into.cpu += (cpu_ms() - before) / 1000
    for answer, sentence in zip(answers, sentences, strict=True):
        if isinstance(answer, BaseException):
            into.failures.append(repr(answer))
        elif fault := wrong(answer[1], sentence):
            into.failures.append(fault)
        else:
            into.seconds.append(answer[0])


async def arrive(address: str, n: int, into: Times) -> list[Student]:
    """n students open the app at once."""
    url = address.replace("http", "ws", 1) + "/_stcore/stream"
    sockets = [await connect(url, subprotocols=["streamlit"], max_size=None) for _ in range(n)]
    students = [Student(socket) for socket in sockets]
    await at_once([student.open for student in students], [None] * n, into)
    return [student for student in students if student.menu]


def is_in(language: str, sentence: str) -> bool:
    """Whether an example belongs to the class's language."""
    return language == "all" or sentence.isascii() == (language == "en")


async def lesson(address: str, n: int, rounds: int, language: str) -> dict[str, Times]:
    """What a class does, with its times: a server that has just started, then the same one, warm."""
    found = {
        name: Times() for name in ("open, just started", "open, warm", "example, first time", "example, seen before")
    }
    students = await arrive(address, n, found["open, just started"])
    for student in students:
        await student.socket.close()
    students = await arrive(address, n, found["open, warm"])
    assert students, found["open, warm"].failures
    examples = [text.removeprefix("⇄ ") for text in students[0].options if is_in(language, text)]
    seen: set[str] = set()
    for number in range(rounds):
        chosen = [examples[(i + number) % len(examples)] for i in range(len(students))]
        new = [text not in seen for text in chosen]
        seen.update(chosen)
        asks = [
            lambda student=student, text=text: student.choose(text)
            for student, text in zip(students, chosen, strict=True)
        ]
        now = Times()
        await at_once(asks, chosen, now)
        into = found["example, first time" if any(new) else "example, seen before"]
        into.seconds += now.seconds
        into.failures += now.failures
        into.cpu += now.cpu
    for student in students:
        await student.socket.close()
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.students", description=__doc__.partition("\n")[0])
    parser.add_argument("--students", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--language", choices=("en", "zh", "all"), default="en", help="of the example sentences")
    options = parser.parse_args(arguments)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])  # the server inherits it

    with running_app() as address:
        began = time.process_time()
        found = asyncio.run(lesson(address, options.students, options.rounds, options.language))
        own = time.process_time() - began

    load = f"load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"{describe_machine()}; server and students on {CORES} of them; {load}.\n")
    header = [
        f"{options.students} students at once",
        "answers",
        "p50 s",
        "p95 s",
        "worst s",
        "server CPU s each",
        "failed",
    ]
    print(markdown_table(header, [times.row(what) for what, times in found.items() if times.seconds or times.failures]))
    print(f"\n- The students themselves took {own:.1f} s of CPU on the same cores.")
    examples = Times()
    for what in ("example, first time", "example, seen before"):
        examples.seconds += found[what].seconds
        examples.failures += found[what].failures
    held = not examples.failures and examples.quantile(0.95) <= BUDGET_SECONDS
    judgement = "holds" if held else "MISSED"
    print(f"- Example sentences, p95 ≤ {BUDGET_SECONDS:.0f} s and none fails: {judgement}.")
    for failure in sorted({failure for times in found.values() for failure in times.failures}):
        print(f"- failed: {failure[:200]}")


if __name__ == "__main__":
    main()

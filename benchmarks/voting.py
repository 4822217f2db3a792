"""A class votes: forty phones join a teacher's room and guess at once, step after step, on a server of two cores.

    python -m benchmarks.voting                 about a minute; --phones, --steps

Teacher and phones are websocket clients that speak Streamlit's protocol as its page does (benchmarks/students.py). The
teacher opens a lesson and asks the class; phones look again every few seconds, as their pages do. A vote takes from
the tap to the last message of the answer. After each step the teacher's page must count every vote, once.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import secrets
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect

from benchmarks.measure import describe_machine, markdown_table
from benchmarks.page import cpu_ms, running_app
from benchmarks.students import CORES, DONE

BUDGET_SECONDS = 1.0  # p95 of a vote, forty phones
PATIENCE = 60.0
IDLE_SECONDS = 20.0  # for the load of phones that wait
LESSON = "find-the-head"
COUNT = re.compile(r"(\d+) guess(?:es)? from (\d+) phone")


@dataclass
class Client:
    """One open page: what it was sent, and the state of its widgets."""

    socket: ClientConnection
    query: str
    page: str = ""
    widgets: dict[str, WidgetState] = field(default_factory=dict)
    kept: dict[str, ForwardMsg] = field(default_factory=dict)  # large messages, which the server sends once
    shown: dict[tuple[int, ...], ForwardMsg] = field(default_factory=dict)  # what stands at each place of the page
    fragment: str = ""  # what looks again by itself, and how often
    interval: float = 0.0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    n_bytes: int = 0
    page_name: str = ""
    url: str = ""

    async def run(self, fragment: str = "", changed: WidgetState | None = None, *, by_itself: bool = False) -> None:
        """One run of the page's script, or of a fragment, to its end."""
        async with self.lock:
            asked = BackMsg()
            state = asked.rerun_script
            state.query_string, state.page_script_hash = self.query, self.page
            state.page_name = "" if self.page else self.page_name
            state.cached_message_hashes.extend(self.kept)
            state.context_info.locale, state.context_info.color_scheme = "en-US", "light"
            state.context_info.url = self.url
            if fragment:
                state.fragment_id, state.is_auto_rerun = fragment, by_itself
            for widget in self.widgets.values():
                state.widget_states.widgets.add().CopyFrom(widget)
            if changed is not None:
                state.widget_states.widgets.add().CopyFrom(changed)
                if not changed.HasField("trigger_value"):
                    self.widgets[changed.id] = changed
            await self.socket.send(asked.SerializeToString())
            await asyncio.wait_for(self._answer(fragment), PATIENCE)

    async def _answer(self, fragment: str) -> None:
        while True:
            raw = await self.socket.recv(decode=False)
            self.n_bytes += len(raw)
            message = ForwardMsg.FromString(raw)
            kind = message.WhichOneof("type")
            if kind == "ref_hash":
                message = self.kept[message.ref_hash]
                kind = message.WhichOneof("type")
            elif message.metadata.cacheable and message.hash:
                self.kept[message.hash] = message
            if kind == "new_session":
                self.page = message.new_session.page_script_hash
                if not fragment:
                    self.shown.clear()
            elif kind == "page_info_changed":
                self.query = message.page_info_changed.query_string
            elif kind == "auto_rerun":
                self.fragment, self.interval = message.auto_rerun.fragment_id, message.auto_rerun.interval
            elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
                self.shown[tuple(message.metadata.delta_path)] = message
            elif kind == "script_finished" and message.script_finished in (
                DONE,
                ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY,
            ):
                return

    def elements(self, kind: str) -> list[object]:
        """The elements of a kind that stand on the page."""
        found = [message.delta.new_element for message in self.shown.values()]
        return [getattr(each, kind) for each in found if each.WhichOneof("type") == kind]

    def component(self, key: str) -> object:
        """The browser component of this key."""
        return next(each for each in self.elements("bidi_component") if each.id.endswith(f"-{key}"))

    async def say(self, key: str, **values: object) -> None:
        """As a component that sets its state."""
        changed = WidgetState(id=self.component(key).id, json_value=json.dumps(values))
        await self.run(changed=changed)

    async def press(self, key: str) -> None:
        """As a click on a button."""
        button = next(each for each in self.elements("button") if each.id.endswith(f"-{key}"))
        await self.run(changed=WidgetState(id=button.id, trigger_value=True))

    @property
    def words(self) -> str:
        """Everything that is written on the page."""
        texts = [each.body for kind in ("markdown", "text", "alert", "html") for each in self.elements(kind)]
        return "\n".join(texts).replace("\\", "")


async def opened(address: str, page: str, query: str = "") -> Client:
    """A page that has just loaded."""
    url = address.replace("http", "ws", 1) + "/_stcore/stream"
    socket = await connect(url, subprotocols=["streamlit"], max_size=None)
    client = Client(socket, query, page_name=page, url=f"{address}/{page}")
    await client.run()
    return client


@dataclass
class Phone:
    """A phone in a room."""

    client: Client
    seconds: list[float] = field(default_factory=list)

    async def look_on(self) -> None:
        """Asks again what there is to see, as its page does."""
        await asyncio.sleep(random.random() * self.client.interval)  # phones join at different moments
        while True:
            await self.client.run(self.client.fragment, by_itself=True)
            await asyncio.sleep(self.client.interval)

    def asked(self) -> dict:
        """What the control for the guess was given."""
        return json.loads(self.client.component("phone_guess").mixed.json or self.client.component("phone_guess").json)

    async def vote(self) -> None:
        """A random guess, timed."""
        asked = self.asked()
        changed = WidgetState(id=self.client.component("phone_guess").id)
        changed.json_value = json.dumps({"guess": {"of": asked["id"], "value": guess_about(asked)}})
        start = time.perf_counter()
        await self.client.run(self.client.fragment, changed)
        self.seconds.append(time.perf_counter() - start)
        assert self.asked()["guess"] is not None, "the vote was lost"


def guess_about(asked: dict) -> object:
    """A guess that fits a question."""
    n = len(asked["labels"])
    ids = [id_ for id_, _text in asked["choices"]]
    of = asked["range"] or {"least": 0, "most": 0}
    return {
        "token": lambda: random.randrange(n),
        "pair": lambda: random.sample(range(n), 2),
        "choice": lambda: random.choice(ids),
        "order": lambda: random.sample(ids, len(ids)),
        "number": lambda: random.randint(int(of["least"]), int(of["most"])),
        "cells": lambda: [[random.randrange(n), 0]],
    }[asked["predict"]]()


async def join(address: str, code: str) -> Phone:
    """A phone opens the link, and says which phone it is, as its browser does."""
    client = await opened(address, "vote", f"room={code}&lang=en")
    await client.say("kept-phone", kept=secrets.token_hex(16))
    return Phone(client)


async def lesson(address: str, n: int, n_steps: int) -> None:
    """What a class does, told."""
    teacher = await opened(address, "lessons", f"lesson={LESSON}&lang=en")
    await teacher.press("class_open")
    code = re.search(r"[2-9A-Z]{3}-[2-9A-Z]{3}-[2-9A-Z]{3}", teacher.words)
    assert code, teacher.words
    start, cpu = time.perf_counter(), cpu_ms()
    phones = await asyncio.gather(*(join(address, code[0].replace("-", "")) for _ in range(n)))
    joined = time.perf_counter() - start, (cpu_ms() - cpu) / 1000
    looking = [asyncio.create_task(phone.look_on()) for phone in phones]
    await asyncio.sleep(phones[0].client.interval)
    bytes_before, cpu = sum(phone.client.n_bytes for phone in phones), cpu_ms()
    await asyncio.sleep(IDLE_SECONDS)
    idle = (cpu_ms() - cpu) / 1000 / IDLE_SECONDS
    sent = (sum(phone.client.n_bytes for phone in phones) - bytes_before) / IDLE_SECONDS / n
    counted, cpu_votes = [], 0.0
    for step in range(n_steps):
        if step:
            await teacher.press("lesson_next")
            await asyncio.sleep(phones[0].client.interval + 1)
        cpu = cpu_ms()
        await asyncio.gather(*(phone.vote() for phone in phones))
        cpu_votes += (cpu_ms() - cpu) / 1000
        await teacher.run(teacher.fragment, by_itself=True)
        counted.append(COUNT.search(teacher.words).groups())
    for task in looking:
        task.cancel()
    told(phones, joined, idle, sent, counted, cpu_votes)
    for client in (teacher, *(phone.client for phone in phones)):
        await client.socket.close()


def told(
    phones: Sequence[Phone],
    joined: tuple[float, float],
    idle: float,
    sent: float,
    counted: Sequence[tuple[str, str]],
    cpu_votes: float,
) -> None:
    seconds = sorted(second for phone in phones for second in phone.seconds)
    p95 = seconds[max(0, -(-95 * len(seconds) // 100) - 1)]
    header = [f"{len(phones)} phones", "votes", "p50 s", "p95 s", "worst s", "server CPU ms each"]
    row = [
        "a vote, all at once",
        str(len(seconds)),
        *(f"{x:.2f}" for x in (statistics.median(seconds), p95, seconds[-1])),
    ]
    print(markdown_table(header, [[*row, f"{1000 * cpu_votes / len(seconds):.0f}"]]))
    print(f"\n- All phones were in after {joined[0]:.1f} s, with {joined[1]:.1f} s of the server's CPU.")
    print(
        f"- While they wait, looking every {phones[0].client.interval:g} s: {100 * idle:.0f} % of one core, "
        f"{sent:.0f} bytes a second to each."
    )
    lost = [step for step, (guesses, there) in enumerate(counted, 1) if int(guesses) != len(phones)]
    print(
        f"- Counted on the teacher's page: {', '.join(guesses for guesses, _ in counted)} of {len(phones)}"
        f"{'' if not lost else ' LOST in ' + str(lost)}."
    )
    held = "holds" if p95 <= BUDGET_SECONDS and not lost else "MISSED"
    print(f"- p95 of a vote ≤ {BUDGET_SECONDS:g} s and none lost: {held}.")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.voting", description=__doc__.partition("\n")[0])
    parser.add_argument("--phones", type=int, default=40)
    parser.add_argument("--steps", type=int, default=4)
    options = parser.parse_args(arguments)
    random.seed(0)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])  # the server inherits it
    with running_app() as address:
        print(f"{describe_machine()}; server and phones on {CORES} of them; load {os.getloadavg()[0]:.1f}.\n")
        asyncio.run(lesson(address, options.phones, options.steps))


if __name__ == "__main__":
    main()

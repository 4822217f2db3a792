"""The benchmark of a class: what counts as an answer, and a small class on a real server."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from streamlit.proto.Alert_pb2 import Alert
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from benchmarks import students
from benchmarks.page import running_app

CATS = ["[CLS]", "two", "cats", "sl", "##ept", ".", "[SEP]"]


def chart(ticks, id_="$$ID-1-head_map"):
    message = ForwardMsg()
    drawn = message.delta.new_element.plotly_chart
    drawn.id, drawn.spec = id_, json.dumps({"layout": {"xaxis": {"ticktext": ticks}}})
    return message


def alert(format_, body):
    message = ForwardMsg()
    message.delta.new_element.alert.format, message.delta.new_element.alert.body = format_, body
    return message


def test_an_answer_shows_the_tokens_of_its_sentence():
    assert not students.wrong([chart(CATS)], "Two cats slept.")
    assert not students.wrong([chart(["<s>", "▁小", "明", "递给", ",", "▁她", "</s>"])], "小明递给，她")
    assert not students.wrong([chart(["&lt;s&gt;", "▁小", "明", "&lt;/s&gt;"])], "小明")  # as the page escapes them
    assert not students.wrong([chart(["[CLS]", "a", "[UNK]", "&lt;", "[SEP]"])], "A 。。 <")
    assert not students.wrong([chart(CATS)], None)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([], "no map"),
        ([chart(CATS, id_="$$ID-1-difference")], "no map"),
        ([chart(["[CLS]", "two", "[SEP]"])], "a map of"),
        ([chart(CATS), chart(["[CLS]", "dogs", "[SEP]"])], "a map of"),  # the last one stays on the page
        ([chart(CATS), alert(Alert.ERROR, "It went wrong.")], "It went wrong."),
    ],
)
def test_anything_else_is_a_failure(answer, said):
    assert said in students.wrong(answer, "Two cats slept.")


def test_a_warning_is_no_failure():
    assert not students.wrong([alert(Alert.WARNING, "Beware."), chart(CATS)], "Two cats slept.")


def test_quantiles_are_times_that_were_measured():
    times = students.Times(seconds=[0.1 * n for n in range(20, 0, -1)])
    assert times.quantile(0.95) == pytest.approx(1.9) and times.quantile(1.0) == pytest.approx(2.0)
    assert students.Times(seconds=[3.0]).quantile(0.95) == 3.0
    assert times.row("open")[:2] == ["open", "20"] and times.row("open")[-1] == "0"


def test_a_small_class_gets_its_answers():
    # In a thread: where browser tests ran before, this one has an event loop already.
    with running_app() as address, ThreadPoolExecutor(1) as thread:
        found = thread.submit(asyncio.run, students.lesson(address, 2, 2, "en")).result()
    assert {what: len(times.seconds) for what, times in found.items()} == {
        "open, just started": 2,
        "open, warm": 2,
        "example, first time": 4,
        "example, seen before": 0,
    }
    assert not any(times.failures for times in found.values())

"""Where phones reach a room: the teacher's own address, or the sentence that none of them does."""

import re

import pytest

from ui.lessons.address import is_loopback, local_link, own_address, qr_svg, room_link

CODE = "ABCDEFGHJ"


@pytest.mark.parametrize(
    ("url", "listens_on", "link"),
    [
        ("http://192.168.1.17:8501/lessons", "0.0.0.0", "http://192.168.1.17:8501/vote?room=ABCDEFGHJ&lang=zh"),
        ("https://class.example.org/lessons?lang=zh#x", "localhost", "https://class.example.org/vote?room=ABCDEFGHJ&lang=zh"),
        ("https://example.org/headwork/lessons", "localhost", "https://example.org/headwork/vote?room=ABCDEFGHJ&lang=zh"),
        ("http://[2001:db8::1]:8501/lessons", None, "http://[2001:db8::1]:8501/vote?room=ABCDEFGHJ&lang=zh"),
        ("http://localhost:8501/lessons", "0.0.0.0", "http://10.0.0.5:8501/vote?room=ABCDEFGHJ&lang=zh"),
        ("http://localhost:8501/lessons", None, "http://10.0.0.5:8501/vote?room=ABCDEFGHJ&lang=zh"),
        ("http://localhost:8501/lessons", "localhost", None),
        ("http://127.0.0.1:8501/lessons", "127.0.0.1", None),
        ("", "localhost", None),
    ],
)  # fmt: skip
def test_phones_get_an_address_that_they_can_reach_or_none(url, listens_on, link):
    assert room_link(url, listens_on, CODE, "zh", own="10.0.0.5") == link


def test_a_computer_without_a_network_has_no_address_for_phones():
    assert room_link("http://localhost:8501/lessons", "0.0.0.0", CODE, "en", own=None) is None


def test_on_the_teachers_own_computer_the_room_can_be_tried():
    assert local_link("http://localhost:8501/lessons", CODE, "en") == f"http://localhost:8501/vote?room={CODE}&lang=en"


@pytest.mark.parametrize("host", ["localhost", "app.localhost", "127.0.0.1", "127.8.9.1", "::1"])
def test_these_mean_the_computer_itself(host):
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["10.0.0.1", "example.org", "localhost.example.org", "2001:db8::1"])
def test_these_do_not(host):
    assert not is_loopback(host)


def test_the_own_address_is_none_or_no_loopback():
    found = own_address()
    assert found is None or not is_loopback(found)


def test_the_qr_code_is_an_svg_of_its_own_with_a_white_edge():
    svg = qr_svg(f"http://192.168.1.17:8501/vote?room={CODE}&lang=zh")
    assert svg.startswith("<svg") and 'fill="#fff"' in svg
    assert not re.findall("href|url|<script", svg)

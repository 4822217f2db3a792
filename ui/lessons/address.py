"""Where phones reach this server: the link of a room, and what to start where only this computer is reached."""

from __future__ import annotations

import ipaddress
import socket
from functools import lru_cache
from urllib.parse import urlsplit, urlunsplit

import segno

EVERYWHERE = ("", "0.0.0.0", "::")  # what a server listens on that other computers reach
PROBE = ("192.0.2.1", 9)  # an address for documentation (RFC 5737): nothing is sent, the system only picks its own


def room_link(url: str, listens_on: str | None, code: str, language: str, own: str | None = None) -> str | None:
    """The link that phones open; None where none of them reaches this server.

    Args:
        url: of the teacher's page, as the browser has it.
        listens_on: the server's own setting, `server.address`.
        code: of the room.
        language: of the teacher's page.
        own: this computer's address in its network, for a teacher who opened the app as localhost.
    """
    host = urlsplit(url).hostname or ""
    if is_loopback(host) or not host:
        if (listens_on or "") not in EVERYWHERE or own is None:
            return None
        host = own
    return _link(url, host, code, language)


def local_link(url: str, code: str, language: str) -> str:
    """The link of a room on the teacher's own computer."""
    return _link(url, urlsplit(url).hostname or "localhost", code, language)


def _link(url: str, host: str, code: str, language: str) -> str:
    page = urlsplit(url)
    name = f"[{host}]" if ":" in host else host
    place = name if page.port is None else f"{name}:{page.port}"
    folder = page.path.rsplit("/", 1)[0]  # an app may be served below a folder
    return urlunsplit((page.scheme or "http", place, f"{folder}/vote", f"room={code}&lang={language}", ""))


def is_loopback(host: str) -> bool:
    """Whether an address means the computer itself."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def own_address() -> str | None:
    """This computer's address in its network; None where it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(PROBE)
        except OSError:
            return None
        found = str(probe.getsockname()[0])
    return None if is_loopback(found) else found


@lru_cache(maxsize=64)
def qr_svg(link: str) -> str:
    """The link as a QR code: dark on white in every theme, with the white edge that readers need."""
    return str(segno.make(link, error="m").svg_inline(scale=8, border=4, dark="#000", light="#fff", omitsize=False))

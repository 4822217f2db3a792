"""The server's messages leave at once.

Streamlit binds its socket without naming the protocol, so asyncio doesn't take it for TCP and leaves Nagle's algorithm
on: whatever follows a rerun's first small message waits until the browser has acknowledged that one, and systems put an
acknowledgement off by 40 ms (RFC 896, RFC 1122 section 4.2.3.2).
"""

import gc
import socket
from contextlib import suppress

INTERNET = (socket.AF_INET, socket.AF_INET6)


def send_at_once() -> None:
    """Switches the waiting off on the TCP sockets of this process: those who connect later inherit it."""
    for thing in gc.get_objects():
        if type(thing) is socket.socket and thing.family in INTERNET and thing.type == socket.SOCK_STREAM:
            with suppress(OSError):  # closed meanwhile
                thing.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

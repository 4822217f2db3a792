"""Small messages leave without waiting for an acknowledgement."""

import socket

from ui.frame import sockets


def test_connections_of_a_server_that_already_listens_dont_wait():
    with socket.socket(socket.AF_INET) as server:  # as Streamlit binds it: asyncio leaves its connections as they are
        server.bind(("127.0.0.1", 0))
        server.listen()
        with socket.create_connection(server.getsockname()) as early:
            accepted, _ = server.accept()
            assert not waits_not(accepted)
            sockets.send_at_once()
            later = socket.create_connection(server.getsockname())
            accepted_later, _ = server.accept()
            assert waits_not(accepted) and waits_not(accepted_later) and early and later
        for one in (accepted, accepted_later, later):
            one.close()


def waits_not(connection: socket.socket) -> bool:
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


def test_other_sockets_are_left_alone():
    pair = socket.socketpair()
    sockets.send_at_once()
    pair[0].sendall(b"one")
    assert pair[1].recv(3) == b"one"
    for one in pair:
        one.close()

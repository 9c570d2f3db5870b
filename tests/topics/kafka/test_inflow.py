"""What a connection receives: all of it, however slowly it comes, and no longer than the time limit of silence."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event

import pytest

from penstock.topics.kafka.wire.inflow import Inflow

LARGE = bytes(range(256)) * 12_000
LIMIT_SECONDS = 0.5


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """A sender and a receiver, connected by TCP."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        receiver = socket.create_connection(server.getsockname())
        sender = server.accept()[0]
    receiver.settimeout(LIMIT_SECONDS)
    with sender, receiver:
        yield sender, receiver


@pytest.fixture
def beside() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def filled(inflow: Inflow, size: int) -> bytes:
    data = bytearray(size)
    inflow.fill(memoryview(data))
    return bytes(data)


def test_large_and_small_pieces_come_whole(
    ends: tuple[socket.socket, socket.socket], beside: ThreadPoolExecutor
) -> None:
    sender, receiver = ends
    sizes = [8, 100, 8, 3_000_000, 8, 4, 70_000, 8, 70_001, 1]
    sent: Future[None] = beside.submit(lambda: [sender.sendall(LARGE[:size]) for size in sizes] and None)
    inflow = Inflow(receiver)
    for size in sizes:
        assert filled(inflow, size) == LARGE[:size]
    sent.result(10)


def drip(sender: socket.socket, data: bytes, pieces: int, seconds: float) -> None:
    """Send some data in so many pieces with a pause after each."""
    pause, size = Event(), len(data) // pieces
    for start in range(0, len(data), size):
        sender.sendall(data[start : start + size])
        pause.wait(seconds)


def test_what_comes_in_many_packets_is_taken_with_few_calls(
    ends: tuple[socket.socket, socket.socket], beside: ThreadPoolExecutor
) -> None:
    sender, receiver = ends
    calls = []

    class Counted:
        def __getattr__(self, name: str) -> object:
            calls.append(name)
            return getattr(receiver, name)

    receiver.settimeout(60)
    piece = LARGE[:500_000]
    sent = beside.submit(drip, sender, piece, 50, 0.005)
    assert filled(Inflow(Counted()), len(piece)) == piece  # type: ignore[arg-type]
    sent.result(10)
    assert calls.count("recv_into") <= 5


def test_a_slow_sender_may_take_longer_than_the_limit_for_all_of_it(
    ends: tuple[socket.socket, socket.socket], beside: ThreadPoolExecutor
) -> None:
    sender, receiver = ends
    sent = beside.submit(drip, sender, LARGE, 10, LIMIT_SECONDS / 3)
    assert filled(Inflow(receiver), len(LARGE)) == LARGE
    sent.result(10)


def test_silence_amid_a_large_piece_ends_it(ends: tuple[socket.socket, socket.socket]) -> None:
    sender, receiver = ends
    sender.sendall(LARGE[:1000])
    with pytest.raises(TimeoutError):
        filled(Inflow(receiver), len(LARGE))
    assert receiver.gettimeout() == LIMIT_SECONDS


def test_a_sender_that_leaves_amid_a_large_piece_is_noticed_at_once(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    sender, receiver = ends
    receiver.settimeout(60)
    sender.sendall(LARGE[:1000])
    sender.close()
    with pytest.raises(ConnectionError, match="closed the connection"):
        filled(Inflow(receiver), len(LARGE))

"""Only those who know the secret exchange messages."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from penstock.spark.wire import Address, Channel, answer, call, listen

SECRET = b"s" * 32


class Driver:
    """Answers one call."""

    def __init__(self, address: Address) -> None:
        self._listener = listen(address)
        self.address: Address = address if isinstance(address, str) else self._listener.getsockname()[:2]
        self.answered: Future[tuple[str, Channel]] = Future()
        threading.Thread(target=self._answer, daemon=True).start()

    def _answer(self) -> None:
        stream, _ = self._listener.accept()
        try:
            self.answered.set_result(answer(stream, SECRET))
        except Exception as error:
            stream.close()
            self.answered.set_exception(error)

    def close(self) -> None:
        self._listener.close()


@pytest.fixture(params=["unix", "tcp"])
def driver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Driver]:
    driver = Driver(str(tmp_path / "socket") if request.param == "unix" else ("127.0.0.1", 0))
    yield driver
    driver.close()


@pytest.mark.parametrize("size", [0, 1, 65535, 65536, 3_000_000])
def test_messages_arrive_whole_in_both_directions(driver: Driver, size: int) -> None:
    lane = call(driver.address, SECRET, "lane-1")
    name, channel = driver.answered.result(timeout=10)
    message = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    echo = threading.Thread(target=lambda: lane.send(lane.receive()))
    echo.start()
    channel.send(message)
    assert channel.receive() == message
    assert name == "lane-1"
    echo.join()


def test_a_caller_without_the_secret_is_refused(driver: Driver) -> None:
    with pytest.raises(PermissionError, match="refused lane-1"):
        call(driver.address, b"guess" * 8, "lane-1")
    with pytest.raises(PermissionError):
        driver.answered.result(timeout=10)


def test_a_caller_that_talks_nonsense_is_refused(driver: Driver) -> None:
    family = socket.AF_UNIX if isinstance(driver.address, str) else socket.AF_INET
    with socket.socket(family) as stream:
        stream.connect(driver.address)
        stream.sendall(b"GET / HTTP/1.1\r\n\r\n" * 20)
        with pytest.raises(PermissionError):
            driver.answered.result(timeout=10)


def test_a_driver_without_the_secret_is_not_believed(tmp_path: Path) -> None:
    listener = listen(str(tmp_path / "socket"))

    def pretend() -> None:
        stream, _ = listener.accept()
        with stream:
            stream.sendall(b"n" * 32)
            stream.recv(1024)
            stream.sendall(b"d" * 32)

    threading.Thread(target=pretend, daemon=True).start()
    with pytest.raises(PermissionError, match="does not know the secret"):
        call(str(tmp_path / "socket"), SECRET, "lane-1")
    listener.close()


def test_closing_one_end_wakes_the_other(driver: Driver) -> None:
    lane = call(driver.address, SECRET, "lane-1")
    _, channel = driver.answered.result(timeout=10)
    channel.close()
    with pytest.raises(EOFError):
        lane.receive()

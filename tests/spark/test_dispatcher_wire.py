"""Only those who know the secret exchange messages."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from penstock.spark import wire
from penstock.spark.lane_tls import Identity, lane_context, make_identity
from penstock.spark.wire import Address, Channel, answer, call, listen
from tests.support.eavesdropper import Eavesdropper

SECRET = b"s" * 32
IDENTITY = make_identity()


class Driver:
    """Answers one call."""

    def __init__(self, address: Address, identity: Identity | None = None) -> None:
        self._identity = identity
        self._listener = listen(address)
        self.address: Address = address if isinstance(address, str) else self._listener.getsockname()[:2]
        self.answered: Future[tuple[str, Channel]] = Future()
        threading.Thread(target=self._answer, daemon=True).start()

    def _answer(self) -> None:
        stream, _ = self._listener.accept()
        try:
            self.answered.set_result(answer(stream, SECRET, self._identity.context if self._identity else None))
        except Exception as error:
            self.answered.set_exception(error)

    def call(self, secret: bytes = SECRET, address: Address | None = None) -> Channel:
        """A lane that knows the driver's certificate, if there is one."""
        tls = lane_context(self._identity.certificate) if self._identity else None
        return call(address or self.address, secret, "lane-1", tls)

    def close(self) -> None:
        self._listener.close()


@pytest.fixture(params=["unix", "tcp", "tls"])
def driver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Driver]:
    address: Address = str(tmp_path / "socket") if request.param == "unix" else ("127.0.0.1", 0)
    driver = Driver(address, IDENTITY if request.param == "tls" else None)
    yield driver
    driver.close()


@pytest.mark.parametrize("size", [0, 1, 65535, 65536, 3_000_000])
def test_messages_arrive_whole_in_both_directions(driver: Driver, size: int) -> None:
    lane = driver.call()
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
        driver.call(b"guess" * 8)
    with pytest.raises(PermissionError):
        driver.answered.result(timeout=10)


def test_a_caller_that_talks_nonsense_is_refused(driver: Driver) -> None:
    family = socket.AF_UNIX if isinstance(driver.address, str) else socket.AF_INET
    with socket.socket(family) as stream:
        stream.connect(driver.address)
        stream.sendall(b"GET / HTTP/1.1\r\n\r\n" * 20)
        with pytest.raises((PermissionError, ssl.SSLError)):
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
    lane = driver.call()
    _, channel = driver.answered.result(timeout=10)
    channel.close()
    with pytest.raises(EOFError):
        lane.receive()


@pytest.mark.parametrize("identity", [None, IDENTITY], ids=["plain", "tls"])
def test_a_channel_that_another_thread_closes_is_at_its_end_whatever_it_was_about(identity: Identity | None) -> None:
    for _ in range(50):
        driver = Driver(("127.0.0.1", 0), identity)
        lane = driver.call()
        _, channel = driver.answered.result(timeout=10)
        ended = Future[None]()
        threading.Thread(target=_talk, args=(lane, channel, ended), daemon=True).start()
        lane.close()
        channel.close()
        driver.close()
        ended.result(timeout=10)


def _talk(lane: Channel, channel: Channel, ended: Future[None]) -> None:
    try:
        while True:
            lane.send(b"x" * 100)
            channel.receive()
    except (OSError, EOFError):
        ended.set_result(None)
    except BaseException as error:
        ended.set_exception(error)


def test_a_message_that_is_there_is_seen_whatever_came_before(driver: Driver) -> None:
    lane = driver.call()
    _, channel = driver.answered.result(timeout=10)
    assert not lane.has_message(0)
    for message in (b"", b"one", b"two" * 30_000):
        channel.send(message)
        assert lane.has_message(10)
        assert lane.receive() == message
    assert not lane.has_message(0)


@pytest.mark.parametrize("identity", [None, IDENTITY], ids=["plain", "tls"])
def test_an_eavesdropper_reads_messages_only_without_tls(identity: Identity | None) -> None:
    driver = Driver(("127.0.0.1", 0), identity)
    assert isinstance(driver.address, tuple)
    work, receipt = b"a work with a record in it", b"a receipt with another"
    with Eavesdropper(driver.address) as eavesdropper:
        lane = driver.call(address=eavesdropper.address)
        _, channel = driver.answered.result(timeout=10)
        channel.send(work)
        assert lane.receive() == work
        lane.send(receipt)
        assert channel.receive() == receipt
        heard = eavesdropper.heard
    driver.close()
    assert len(heard) > len(work + receipt)
    assert [text in heard for text in (work, receipt, b"lane-1")] == [identity is None] * 3


def test_a_lane_that_expects_tls_does_not_talk_to_another_driver() -> None:
    driver = Driver(("127.0.0.1", 0), make_identity())
    with pytest.raises(ssl.SSLCertVerificationError):
        call(driver.address, SECRET, "lane-1", lane_context(IDENTITY.certificate))
    driver.close()


@pytest.mark.parametrize("side", ["lane", "driver"])
def test_neither_side_goes_on_in_plain_when_the_other_has_no_tls(side: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "HANDSHAKE_SECONDS", 1.0)
    driver = Driver(("127.0.0.1", 0), IDENTITY if side == "driver" else None)
    tls = lane_context(IDENTITY.certificate) if side == "lane" else None
    with pytest.raises((OSError, EOFError)):
        call(driver.address, SECRET, "lane-1", tls)
    with pytest.raises((OSError, EOFError)):
        driver.answered.result(timeout=20)
    driver.close()

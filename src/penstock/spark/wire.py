"""Messages between the driver and its lanes: whole byte strings over a socket, between parties that share a secret.

With TLS (:mod:`.lane_tls`) both sides insist on it: neither ever goes on in plain.
"""

from __future__ import annotations

import contextlib
import hmac
import secrets
import select
import socket
import ssl
import struct
from collections.abc import Iterator

from .lane_tls import NAME

Address = str | tuple[str, int]
"""A Unix socket's path, or host and port."""

HANDSHAKE_SECONDS = 10.0
_LENGTH = struct.Struct("!Q")
_NONCE = 32
_DIGEST = 32
_NAME = 64


class Channel:
    """Sends and receives whole messages. ``EOFError`` or ``OSError`` mean that the other side is gone."""

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream
        if stream.family != socket.AF_UNIX:
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def send(self, message: bytes) -> None:
        with _told_of_closing():
            if len(message) < 65536:
                self._stream.sendall(_LENGTH.pack(len(message)) + message)
            else:
                self._stream.sendall(_LENGTH.pack(len(message)))
                self._stream.sendall(message)

    def has_message(self, seconds: float) -> bool:
        """Whether something comes within this time, if only the end."""
        if isinstance(self._stream, ssl.SSLSocket) and self._stream.pending():
            return True
        waiting = select.poll()
        waiting.register(self._stream, select.POLLIN)
        return bool(waiting.poll(seconds * 1000))

    def receive(self) -> bytes:
        with _told_of_closing():
            (length,) = _LENGTH.unpack(_read(self._stream, _LENGTH.size))
            return bytes(_read(self._stream, length))

    def close(self) -> None:
        """End both directions; whoever is blocked in ``receive``, here or there, gets ``EOFError``.

        A socket with TLS would first forget its TLS, and send in plain for others that are at it: so below it.
        """
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self._stream, socket.SHUT_RDWR)
        self._stream.close()


def listen(address: Address) -> socket.socket:
    """A listening socket: ``address`` with port 0 takes any free one."""
    listener = socket.socket(_family(address), socket.SOCK_STREAM)
    if isinstance(address, tuple):
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(address)
    listener.listen(128)
    return listener


def call(address: Address, secret: bytes, name: str, tls: ssl.SSLContext | None = None) -> Channel:
    """Connect under a ``name`` and prove, both ways, that the secret is known. ``PermissionError`` when refused."""
    stream = socket.socket(_family(address), socket.SOCK_STREAM)
    with _closed_on_error(stream):
        stream.settimeout(HANDSHAKE_SECONDS)
        stream.connect(address)
    if tls is not None:
        stream = tls.wrap_socket(stream, server_hostname=NAME)
    with _closed_on_error(stream):
        theirs = _read(stream, _NONCE)
        ours = secrets.token_bytes(_NONCE)
        label = name.encode().ljust(_NAME)
        stream.sendall(label + ours + _proof(secret, theirs, label))
        try:
            answer = _read(stream, _DIGEST)
        except EOFError:
            raise PermissionError(f"{address} refused {name}") from None
        if not hmac.compare_digest(answer, _proof(secret, ours, b"driver")):
            raise PermissionError(f"{address} does not know the secret")
        stream.settimeout(None)
        return Channel(stream)


def answer(stream: socket.socket, secret: bytes, tls: ssl.SSLContext | None = None) -> tuple[str, Channel]:
    """The other end of :func:`call`: the caller's name and the channel. ``PermissionError`` for a stranger.

    The stream is closed when this fails.
    """
    with _closed_on_error(stream):
        stream.settimeout(HANDSHAKE_SECONDS)
    if tls is not None:
        stream = tls.wrap_socket(stream, server_side=True)
    with _closed_on_error(stream):
        ours = secrets.token_bytes(_NONCE)
        stream.sendall(ours)
        label = bytes(_read(stream, _NAME))
        theirs = _read(stream, _NONCE)
        if not hmac.compare_digest(_read(stream, _DIGEST), _proof(secret, ours, label)):
            raise PermissionError("a caller does not know the secret")
        stream.sendall(_proof(secret, theirs, b"driver"))
        stream.settimeout(None)
        return label.decode().rstrip(), Channel(stream)


@contextlib.contextmanager
def _told_of_closing() -> Iterator[None]:
    """Sockets with TLS that another thread closes meanwhile raise anything."""
    try:
        yield
    except (ValueError, AttributeError) as error:
        raise EOFError("this side has closed the channel") from error


@contextlib.contextmanager
def _closed_on_error(stream: socket.socket) -> Iterator[None]:
    try:
        yield
    except BaseException:
        stream.close()
        raise


def _family(address: Address) -> socket.AddressFamily:
    if isinstance(address, str):
        return socket.AF_UNIX
    return socket.AF_INET6 if ":" in address[0] else socket.AF_INET


def _proof(secret: bytes, nonce: bytes | bytearray, label: bytes) -> bytes:
    return hmac.digest(secret, bytes(nonce) + label, "sha256")


def _read(stream: socket.socket, length: int) -> bytearray:
    message = bytearray(length)
    view = memoryview(message)
    while view:
        count = stream.recv_into(view)
        if not count:
            raise EOFError("the other side is gone")
        view = view[count:]
    return message

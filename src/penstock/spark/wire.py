"""Messages between the driver and its lanes: whole byte strings over a socket, between parties that share a secret."""

from __future__ import annotations

import contextlib
import hmac
import secrets
import select
import socket
import struct

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
        if len(message) < 65536:
            self._stream.sendall(_LENGTH.pack(len(message)) + message)
        else:
            self._stream.sendall(_LENGTH.pack(len(message)))
            self._stream.sendall(message)

    def has_message(self, seconds: float) -> bool:
        """Whether something comes within this time, if only the end."""
        waiting = select.poll()
        waiting.register(self._stream, select.POLLIN)
        return bool(waiting.poll(seconds * 1000))

    def receive(self) -> bytes:
        (length,) = _LENGTH.unpack(_read(self._stream, _LENGTH.size))
        return bytes(_read(self._stream, length))

    def close(self) -> None:
        """End both directions; whoever is blocked in ``receive``, here or there, gets ``EOFError``."""
        with contextlib.suppress(OSError):
            self._stream.shutdown(socket.SHUT_RDWR)
        self._stream.close()


def listen(address: Address) -> socket.socket:
    """A listening socket: ``address`` with port 0 takes any free one."""
    listener = socket.socket(_family(address), socket.SOCK_STREAM)
    if isinstance(address, tuple):
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(address)
    listener.listen(128)
    return listener


def call(address: Address, secret: bytes, name: str) -> Channel:
    """Connect under a ``name`` and prove, both ways, that the secret is known. ``PermissionError`` when refused."""
    stream = socket.socket(_family(address), socket.SOCK_STREAM)
    stream.settimeout(HANDSHAKE_SECONDS)
    stream.connect(address)
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


def answer(stream: socket.socket, secret: bytes) -> tuple[str, Channel]:
    """The other end of :func:`call`: the caller's name and the channel. ``PermissionError`` for a stranger."""
    stream.settimeout(HANDSHAKE_SECONDS)
    ours = secrets.token_bytes(_NONCE)
    stream.sendall(ours)
    label = bytes(_read(stream, _NAME))
    theirs = _read(stream, _NONCE)
    if not hmac.compare_digest(_read(stream, _DIGEST), _proof(secret, ours, label)):
        raise PermissionError("a caller does not know the secret")
    stream.sendall(_proof(secret, theirs, b"driver"))
    stream.settimeout(None)
    return label.decode().rstrip(), Channel(stream)


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

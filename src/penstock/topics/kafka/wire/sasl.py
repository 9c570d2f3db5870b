"""Showing a broker who we are: PLAIN (RFC 4616) and SCRAM (RFC 5802)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Generator
from typing import TYPE_CHECKING

from .fields import int32, string
from .options import Options
from .requests import SASL_AUTHENTICATE, SASL_HANDSHAKE

if TYPE_CHECKING:
    from .connection import Connection

Talk = Generator[bytes, bytes, None]
"""Gives what to say and is sent what the broker replies."""

_FEWEST_ROUNDS, _MOST_ROUNDS = 4096, 1_000_000


class Refused(ConnectionError):
    """The broker does not believe us, or we do not believe the broker."""


def authenticate(connection: Connection, options: Options) -> None:
    """Call once, before anything else is asked. Raises :class:`Refused`."""
    answer = connection.ask(SASL_HANDSHAKE, string(options.mechanism))
    if answer.int16():
        offered = ", ".join(filter(None, answer.array(answer.string)))
        raise Refused(f"the broker does not know the SASL mechanism {options.mechanism}, only {offered}")
    talk = _plain(options) if options.mechanism == "PLAIN" else scram(options)
    said = next(talk)
    while True:
        answer = connection.ask(SASL_AUTHENTICATE, int32(len(said)) + said)
        error, text = answer.int16(), answer.string()
        if error:
            raise Refused(f"authentication failed: {text or f'error {error}'}")
        first, last = answer.blob()
        try:
            said = talk.send(bytes(answer.data[first:last]))
        except StopIteration:
            return
        except (ValueError, KeyError) as problem:
            raise Refused(f"authentication failed: the broker said {problem}") from problem


def _plain(options: Options) -> Talk:
    yield f"\0{options.username}\0{options.password}".encode()


def scram(options: Options, nonce: str | None = None) -> Talk:
    """The client's side. ``nonce`` is chosen unless given."""
    algorithm = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}[options.mechanism or ""]

    def keyed(key: bytes, text: bytes) -> bytes:
        return hmac.new(key, text, algorithm).digest()

    own = nonce or secrets.token_urlsafe(24)
    first = f"n={escaped(options.username)},r={own}"
    challenge = (yield f"n,,{first}".encode()).decode()
    said = _parts(challenge)
    rounds = int(said["i"])
    if not said["r"].startswith(own) or not _FEWEST_ROUNDS <= rounds <= _MOST_ROUNDS:
        raise ValueError(f"an unacceptable challenge: {challenge}")
    salted = hashlib.pbkdf2_hmac(algorithm, options.password.encode(), base64.b64decode(said["s"]), rounds)
    last = f"c=biws,r={said['r']}"
    signed = f"{first},{challenge},{last}".encode()
    client = keyed(salted, b"Client Key")
    signature = keyed(hashlib.new(algorithm, client).digest(), signed)
    proof = bytes(a ^ b for a, b in zip(client, signature, strict=True))
    verdict = _parts((yield f"{last},p={base64.b64encode(proof).decode()}".encode()).decode())
    expected = keyed(keyed(salted, b"Server Key"), signed)
    if not hmac.compare_digest(base64.b64decode(verdict["v"]), expected):
        raise ValueError("a wrong signature: it does not know the password")


def escaped(name: str) -> str:
    """A user's name as SCRAM wants it."""
    return name.replace("=", "=3D").replace(",", "=2C")


def _parts(text: str) -> dict[str, str]:
    found = dict(part.split("=", 1) for part in text.split(","))
    if "e" in found:
        raise ValueError(found["e"])
    return found

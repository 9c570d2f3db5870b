"""The key that signs requests between workers: made by the leader, kept in the config topic, changed regularly."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.storage.config_records import SessionKey

from .requests import BadRequest, Forbidden, RequestError

SIGNATURE = "x-connect-authorization"
ALGORITHM = "x-connect-request-signature-algorithm"

SIGNED_AT = "x-penstock-signed-at"
FRESH_MS = 300_000
"""How old a signed question may be; clocks of workers may differ by as much."""

_HASHES = {"HmacSHA1": "sha1", "HmacSHA256": "sha256", "HmacSHA384": "sha384", "HmacSHA512": "sha512"}


class NoSessionKey(RequestError):
    """The worker has not read a key yet."""

    status = 503


@dataclass(frozen=True)
class SigningSettings:
    """The worker keys ``inter.worker.*``."""

    key_algorithm: str = "HmacSHA256"
    key_size: int | None = None
    key_ttl_ms: int = 3_600_000
    signature_algorithm: str = "HmacSHA256"
    verification_algorithms: Sequence[str] = ("HmacSHA256",)


def is_known(algorithm: str) -> bool:
    """Whether keys of this algorithm can be made and used here."""
    return algorithm in _HASHES


def new_key(settings: SigningSettings) -> SessionKey:
    """A fresh key; without a size, as long as the hash."""
    size = settings.key_size or hashlib.new(_HASHES[settings.key_algorithm]).digest_size * 8
    return SessionKey(secrets.token_bytes((size + 7) // 8), settings.key_algorithm, time.time_ns() // 1_000_000)


def is_due(key: SessionKey | None, settings: SigningSettings) -> bool:
    """Whether the leader has to make a new key."""
    if key is None or key.algorithm != settings.key_algorithm:
        return True
    if settings.key_size is not None and len(key.key) != (settings.key_size + 7) // 8:
        return True
    return time.time_ns() // 1_000_000 - key.created >= settings.key_ttl_ms


def sign(body: bytes, key: SessionKey, settings: SigningSettings) -> dict[str, str]:
    """The headers of a signed request."""
    mac = hmac.new(key.key, body, _HASHES[settings.signature_algorithm]).digest()
    return {
        "X-Connect-Authorization": base64.b64encode(mac).decode(),
        "X-Connect-Request-Signature-Algorithm": settings.signature_algorithm,
    }


def sign_question(target: bytes, key: SessionKey, settings: SigningSettings) -> dict[str, str]:
    """The headers of a signed GET, which are good for this path and query alone, and not for long.

    Kafka Connect's workers ask each other nothing by GET: this is between Penstock's.
    """
    now = str(time.time_ns() // 1_000_000)
    return {**sign(_question(target, now), key, settings), SIGNED_AT: now}


def verify_question(
    target: bytes, headers: Mapping[str, str], key: SessionKey | None, settings: SigningSettings
) -> None:
    """Raises what a GET with a missing, strange, wrong or old signature is answered with."""
    signed_at = headers.get(SIGNED_AT, "")
    verify(_question(target, signed_at), headers, key, settings)
    if abs(time.time_ns() // 1_000_000 - int(signed_at)) > FRESH_MS:
        raise Forbidden(
            f"Internal request was signed more than {FRESH_MS // 1000} seconds ago, or the clocks of workers differ."
        )


def _question(target: bytes, signed_at: str) -> bytes:
    return b"GET " + target + b"\n" + signed_at.encode("latin-1")


def signature(headers: Mapping[str, str]) -> tuple[bytes, str]:
    """The signature of a request and its algorithm. Raises ``BadRequest`` when it is missing, or cannot be one."""
    encoded, algorithm = headers.get(SIGNATURE), headers.get(ALGORITHM)
    if encoded is None or algorithm is None:
        raise BadRequest("Internal request missing required signature")
    if not is_known(algorithm):
        raise BadRequest(f"The algorithm {algorithm} is not known")
    try:
        return base64.b64decode(encoded, validate=True), algorithm
    except (binascii.Error, ValueError) as error:
        raise BadRequest(f"The signature is not base64: {error}") from error


def verify(body: bytes, headers: Mapping[str, str], key: SessionKey | None, settings: SigningSettings) -> None:
    """Raises what a request with a missing, strange or wrong signature is answered with."""
    algorithm = headers.get(ALGORITHM)
    if SIGNATURE in headers and algorithm is not None and algorithm not in settings.verification_algorithms:
        raise BadRequest(
            f"This worker does not support the '{algorithm}' key signing algorithm used by other workers. This worker "
            f"is currently configured to use: [{', '.join(settings.verification_algorithms)}]. Check that all workers' "
            "configuration files permit the same set of signature algorithms, and correct any misconfigured worker and "
            "restart it."
        )
    given, algorithm = signature(headers)
    if key is None:
        raise NoSessionKey(
            "This worker is still starting up and has not been able to read a session key from the config topic yet"
        )
    if not hmac.compare_digest(given, hmac.new(key.key, body, _HASHES[algorithm]).digest()):
        raise Forbidden("Internal request contained invalid signature.")

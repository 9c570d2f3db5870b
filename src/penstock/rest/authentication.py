"""Who sends a request: HTTP Basic with a password, or a bearer token, checked against the file of users."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import logging
import secrets
import time
from collections.abc import Mapping
from pathlib import Path

from penstock.api.errors import ConfigError

from .failed_logins import FailedLogins
from .users import PasswordHash, TokenHash, User, parse_users

LOOK_SECONDS = 1.0
_AT_ONCE = 2
log = logging.getLogger(__name__)


class UsersFile:
    """The users of a file, which is read again when it has changed.

    A file that cannot be read at the start, or names nobody, is a ``ConfigError``. One that turns bad later is logged,
    and those who were known before stay known.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._looked = time.monotonic()
        self._stamp = _stamp(path)
        self._users = _read(path)
        if not self._users:
            raise ConfigError(f"{path} has no users. Add one: penstock user add {path} NAME --role admin")

    @property
    def users(self) -> Mapping[str, User]:
        """By name; at most a second old."""
        now = time.monotonic()
        if now - self._looked >= LOOK_SECONDS:
            self._looked = now
            self._look()
        return self._users

    def _look(self) -> None:
        stamp = _stamp(self._path)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._users = _read(self._path)
            log.info("Users are read again from %s", self._path)
        except ConfigError as error:
            log.error("Users stay as they were: %s", error)


class Authenticator:
    """Finds the user of an ``Authorization`` header. Lives on the REST server's loop.

    A password that was right once is remembered, as a keyed hash that is worth nothing outside of this process: the
    slow check runs once for each user and password, and only so many run at the same time. Addresses that give wrong
    ones wait for theirs; whoever is remembered, or has a token, does not.
    """

    def __init__(self, file: UsersFile) -> None:
        self._file = file
        self._key = secrets.token_bytes(32)
        self._right: dict[str, tuple[PasswordHash, bytes]] = {}
        self._nobody = PasswordHash.of(secrets.token_hex())
        self._turn = asyncio.Semaphore(_AT_ONCE)
        self._failed = FailedLogins()

    async def user(self, authorization: bytes, address: str = "-") -> User | None:
        """The user, or ``None`` when name, password or token is wrong, or the header cannot be read.

        ``address``: who asks. Raises an ``HttpProblem`` (429) for one that has been wrong too often.
        """
        scheme, _, given = authorization.decode("latin-1").strip().partition(" ")
        name = None
        if scheme.lower() == "basic":
            name, password = _name_and_password(given.strip())
            user = None if name is None else await self._with_password(name, password, address)
        else:
            user = self._with_token(given.strip()) if scheme.lower() == "bearer" else None
        if user is None:
            self._failed.note(address, name if name in self._file.users else None)
        return user

    def _with_token(self, token: str) -> User | None:
        given = TokenHash.of(token).hash
        fitting = [
            user
            for user in self._file.users.values()
            if isinstance(user.secret, TokenHash) and hmac.compare_digest(user.secret.hash, given)
        ]
        return fitting[0] if fitting else None

    async def _with_password(self, name: str, password: str, address: str) -> User | None:
        users = self._file.users
        user = users.get(name)
        secret = user.secret if user is not None and isinstance(user.secret, PasswordHash) else self._nobody
        digest = hmac.new(self._key, f"{name}:{password}".encode(), hashlib.sha256).digest()
        known = self._right.get(name)
        if known is not None and known[0] == secret and hmac.compare_digest(known[1], digest):
            return user
        async with self._failed.turn(address), self._turn:
            fits = await asyncio.to_thread(secret.fits, password)
        if not fits or secret is self._nobody:
            return None
        self._right = {old: entry for old, entry in self._right.items() if old in users}
        self._right[name] = (secret, digest)
        return user


def _name_and_password(encoded: str) -> tuple[str | None, str]:
    """No name when it cannot be read."""
    try:
        name, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return None, ""
    return name, password


def _stamp(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _read(path: Path) -> Mapping[str, User]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"The file of users {path} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise ConfigError(f"The file of users {path} is not UTF-8 text.") from None
    return parse_users(text, str(path))

"""Who may use the REST API: a file of names, roles and hashes, one a line, as ``penstock user`` writes it.

    # a comment
    ops:admin:scrypt$16384$8$5$<salt>$<hash>
    dashboard:read-only:sha256$<hash of a token>

A password is hashed slowly and with a salt. A token is random and long, so a plain hash of it tells nothing.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from penstock.api.errors import ConfigError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}")
TOKEN_PREFIX = "penstock_"
_COST, _BLOCK, _LANES = 2**14, 8, 5
_COSTS = frozenset(2**bits for bits in range(10, 21))
_SALT_BYTES, _HASH_BYTES = 16, 32
_LINE = "A line reads name:role:hash; penstock user add FILE NAME writes it."


class Role(StrEnum):
    """``ADMIN`` may do everything, ``READ_ONLY`` look at everything but secrets."""

    ADMIN = "admin"
    READ_ONLY = "read-only"


@dataclass(frozen=True)
class PasswordHash:
    """A salted scrypt hash with its cost."""

    cost: int
    block: int
    lanes: int
    salt: bytes = field(repr=False)
    hash: bytes = field(repr=False)

    @classmethod
    def of(cls, password: str) -> PasswordHash:
        salt = secrets.token_bytes(_SALT_BYTES)
        return cls(_COST, _BLOCK, _LANES, salt, _scrypt(password, _COST, _BLOCK, _LANES, salt, _HASH_BYTES))

    @classmethod
    def parse(cls, text: str) -> PasswordHash:
        """Raises ``ValueError``."""
        kind, cost, block, lanes, salt, hashed = text.split("$")
        found = cls(int(cost), int(block), int(lanes), _bytes(salt), _bytes(hashed))
        known = kind == "scrypt" and found.cost in _COSTS and 0 < found.block <= 16 and 0 < found.lanes <= 16
        if not known or len(found.salt) < 8 or not 16 <= len(found.hash) <= 64:
            raise ValueError("no scrypt hash")
        return found

    def __str__(self) -> str:
        texts = (base64.b64encode(part).decode() for part in (self.salt, self.hash))
        return "$".join(("scrypt", str(self.cost), str(self.block), str(self.lanes), *texts))

    def fits(self, password: str) -> bool:
        """Takes a good part of a second, on purpose."""
        given = _scrypt(password, self.cost, self.block, self.lanes, self.salt, len(self.hash))
        return hmac.compare_digest(given, self.hash)


@dataclass(frozen=True)
class TokenHash:
    """The hash of a token."""

    hash: bytes = field(repr=False)

    @classmethod
    def of(cls, token: str) -> TokenHash:
        return cls(hashlib.sha256(token.encode()).digest())

    @classmethod
    def parse(cls, text: str) -> TokenHash:
        """Raises ``ValueError``."""
        kind, hashed = text.split("$")
        found = cls(bytes.fromhex(hashed))
        if kind != "sha256" or len(found.hash) != 32:
            raise ValueError("no sha256 hash")
        return found

    def __str__(self) -> str:
        return f"sha256${self.hash.hex()}"


@dataclass(frozen=True)
class User:
    """One line of the file."""

    name: str
    role: Role
    secret: PasswordHash | TokenHash

    def __str__(self) -> str:
        return f"{self.name}:{self.role.value}:{self.secret}"


def new_token() -> str:
    """A token nobody guesses; its beginning tells scanners for leaked secrets what it is."""
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def parse_users(text: str, source: str) -> Mapping[str, User]:
    """Users by name. Raises ``ConfigError`` that names the file and the line."""
    found: dict[str, User] = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        try:
            user = _parse_line(line)
        except ValueError as error:
            raise ConfigError(f"{source}, line {number}: {error} {_LINE}") from None
        if user.name in found:
            raise ConfigError(f"{source}, line {number}: there is a user {user.name} already. Remove one of them.")
        found[user.name] = user
    return found


def _parse_line(line: str) -> User:
    """Raises ``ValueError`` with a text for the user, which never shows a hash, nor what may be a password."""
    name, _, rest = line.partition(":")
    role, _, hashed = rest.partition(":")
    if not NAME.fullmatch(name) or not hashed:
        raise ValueError("this is not a user.")
    if role not in {known.value for known in Role}:
        raise ValueError(f"the role of {name} is neither admin nor read-only.")
    try:
        is_token = hashed.startswith("sha256$")
        secret: PasswordHash | TokenHash = TokenHash.parse(hashed) if is_token else PasswordHash.parse(hashed)
        return User(name, Role(role), secret)
    except ValueError:
        raise ValueError(f"the hash of {name} cannot be used.") from None


def _scrypt(password: str, cost: int, block: int, lanes: int, salt: bytes, size: int) -> bytes:
    memory = 128 * block * (cost + lanes + 2) + 1024 * 1024
    return hashlib.scrypt(password.encode(), salt=salt, n=cost, r=block, p=lanes, maxmem=memory, dklen=size)


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError("no base64") from error

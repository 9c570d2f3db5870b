"""Whether a request may be answered: by its credentials and its role."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.api.errors import ConfigError
from penstock.runtime.herder import Herder
from penstock.runtime.session_keys import ALGORITHM, SIGNATURE, SIGNED_AT

from .authentication import Authenticator, UsersFile
from .origins import READS
from .problems import HttpProblem
from .request import Request
from .response_headers import Cors
from .routing import Route
from .users import Role

USERS_KEY = "rest.auth.users.file"
OPEN_KEY = "rest.auth.open.paths"
EXTENSIONS_KEY = "rest.extension.classes"
BASIC_EXTENSION = "BasicAuthSecurityRestExtension"
ANOTHER_WORKER = "another worker"
_DEFAULT_OPEN = "/health"
_CHALLENGES = (
    (b"www-authenticate", b'Basic realm="penstock", charset="UTF-8"'),
    (b"www-authenticate", b'Bearer realm="penstock"'),
)
_MISSING = "Credentials are missing: this worker asks for a user name and a password (Basic), or for a token (Bearer)."
_WRONG = "User cannot access the resource: the user name, the password or the token is wrong."


@dataclass(frozen=True)
class AccessSettings:
    """The users, and the paths that anybody may read."""

    file: UsersFile
    open_paths: frozenset[bytes]

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> AccessSettings | None:
        """``None`` without users: then everybody may do everything. Raises ``ConfigError``."""
        path = properties.get(USERS_KEY, "").strip()
        if path:
            return cls(UsersFile(Path(path).expanduser()), _open_paths(properties.get(OPEN_KEY, _DEFAULT_OPEN)))
        if asks_for_basic(properties.get(EXTENSIONS_KEY, "")):
            raise ConfigError(
                f"{EXTENSIONS_KEY} asks for basic authentication, and {USERS_KEY} names no file of users (Kafka "
                "Connect's JAAS configuration is not read). Make one: penstock user add FILE NAME --role admin"
            )
        return None


def asks_for_basic(extensions: str) -> bool:
    """Whether Kafka Connect's own extension for basic authentication is among these classes."""
    return any(name.strip().rpartition(".")[2] == BASIC_EXTENSION for name in extensions.split(","))


class Access:
    """Lets requests in, or raises an ``HttpProblem``: 401 without right credentials, 403 for what a role may not do."""

    def __init__(self, settings: AccessSettings, cors: Cors, herder: Herder) -> None:
        self._open = settings.open_paths
        self._authenticator = Authenticator(settings.file)
        self._cors = cors
        self._herder = herder

    async def admit(self, scope: Mapping[str, Any], request: Request, route: Route | None) -> None:
        """Fills in ``request.user`` and ``request.sees_secrets``. ``route``: what would answer, if anything does."""
        request.sees_secrets = False
        if self._is_open(scope, request) or (route is not None and route.signed):
            return
        given = request.header(b"authorization")
        if given is None:
            request.user = self._another_worker(scope, request)
            return
        client = scope.get("client")
        user = await self._authenticator.user(given, client[0] if client else "-")
        if user is None:
            raise HttpProblem(401, _WRONG, _CHALLENGES)
        request.user = user.name
        if scope["method"] not in READS and user.role is not Role.ADMIN:
            raise HttpProblem(403, f"{user.name} may only read: this needs the role {Role.ADMIN.value}.")
        request.sees_secrets = user.role is Role.ADMIN

    def _is_open(self, scope: Mapping[str, Any], request: Request) -> bool:
        """What stays open, and what browsers ask before they send credentials."""
        method = scope["method"]
        if method == "OPTIONS":
            return bool(self._cors.origins) and request.header(b"access-control-request-method") is not None
        return method in READS and (scope["raw_path"].rstrip(b"/") or b"/") in self._open

    def _another_worker(self, scope: Mapping[str, Any], request: Request) -> str:
        """Workers sign what they ask each other instead of having users."""
        found = {name: request.header(name.encode()) for name in (SIGNATURE, ALGORITHM, SIGNED_AT)}
        headers = {name: value.decode("latin-1") for name, value in found.items() if value is not None}
        target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
        complete = scope["method"] == "GET" and len(headers) == len(found)
        if not complete or not self._herder.is_signed_question(target, headers):
            raise HttpProblem(401, _MISSING, _CHALLENGES)
        return ANOTHER_WORKER


def _open_paths(text: str) -> frozenset[bytes]:
    paths = [item.strip() for item in text.split(",") if item.strip()]
    for path in paths:
        if not path.startswith("/") or not path.isascii():
            raise ConfigError.invalid(OPEN_KEY, path, "a list of paths such as /health,/metrics")
    return frozenset((path.rstrip("/") or "/").encode() for path in paths)

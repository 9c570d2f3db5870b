"""Access tokens by the OAuth 2 client credentials grant, for whoever talks to a service that asks for them.

docs/adr tells why there is no library behind it (OAuth tokens by one loop of our own).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx2


@dataclass(frozen=True)
class ClientCredentials:
    """Who asks which token endpoint for what. The secret stays out of ``repr``."""

    endpoint: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str = ""


class TokenError(Exception):
    """No token. ``passing``: the endpoint cannot be reached or is in trouble; otherwise it said no."""

    def __init__(self, detail: str, passing: bool) -> None:
        super().__init__(detail)
        self.passing = passing


class AccessToken:
    """The token of some credentials: fetched when first asked for, and again when its time is over.

    ``post`` is httpx2's, or that of a client with its trust store, proxy and time limits. ``seconds_of_use`` says for
    how long a token is used, given the life that the endpoint tells (``None`` when it tells none that can be read); the
    time runs from before the request. Threads may share one of these.
    """

    def __init__(
        self,
        credentials: ClientCredentials,
        post: Callable[..., httpx2.Response],
        seconds_of_use: Callable[[float | None], float],
    ) -> None:
        self._credentials = credentials
        self._post = post
        self._seconds_of_use = seconds_of_use
        self._lock = threading.Lock()
        self._token = ""
        self._valid_until = 0.0

    def get(self) -> str:
        """A token that can be used now. Blocks while one is fetched; raises :class:`TokenError` when there is none."""
        with self._lock:
            if time.monotonic() >= self._valid_until:
                began = time.monotonic()
                answer = self._fetch()
                self._token = answer["access_token"]
                self._valid_until = began + self._seconds_of_use(_seconds(answer.get("expires_in")))
            return self._token

    def _fetch(self) -> dict[str, Any]:
        """The answer of the endpoint, with a text as ``access_token``."""
        import httpx2

        wanted = self._credentials
        form = {"grant_type": "client_credentials"} | ({"scope": wanted.scope} if wanted.scope else {})
        try:
            answer = self._post(wanted.endpoint, data=form, auth=(wanted.client_id, wanted.client_secret))
        except httpx2.RequestError as error:
            raise TokenError(f"cannot be reached: {error}", passing=True) from error
        if answer.status_code >= 500:
            raise TokenError(f"answered {answer.status_code}", passing=True)
        body = _json_object(answer)
        if not answer.is_success or not isinstance(body.get("access_token"), str):
            detail = body.get("error_description") or body.get("error") or f"status {answer.status_code}"
            raise TokenError(str(detail), passing=False)
        return body


def _json_object(answer: httpx2.Response) -> dict[str, Any]:
    try:
        body = answer.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _seconds(told: Any) -> float | None:
    try:
        seconds = float(told)
    except (TypeError, ValueError):
        return None
    return seconds if seconds >= 0 else None

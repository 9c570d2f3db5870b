"""Who we are to the registry: headers for each request, with tokens renewed in time."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from penstock.api.errors import DataError, RetriableError

from .settings import OauthSettings, RegistrySettings

if TYPE_CHECKING:
    import httpx2

Headers = Callable[[], Mapping[str, str]]

_SHORTEST_LIFE = 1.0


def auth_headers(settings: RegistrySettings, http: httpx2.Client) -> Headers:
    """A function that gives the authentication headers of the next request."""
    if settings.oauth is not None:
        return _OauthToken(settings.oauth, http).headers
    fixed: dict[str, str] = {}
    if settings.token is not None:
        fixed["Authorization"] = f"Bearer {settings.token}"
    elif settings.user_info is not None:
        fixed["Authorization"] = "Basic " + b64encode(settings.user_info.encode()).decode("ascii")
    return lambda: fixed


class _OauthToken:
    """An access token by client credentials, asked for again before it expires."""

    def __init__(self, settings: OauthSettings, http: httpx2.Client) -> None:
        self._settings = settings
        self._http = http
        self._token = ""
        self._valid_until = 0.0

    def headers(self) -> Mapping[str, str]:
        if time.monotonic() >= self._valid_until:
            self._renew()
        found = {"Authorization": f"Bearer {self._token}"}
        if self._settings.cluster:
            found["target-sr-cluster"] = self._settings.cluster
        if self._settings.identity_pool:
            found["Confluent-Identity-Pool-Id"] = self._settings.identity_pool
        return found

    def _renew(self) -> None:
        import httpx2

        settings = self._settings
        form = {"grant_type": "client_credentials"} | ({"scope": settings.scope} if settings.scope else {})
        try:
            answer = self._http.post(settings.endpoint, data=form, auth=(settings.client_id, settings.client_secret))
        except httpx2.TransportError as error:
            raise RetriableError(f"The token endpoint {settings.endpoint} cannot be reached: {error}") from error
        if answer.status_code >= 500:
            raise RetriableError(f"The token endpoint {settings.endpoint} answered {answer.status_code}")
        body = _json_object(answer)
        if answer.status_code != 200 or not isinstance(body.get("access_token"), str):
            detail = body.get("error_description") or body.get("error") or f"status {answer.status_code}"
            raise DataError(
                f"The token endpoint {settings.endpoint} gave no token to {settings.client_id}: {detail}",
                "org.apache.kafka.common.errors.AuthenticationException",
            )
        self._token = body["access_token"]
        life = float(body.get("expires_in", 0) or 0)
        early = settings.buffer_seconds if settings.buffer_seconds < life else 0.0
        self._valid_until = time.monotonic() + max(life - early, _SHORTEST_LIFE)


def _json_object(answer: httpx2.Response) -> dict[str, Any]:
    try:
        body = answer.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}

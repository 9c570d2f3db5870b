"""Who we are to the registry: headers for each request, with tokens renewed in time."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from penstock.api.errors import DataError, RetriableError
from penstock.api.oauth import AccessToken, TokenError

from .settings import OauthSettings, RegistrySettings

if TYPE_CHECKING:
    import httpx2

Headers = Callable[[], Mapping[str, str]]


def auth_headers(settings: RegistrySettings, http: httpx2.Client) -> Headers:
    """A function that gives the authentication headers of the next request."""
    if settings.oauth is not None:
        return _OauthHeaders(settings.oauth, http)
    fixed: dict[str, str] = {}
    if settings.token is not None:
        fixed["Authorization"] = f"Bearer {settings.token}"
    elif settings.user_info is not None:
        fixed["Authorization"] = "Basic " + b64encode(settings.user_info.encode()).decode("ascii")
    return lambda: fixed


class _OauthHeaders:
    """A token and what goes with it. The endpoint is asked over the certificates and proxy for the registry."""

    def __init__(self, settings: OauthSettings, http: httpx2.Client) -> None:
        self._credentials = settings.credentials
        self._token = AccessToken(settings.credentials, http.post, settings.seconds_of_use)
        self._more = {
            name: value
            for name, value in (
                ("target-sr-cluster", settings.cluster),
                ("Confluent-Identity-Pool-Id", settings.identity_pool),
            )
            if value
        }

    def __call__(self) -> Mapping[str, str]:
        wanted = self._credentials
        try:
            return {"Authorization": f"Bearer {self._token.get()}", **self._more}
        except TokenError as error:
            if error.passing:
                raise RetriableError(f"The token endpoint {wanted.endpoint} {error}") from error
            raise DataError(
                f"The token endpoint {wanted.endpoint} gave no token to {wanted.client_id}: {error}",
                "org.apache.kafka.common.errors.AuthenticationException",
            ) from error

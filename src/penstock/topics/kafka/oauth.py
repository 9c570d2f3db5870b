"""Tokens for OAUTHBEARER where librdkafka does not fetch them: an OpenID provider gives them for an id and a secret."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import httpx2
from kafka.errors import SaslAuthenticationFailedError
from kafka.net.sasl.oauth import AbstractTokenProvider

from penstock.api.oauth import AccessToken, ClientCredentials, TokenError

ANSWER_SECONDS = 10.0
USUAL_SECONDS = 300.0
"""How long a token lasts whose provider does not say it."""

PART_OF_LIFE = 0.8


class OidcTokens(AbstractTokenProvider):  # type: ignore[misc]
    """Keeps a token and fetches another before it ends. ``settings`` are librdkafka's."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        super().__init__()
        self._credentials = ClientCredentials(
            endpoint=settings["sasl.oauthbearer.token.endpoint.url"],
            client_id=settings["sasl.oauthbearer.client.id"],
            client_secret=settings["sasl.oauthbearer.client.secret"],
            scope=settings.get("sasl.oauthbearer.scope", ""),
        )
        self._token = AccessToken(self._credentials, partial(httpx2.post, timeout=ANSWER_SECONDS), _seconds_of_use)

    def token(self) -> str:
        """Blocks while a token is fetched. Raises kafka-python's error when there is none."""
        try:
            return self._token.get()
        except TokenError as error:
            raise SaslAuthenticationFailedError(f"{self._credentials.endpoint} gave no token: {error}") from error


def _seconds_of_use(life: float | None) -> float:
    return PART_OF_LIFE * (USUAL_SECONDS if life is None else life)

"""Tokens for OAUTHBEARER where librdkafka does not fetch them: an OpenID provider gives them for an id and a secret."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping

import httpx2
from kafka.errors import SaslAuthenticationFailedError
from kafka.net.sasl.oauth import AbstractTokenProvider

ANSWER_SECONDS = 10.0
USUAL_SECONDS = 300.0
"""How long a token is used whose provider does not say how long it lasts."""

PART_OF_LIFE = 0.8


class OidcTokens(AbstractTokenProvider):  # type: ignore[misc]
    """Keeps a token and fetches another before it ends. ``settings`` are librdkafka's."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        super().__init__()
        self._url = settings["sasl.oauthbearer.token.endpoint.url"]
        self._login = (settings["sasl.oauthbearer.client.id"], settings["sasl.oauthbearer.client.secret"])
        self._form = {"grant_type": "client_credentials"}
        if settings.get("sasl.oauthbearer.scope"):
            self._form["scope"] = settings["sasl.oauthbearer.scope"]
        self._lock = threading.Lock()
        self._token, self._until = "", 0.0

    def token(self) -> str:
        """Blocks while a token is fetched. Raises kafka-python's error when there is none."""
        with self._lock:
            if time.monotonic() >= self._until:
                self._fetch()
            return self._token

    def _fetch(self) -> None:
        began = time.monotonic()
        try:
            answer = httpx2.post(self._url, data=self._form, auth=self._login, timeout=ANSWER_SECONDS)
            answer.raise_for_status()
            found = answer.json()
            self._token = str(found["access_token"])
            seconds = float(found.get("expires_in", USUAL_SECONDS))
        except (httpx2.HTTPError, ValueError, KeyError, TypeError) as error:
            raise SaslAuthenticationFailedError(f"{self._url} gave no token: {error}") from error
        self._until = began + PART_OF_LIFE * seconds

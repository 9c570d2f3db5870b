"""Tokens by client credentials, from an endpoint that answers as it is told to."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import httpx2
import pytest
from kafka.errors import SaslAuthenticationFailedError

from penstock.api.oauth import AccessToken, ClientCredentials, TokenError
from penstock.converters.registry.settings import OauthSettings
from penstock.topics.kafka.oauth import OidcTokens
from tests.support.ports import free_port
from tests.support.registry import basic


class Endpoint:
    """Answers with ``status`` and ``body`` (a token with a new number unless told otherwise)."""

    def __init__(self) -> None:
        self.status = 200
        self.body: Any = None
        self.more: dict[str, Any] = {"expires_in": 3600}
        self.asked: list[tuple[str | None, dict[str, list[str]]]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}/token"

    def __enter__(self) -> Endpoint:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                endpoint.asked.append((self.headers["Authorization"], form))
                token = {"access_token": f"token{len(endpoint.asked)}", **endpoint.more}
                body = (
                    endpoint.body if isinstance(endpoint.body, bytes) else json.dumps(endpoint.body or token).encode()
                )
                self.send_response(endpoint.status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: Any) -> None:
                """Nothing on the terminal."""

        return Handler


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as running:
        yield running


def whole_life(life: float | None) -> float:
    return 0.0 if life is None else life


def token_of(url: str, scope: str = "", **more: Any) -> AccessToken:
    return AccessToken(ClientCredentials(url, "me", "secret", scope), httpx2.post, more.get("use", whole_life))


def test_a_token_is_asked_for_by_client_credentials_and_kept(endpoint: Endpoint) -> None:
    token = token_of(endpoint.url, "a b")
    assert [token.get(), token.get()] == ["token1", "token1"]
    assert endpoint.asked == [(basic("me:secret"), {"grant_type": ["client_credentials"], "scope": ["a b"]})]


def test_without_a_scope_none_is_sent(endpoint: Endpoint) -> None:
    token_of(endpoint.url).get()
    assert endpoint.asked[0][1] == {"grant_type": ["client_credentials"]}


def test_a_token_whose_time_is_over_is_asked_for_again(endpoint: Endpoint) -> None:
    endpoint.more = {"expires_in": 0}
    token = token_of(endpoint.url)
    assert [token.get(), token.get()] == ["token1", "token2"]


@pytest.mark.parametrize(
    ("more", "life"),
    [({"expires_in": 60}, 60), ({"expires_in": "60"}, 60), ({}, None), ({"expires_in": None}, None)]
    + [({"expires_in": wrong}, None) for wrong in ("soon", [], -1, float("nan"))],
)
def test_the_life_that_the_endpoint_tells_decides_for_how_long(
    endpoint: Endpoint, more: dict[str, Any], life: float | None
) -> None:
    lives = []
    endpoint.more = more
    token_of(endpoint.url, use=lambda told: lives.append(told) or 1.0).get()
    assert lives == [life]


def test_threads_that_need_a_token_at_once_share_one(endpoint: Endpoint) -> None:
    token = token_of(endpoint.url)
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(lambda _: token.get(), range(32))) == {"token1"}
    assert len(endpoint.asked) == 1


@pytest.mark.parametrize(
    ("status", "body", "message", "passing"),
    [
        (401, {"error": "invalid_client", "error_description": "Who are you?"}, "Who are you?", False),
        (400, {"error": "invalid_scope"}, "invalid_scope", False),
        (403, b"<html>", "status 403", False),
        (200, b"<html>", "status 200", False),
        (200, [1], "status 200", False),
        (200, {"access_token": 1}, "status 200", False),
        (302, {"access_token": "x"}, "status 302", False),
        (500, {"error": "server_error"}, "answered 500", True),
        (503, b"", "answered 503", True),
    ],
)
def test_an_endpoint_that_gives_no_token_is_told_with_its_reason(
    endpoint: Endpoint, status: int, body: Any, message: str, passing: bool
) -> None:
    endpoint.status, endpoint.body = status, body
    token = token_of(endpoint.url)
    with pytest.raises(TokenError) as refused:
        token.get()
    assert (str(refused.value), refused.value.passing) == (message, passing)
    endpoint.status, endpoint.body = 200, None
    assert token.get() == "token2"


def test_an_endpoint_that_cannot_be_reached_may_be_there_later() -> None:
    with pytest.raises(TokenError, match="cannot be reached") as refused:
        token_of(f"http://127.0.0.1:{free_port()}/token").get()
    assert refused.value.passing


def test_the_secret_is_not_printed() -> None:
    assert "secret" not in repr(ClientCredentials("http://id/token", "me", "secret"))


@pytest.mark.parametrize(
    ("life", "used"), [(3600.0, 3300.0), (301.0, 1.0), (300.0, 300.0), (60.0, 60.0), (0.0, 1.0), (None, 1.0)]
)
def test_a_token_for_the_registry_is_renewed_a_buffer_before_its_end(life: float | None, used: float) -> None:
    settings = OauthSettings(ClientCredentials("http://id/token", "me", "secret"), buffer_seconds=300.0)
    assert settings.seconds_of_use(life) == used


def test_a_worker_of_a_cluster_keeps_its_token(endpoint: Endpoint) -> None:
    tokens = OidcTokens(kafka_settings(endpoint.url))
    assert [tokens.token(), tokens.token()] == ["token1", "token1"]
    assert endpoint.asked == [(basic("me:secret"), {"grant_type": ["client_credentials"], "scope": ["kafka"]})]


def test_a_worker_of_a_cluster_that_gets_no_token_says_where_and_why(endpoint: Endpoint) -> None:
    endpoint.status, endpoint.body = 401, {"error": "invalid_client"}
    with pytest.raises(SaslAuthenticationFailedError, match=f"{endpoint.url} gave no token: invalid_client"):
        OidcTokens(kafka_settings(endpoint.url)).token()


def kafka_settings(url: str) -> dict[str, str]:
    return {
        "sasl.oauthbearer.token.endpoint.url": url,
        "sasl.oauthbearer.client.id": "me",
        "sasl.oauthbearer.client.secret": "secret",
        "sasl.oauthbearer.scope": "kafka",
    }

"""Listeners, TLS, CORS and added headers, as the worker configuration asks for them."""

from __future__ import annotations

import re
import socket
import ssl
from concurrent.futures import Future, ThreadPoolExecutor
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import cast

import httpx2
import pytest

import penstock
from penstock.api.errors import ConfigError
from penstock.rest.server import RestServer
from penstock.rest.settings import RestSettings
from penstock.runtime.herder import Herder
from tests.rest.troubled_herder import TroubledHerder
from tests.support.certificates import make_certificate
from tests.support.waiting import wait_until


class Served:
    """A server on the worker of these tests, with settings of its own."""

    herder: TroubledHerder

    def __init__(self, **properties: str) -> None:
        given = {key.replace("_", "."): value for key, value in properties.items()}
        settings = RestSettings.from_properties({"listeners": "http://127.0.0.1:0", **given})
        self.server = RestServer(cast(Herder, self.herder), settings)

    def __enter__(self) -> RestServer:
        self.server.start()
        return self.server

    def __exit__(self, *error: object) -> None:
        self.server.stop()


@pytest.fixture(autouse=True)
def served_herder(herder: TroubledHerder) -> None:
    Served.herder = herder


def get(url: str, **more: object) -> httpx2.Response:
    return httpx2.get(url, trust_env=False, **more)  # type: ignore[arg-type]


def test_defaults_are_kafka_connects() -> None:
    settings = RestSettings.from_properties({})
    assert [str(listener) for listener in settings.main.listeners] == ["http://:8083"]
    assert settings.admin is None
    assert settings.cors.origins == ()


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ({"listeners": "8083"}, "Listener doesn't have the right format (protocol://hostname:port)."),
        ({"listeners": "ftp://:21"}, 'Listener protocol must be either "http" or "https".'),
        ({"listeners": ""}, "configuration listeners"),
        ({"listeners": "https://:8443"}, "ssl.keystore.location"),
        ({"listeners": "https://:8443", "ssl.keystore.location": "/nowhere.pem"}, "the file cannot be read"),
        ({"rest.request.max.bytes": "0"}, "rest.request.max.bytes"),
        ({"rest.request.max.bytes": "much"}, "Invalid value much for configuration rest.request.max.bytes"),
        ({"response.http.headers.config": "put X:1"}, "set|add|setDate|addDate"),
        ({"response.http.headers.config": "setDate Expires:soon"}, "milliseconds from now"),
    ],
)
def test_a_wrong_setting_is_named(properties: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(text)):
        RestSettings.from_properties(properties)


def test_a_java_key_store_is_refused_with_the_way_to_convert_it(tmp_path: Path) -> None:
    store = tmp_path / "store.jks"
    store.write_bytes(b"\xfe\xed\xfe\xed")
    with pytest.raises(ConfigError, match="keytool -importkeystore"):
        RestSettings.from_properties({"listeners": "https://:0", "ssl.keystore.location": str(store)})


def test_several_listeners_serve_the_same() -> None:
    with Served(listeners="http://127.0.0.1:0, http://localhost:0") as server:
        assert len(server.urls) == 2
        assert all(get(url).json()["version"] == penstock.__version__ for url in server.urls)


def test_an_empty_host_listens_everywhere() -> None:
    with Served(listeners="http://:0") as server:
        assert get(server.url.replace("localhost", "127.0.0.1")).status_code == 200


def test_a_taken_port_is_named_and_nothing_stays_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(ConfigError, match=rf"listeners: cannot listen on http://127.0.0.1:{port}"),
            Served(listeners=f"http://127.0.0.1:{port}"),
        ):
            pass


def test_a_server_can_be_stopped_and_its_port_used_again() -> None:
    with Served() as server:
        port = httpx2.URL(server.url).port
    with Served(listeners=f"http://127.0.0.1:{port}") as server:
        assert get(server.url).status_code == 200


def test_a_request_that_waits_is_answered_when_the_server_stops(herder: TroubledHerder) -> None:
    herder.stuck = Future()
    with Served() as server, ThreadPoolExecutor() as pool:
        waiting = pool.submit(get, f"{server.url}/connectors/a/offsets", timeout=120)
        wait_until(lambda: herder.waiting, "the request reaches the herder")
        server.stop(grace_seconds=0)
        answer = waiting.result()
    assert answer.status_code == 500
    assert answer.json() == {"error_code": 500, "message": "Worker is shutting down"}


def test_admin_has_its_own_listeners() -> None:
    with Served(admin_listeners="http://127.0.0.1:0") as server:
        assert get(f"{server.url}/admin/loggers").status_code == 404
        assert get(f"{server.admin_urls[0]}/admin/loggers").status_code == 200
        assert get(f"{server.admin_urls[0]}/connectors").status_code == 404


def test_admin_can_be_switched_off() -> None:
    with Served(admin_listeners="") as server:
        assert get(f"{server.url}/admin/loggers").status_code == 404
        assert "/admin/loggers" not in get(f"{server.url}/openapi.json").json()["paths"]


def test_only_named_origins_may_read_answers() -> None:
    with Served(**{"access.control.allow.origin": "http://a.example, http://*.b.example"}) as server:
        for origin, allowed in (("http://a.example", True), ("http://x.b.example", True), ("http://evil", False)):
            headers = get(f"{server.url}/connectors", headers={"Origin": origin}).headers
            assert (headers.get("access-control-allow-origin") == origin) is allowed
        assert "access-control-allow-origin" not in get(f"{server.url}/connectors").headers


def test_a_preflight_names_the_methods() -> None:
    settings = {"access.control.allow.origin": "*", "access.control.allow.methods": "GET, PUT"}
    with Served(**settings) as server:
        asked = {"Origin": "http://a", "Access-Control-Request-Method": "PUT"}
        answer = httpx2.options(f"{server.url}/connectors/a/pause", headers=asked, trust_env=False)
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-methods"] == "GET,PUT"
        assert "Content-Type" in answer.headers["access-control-allow-headers"]


def test_headers_are_added_by_rule() -> None:
    rules = 'set X-Frame-Options:DENY, "add Cache-Control: no-cache, no-store", setDate Expires: 86400000'
    with Served(**{"response.http.headers.config": rules}) as server:
        for path in ("/connectors", "/nope"):
            headers = get(server.url + path).headers
            assert headers["x-frame-options"] == "DENY"
            assert headers["cache-control"] == "no-cache, no-store"
            assert (parsedate_to_datetime(headers["expires"]) - parsedate_to_datetime(headers["date"])).days >= 0


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    both, _ = make_certificate(tmp_path_factory.mktemp("tls"))
    return both


def test_https_with_its_own_settings(certificate: Path) -> None:
    settings = {
        "listeners": "http://127.0.0.1:0,https://127.0.0.1:0",
        "listeners.https.ssl.keystore.location": str(certificate),
        "listeners.https.ssl.keystore.type": "PEM",
        "ssl.keystore.location": "/ignored.pem",
    }
    trust = ssl.create_default_context(cafile=str(certificate))
    with Served(**settings) as server:
        assert server.urls[1].startswith("https://127.0.0.1:")
        answer = get(server.urls[1] + "/connectors", verify=trust)
        assert answer.status_code == 200
        assert get(server.urls[0] + "/connectors").status_code == 200
        body = {"name": "a", "config": {"connector.class": "FileStreamSink", "topics": "t"}}
        created = httpx2.post(server.urls[1] + "/connectors", json=body, verify=trust, trust_env=False)
        assert created.headers["location"] == server.urls[1] + "/connectors/a"


def test_a_client_certificate_can_be_required(certificate: Path) -> None:
    settings = {
        "listeners": "https://127.0.0.1:0",
        "ssl.keystore.location": str(certificate),
        "ssl.truststore.location": str(certificate),
        "ssl.client.auth": "required",
    }
    with Served(**settings) as server:
        trust = ssl.create_default_context(cafile=str(certificate))
        with pytest.raises(httpx2.HTTPError):
            get(server.url, verify=trust)
        trust.load_cert_chain(certificate)
        assert get(server.url, verify=trust).status_code == 200


def test_a_password_never_shows_in_the_settings(certificate: Path) -> None:
    settings = {"listeners": "https://:0", "ssl.keystore.location": str(certificate), "ssl.key.password": "hush"}
    shown = repr(RestSettings.from_properties(settings))
    assert "hush" not in shown
    assert "PRIVATE KEY" not in shown

"""Whom a worker with HTTPS takes for another worker of its cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import httpx2
import pytest

from penstock.api.errors import ConfigError
from penstock.rest.forwarding import client_context
from penstock.rest.server import RestServer
from penstock.rest.settings import RestSettings
from penstock.runtime.assembly import StandaloneWorker
from penstock.runtime.herder import Herder
from tests.support.certificates import make_certificate

NAMES = "ssl.endpoint.identification.algorithm"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of 127.0.0.1, with its key."""
    return make_certificate(tmp_path_factory.mktemp("tls"))[0]


@pytest.fixture(scope="module")
def port(real_worker: StandaloneWorker, certificate: Path) -> Iterator[int]:
    """That of a worker with this certificate."""
    properties = {"listeners": "https://127.0.0.1:0", "ssl.keystore.location": str(certificate)}
    server = RestServer(cast(Herder, real_worker.herder), RestSettings.from_properties(properties))
    server.start()
    yield httpx2.URL(server.url).port or 0
    server.stop()


def ask(url: str, certificate: Path, **more: str) -> int:
    """The status another worker with these settings gets."""
    properties = {"listeners": "https://:0", "ssl.keystore.location": str(certificate)}
    properties |= {key.replace("_", "."): value for key, value in more.items()}
    context = client_context(RestSettings.from_properties(properties).main.tls)
    return httpx2.get(url, verify=context, trust_env=False).status_code


def test_workers_trust_the_authorities_of_the_truststore_and_no_others(
    port: int, certificate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"https://127.0.0.1:{port}/connectors"
    assert ask(url, certificate, ssl_truststore_location=str(certificate)) == 200
    _, other = make_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert ask(url, certificate) == 200
    with pytest.raises(httpx2.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        ask(url, certificate, ssl_truststore_location=str(other))


def test_the_certificate_of_a_worker_is_of_the_name_it_is_asked_by(port: int, certificate: Path) -> None:
    url = f"https://localhost:{port}/connectors"
    trusted = {"ssl.truststore.location": str(certificate)}
    for checked in ({}, {NAMES: "https"}, {NAMES: "HTTPS"}):
        with pytest.raises(httpx2.ConnectError, match="Hostname mismatch"):
            ask(url, certificate, **trusted, **checked)
    assert ask(url, certificate, **trusted, **{NAMES: ""}) == 200


def test_another_way_to_check_names_is_refused_with_the_key(certificate: Path) -> None:
    settings = {"listeners": "https://:0", "listeners.https.ssl.keystore.location": str(certificate)}
    with pytest.raises(ConfigError, match=f"ldaps for configuration listeners.https.{NAMES}: https, or nothing"):
        RestSettings.from_properties({**settings, f"listeners.https.{NAMES}": "ldaps"})

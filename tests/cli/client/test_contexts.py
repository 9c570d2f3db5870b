"""Contexts: which worker a command talks to, and how."""

from __future__ import annotations

import base64
import ipaddress
import ssl
import stat
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.cli.client.conftest import Client


def _handler(seen: list[str | None]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization"))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"[]")

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    return Handler


@pytest.fixture
def asked() -> Iterator[tuple[str, list[str | None]]]:
    """A server that keeps the ``Authorization`` of each request and answers with an empty list."""
    seen: list[str | None] = []
    server = HTTPServer(("127.0.0.1", 0), _handler(seen))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", seen
    server.shutdown()
    server.server_close()


def test_a_context_is_kept_private_and_used(nobody: Client, asked: tuple[str, list[str | None]]) -> None:
    url, seen = asked
    nobody.ok("context", "add", "here", "--url", url, "--username", "ops", "--password-stdin", stdin="s3cret\n")
    file = nobody.folder / "config" / "contexts.yaml"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    nobody.ok("get", "plugins")
    assert seen == [basic("ops:s3cret")]
    listed = nobody.ok("context", "list")
    assert "s3cret" not in listed.out
    assert [line.split()[:3] for line in listed.out.splitlines()[1:]] == [["*", "here", url]]


def test_tokens_may_stay_in_the_environment(nobody: Client, asked: tuple[str, list[str | None]]) -> None:
    url, seen = asked
    nobody.ok("context", "add", "here", "--url", url, "--token-env", "MY_TOKEN")
    nobody.ok("get", "plugins", MY_TOKEN="t0ken")
    assert seen == ["Bearer t0ken"]
    missing = nobody("get", "plugins")
    assert (missing.code, "MY_TOKEN, which is not set" in missing.err) == (1, True)


def test_options_win_over_the_environment_and_that_over_the_context_in_use(
    nobody: Client, asked: tuple[str, list[str | None]]
) -> None:
    url, seen = asked
    wrong = "http://127.0.0.1:9"
    nobody.ok("context", "add", "wrong", "--url", wrong)
    nobody.ok("context", "add", "right", "--url", url, "--no-use")
    assert nobody("get", "plugins").code == 4
    nobody.ok("get", "plugins", PENSTOCK_CONTEXT="right")
    nobody.ok("get", "plugins", PENSTOCK_URL=url)
    nobody.ok("get", "plugins", "--context", "right", PENSTOCK_URL=wrong)
    nobody.ok("get", "plugins", "--url", url, PENSTOCK_CONTEXT="wrong")
    assert nobody("get", "plugins", "--url", url, "--context", "right").code == 1
    assert len(seen) == 4
    nobody.ok("context", "use", "right")
    nobody.ok("get", "plugins")
    nobody.ok("context", "remove", "right")
    assert nobody("get", "plugins", "--context", "right").code == 7


def basic(credentials: str) -> str:
    return f"Basic {base64.b64encode(credentials.encode()).decode()}"


def test_a_url_comes_with_the_credentials_of_its_context(nobody: Client, asked: tuple[str, list[str | None]]) -> None:
    url, seen = asked
    for name in ("b", "a", "c"):
        nobody.ok("context", "add", name, "--url", url, "--username", name, "--password-stdin", stdin="p\n")
    nobody.ok("context", "add", "elsewhere", "--url", "http://127.0.0.1:9", "--token-env", "MY_TOKEN")
    nobody.ok("context", "use", "elsewhere")
    nobody.ok("get", "plugins", "--url", url)
    nobody.ok("get", "plugins", PENSTOCK_URL=f"{url}/")
    nobody.ok("context", "use", "c")
    nobody.ok("get", "plugins", "--url", url)
    nobody.ok("get", "plugins", "--url", url.replace("://", "://own:q@"))
    nobody.ok("get", "plugins", "--url", url.replace("127.0.0.1", "localhost"))
    assert seen == [basic("a:p"), basic("a:p"), basic("c:p"), basic("own:q"), None]


def test_a_url_will_do_where_contexts_cannot_be_read(nobody: Client, asked: tuple[str, list[str | None]]) -> None:
    url, seen = asked
    file = Path(nobody.variables["PENSTOCK_CONTEXTS"] or "")
    file.parent.mkdir()
    file.write_text("contexts: [1, 2")
    nobody.ok("get", "plugins", "--url", url)
    assert seen == [None]


def test_an_unknown_context_names_those_that_are_there(nobody: Client) -> None:
    nobody.ok("context", "add", "prod", "--url", "http://prod:8083")
    done = nobody("context", "use", "prot")
    assert (done.code, done.err) == (7, "error  There is no context 'prot'. There are: prod.\n  → Did you mean prod?\n")
    done = nobody("context", "use", "local")
    assert (done.code, done.err) == (
        7, "error  There is no context 'local'. There are: prod.\n  → penstock context add local --url URL\n",
    )  # fmt: skip


def test_a_context_that_is_added_is_used_when_it_is_the_first_or_when_asked_for(nobody: Client) -> None:
    def added(name: str, *more: str) -> str:
        told = nobody.ok("context", "add", name, "--url", f"http://{name}:8083", *more).out
        assert nobody.ok("context", "list", "-o", "json").data["current"] in told
        return told

    assert added("local") == "✓ local is http://local:8083, used from now on\n"
    nobody.ok("context", "add", "prod", "--url", "http://prod:8083")
    assert nobody.ok("context", "list", "-o", "json").data["current"] == "local"
    assert added("test", "--use") == "✓ test is http://test:8083, used from now on\n"
    told = nobody.ok("context", "add", "prod", "--url", "http://other:8083").out
    assert told == "✓ prod is http://other:8083 (penstock context use prod uses it)\n"


def test_a_broken_file_is_told(nobody: Client) -> None:
    file = Path(nobody.variables["PENSTOCK_CONTEXTS"] or "")
    file.parent.mkdir()
    file.write_text("contexts: [1, 2")
    done = nobody("get", "connectors")
    assert (done.code, f"Cannot read the contexts in {file}" in done.err) == (1, True)


def test_a_worker_that_is_not_there_is_told_with_a_way_out(nobody: Client) -> None:
    done = nobody("get", "connectors", "--url", "http://127.0.0.1:9")
    assert done.code == 4
    assert done.err.startswith("error  Cannot reach a worker at http://127.0.0.1:9: ")
    assert "→ penstock run starts a worker here" in done.err


@pytest.mark.parametrize("url", ["localhost:8083", "ftp://host", "http://", "no url"])
def test_what_is_no_url_is_told_so_wherever_it_is_given(nobody: Client, url: str) -> None:
    for done in (
        nobody("get", "connectors", "--url", url),
        nobody("get", "connectors", PENSTOCK_URL=url),
        nobody("context", "add", "here", "--url", url),
    ):
        assert (done.code, f"'{url}' is not the URL of a worker." in done.err) == (1, True)
        assert "→ It looks like http://host:8083" in done.err


@pytest.fixture
def secured(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A server with a certificate of its own, which only takes clients that show the same one; the file with both."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "worker")])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(names, critical=False)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path / "worker.pem"
    encoding = serialization.Encoding.PEM
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    file.write_bytes(key.private_bytes(encoding, *plain) + certificate.public_bytes(encoding))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    context.load_verify_locations(file)
    context.verify_mode = ssl.CERT_REQUIRED
    server = HTTPServer(("127.0.0.1", 0), _handler([]))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"https://127.0.0.1:{server.server_port}", file
    server.shutdown()
    server.server_close()


def test_tls_checks_who_answers_and_shows_who_asks(nobody: Client, secured: tuple[str, Path]) -> None:
    url, file = secured
    own = ["--cert-file", str(file), "--key-file", str(file)]
    for name, options in {
        "trusting": ["--ca-file", str(file), *own],
        "careless": ["--insecure", *own],
        "unknown": own,
        "anonymous": ["--ca-file", str(file)],
    }.items():
        nobody.ok("context", "add", name, "--url", url, *options)
    nobody.ok("get", "plugins", "--context", "trusting")
    nobody.ok("get", "plugins", "--context", "careless")
    nobody.ok("context", "use", "trusting")
    nobody.ok("get", "plugins", "--url", url)
    assert "certificate" in nobody("get", "plugins", "--context", "unknown").err.lower()
    assert nobody("get", "plugins", "--context", "anonymous").code == 4
    file.unlink()
    gone = nobody("get", "plugins", "--context", "trusting")
    assert (gone.code, "Cannot set up TLS" in gone.err) == (1, True)

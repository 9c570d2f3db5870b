"""A worker with users: who gets in, who may do what, what stays open, and what readers are not shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import httpx2
import pytest

from penstock.api.errors import ConfigError
from penstock.rest.server import RestServer
from penstock.rest.settings import RestSettings
from penstock.rest.table import ROUTES
from penstock.rest.users import PasswordHash, Role, TokenHash, User
from penstock.runtime.assembly import StandaloneWorker
from penstock.runtime.herder import Herder
from tests.support.waiting import wait_until

ADMIN, READER = ("ops", "correct horse"), ("viewer", "battery staple")
TOKEN = "penstock_0123456789"
EXTENSION = "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension"
USERS = (
    User(ADMIN[0], Role.ADMIN, PasswordHash.of(ADMIN[1])),
    User(READER[0], Role.READ_ONLY, PasswordHash.of(READER[1])),
    User("ci", Role.ADMIN, TokenHash.of(TOKEN)),
)


@pytest.fixture(scope="module")
def users_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("users") / "users.txt"
    file.write_text("".join(f"{user}\n" for user in USERS))
    return file


@pytest.fixture(scope="module")
def guarded(real_worker: StandaloneWorker, users_file: Path) -> Iterator[RestServer]:
    with_users = {
        "listeners": "http://127.0.0.1:0",
        "admin.listeners": "http://127.0.0.1:0",
        "rest.auth.users.file": str(users_file),
        "access.control.allow.origin": "https://friend.example",
        "access.control.allow.methods": "GET,PUT",
    }
    server = RestServer(cast(Herder, real_worker.herder), RestSettings.from_properties(with_users))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def api(guarded: RestServer, real_worker: StandaloneWorker) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=guarded.url, trust_env=False, timeout=120) as client:
        yield client
    for name in real_worker.herder.connectors():
        real_worker.herder.delete_connector(name, include_offsets=True).result(60)


def assert_refused(answer: httpx2.Response, status: int) -> str:
    body = answer.json()
    assert answer.status_code == status
    assert body.keys() == {"error_code", "message"}
    assert body["error_code"] == status
    return str(body["message"])


def test_without_credentials_every_path_asks_for_them(api: httpx2.Client) -> None:
    others = [
        ("GET", path) for path in ("/openapi.json", "/nothing/here", "/ui", "/ui/", "/ui/any/main.js", "/metrics")
    ]
    table = [(route.method, route.path) for route in ROUTES if not route.signed and route.path != "/health"]
    for method, path in [*others, *table]:
        answer = api.request(method, path.replace("{task}", "0"), json={} if method != "GET" else None)
        assert "Credentials are missing" in assert_refused(answer, 401), (method, path)
        assert answer.headers.get_list("www-authenticate") == [
            'Basic realm="penstock", charset="UTF-8"',
            'Bearer realm="penstock"',
        ]


def test_wrong_credentials_are_refused(api: httpx2.Client) -> None:
    for wrong in [(ADMIN[0], READER[1]), ("nobody", ADMIN[1]), ("ci", TOKEN), ("", "")]:
        assert "wrong" in assert_refused(api.get("/connectors", auth=wrong), 401)
    for header in ["Bearer nonsense", "Bearer", "Basic !", "Negotiate abc", ""]:
        assert_refused(api.get("/connectors", headers={"Authorization": header}), 401)


def test_only_health_stays_open(api: httpx2.Client) -> None:
    assert api.get("/health").status_code == 200
    assert api.get("/health/").status_code == 200
    assert api.head("/health").status_code == 200
    assert_refused(api.post("/health"), 401)


def test_an_admin_does_everything_with_a_password_or_a_token(api: httpx2.Client, config: dict[str, str]) -> None:
    created = api.post("/connectors", json={"name": "lines", "config": config}, auth=ADMIN)
    assert created.status_code == 201
    token = {"Authorization": f"Bearer {TOKEN}"}
    assert api.put("/connectors/lines/pause", headers=token).status_code == 202
    assert api.get("/ui/", auth=ADMIN).status_code == 200
    assert api.delete("/connectors/lines", headers=token).status_code == 204


def test_a_reader_looks_and_changes_nothing(api: httpx2.Client, config: dict[str, str]) -> None:
    api.post("/connectors", json={"name": "lines", "config": config}, auth=ADMIN)
    for path in ("/connectors", "/connectors/lines/status", "/topics", "/metrics", "/connector-plugins", "/ui/"):
        assert api.get(path, auth=READER).status_code == 200
    assert api.head("/connectors", auth=READER).status_code == 200
    changes = [(route.method, route.path) for route in ROUTES if route.method != "GET" and not route.signed]
    for method, path in changes:
        target = path.replace("{connector}", "lines").replace("{task}", "0")
        message = assert_refused(api.request(method, target, json={}, auth=READER), 403)
        assert message == "viewer may only read: this needs the role admin."
    assert api.get("/connectors", auth=READER).json() == ["lines"]


def test_everybody_can_ask_who_he_is(api: httpx2.Client) -> None:
    assert api.get("/user", auth=ADMIN).json() == {"name": "ops", "role": "admin"}
    assert api.get("/user", auth=READER).json() == {"name": "viewer", "role": "read-only"}
    assert api.get("/user", headers={"Authorization": f"Bearer {TOKEN}"}).json() == {"name": "ci", "role": "admin"}


def test_a_reader_is_not_shown_secrets(api: httpx2.Client, config: dict[str, str]) -> None:
    secret = {
        **config,
        "producer.override.sasl.jaas.config": "org.apache.X required password='hunter22';",
        "my.password": "hunter22",
        "my.url": "postgres://me:hunter22@db/orders",
        "value.converter": "io.confluent.connect.avro.AvroConverter",
        "value.converter.schema.registry.url": "http://127.0.0.1:9",
        "value.converter.basic.auth.credentials.source": "USER_INFO",
        "value.converter.basic.auth.user.info": "me:hunter22",
        "my.reference": "${env:NOTHING}",
    }
    api.post("/connectors", json={"name": "lines", "config": secret, "initial_state": "STOPPED"}, auth=ADMIN)
    paths = ["/connectors/lines", "/connectors/lines/config", "/connectors?expand=info", "/connectors/lines/tasks"]
    for path in paths:
        assert "hunter22" not in api.get(path, auth=READER).text
    shown = api.get("/connectors/lines/config", auth=READER).json()
    assert shown["my.password"] == "[hidden]"
    assert shown["my.url"] == "postgres://me:[hidden]@db/orders"
    assert shown["file"] == config["file"]
    assert api.get("/connectors/lines/config", auth=ADMIN).json() == {**secret, "name": "lines"}


def test_what_workers_ask_each_other_needs_a_signature_and_no_user(api: httpx2.Client) -> None:
    assert "missing required signature" in assert_refused(api.post("/connectors/lines/tasks", json=[]), 400)
    signed = {"X-Connect-Authorization": "AAAA", "X-Connect-Request-Signature-Algorithm": "HmacSHA256"}
    assert "standalone mode" in assert_refused(api.put("/connectors/lines/fence", headers=signed), 500)
    assert_refused(api.get("/connectors", headers=signed), 401)


def test_the_admin_listener_has_the_same_users(guarded: RestServer) -> None:
    loggers = f"{guarded.admin_urls[0]}/admin/loggers/x"
    with httpx2.Client(trust_env=False) as client:
        assert_refused(client.put(loggers, json={"level": "INFO"}), 401)
        assert_refused(client.put(loggers, json={"level": "INFO"}, auth=READER), 403)
        assert client.put(loggers, json={"level": "INFO"}, auth=ADMIN).status_code == 200


def test_pages_of_other_origins_change_nothing_with_a_password_the_browser_knows(api: httpx2.Client) -> None:
    strangers = [{"Origin": origin} for origin in ("https://evil.example", "null", "http://[")]
    for strange in [{"Sec-Fetch-Site": "cross-site"}, *strangers]:
        answer = api.put("/connectors/none/pause", headers=strange, auth=ADMIN)
        assert "access.control.allow.origin" in assert_refused(answer, 403)
    own = str(api.base_url).rstrip("/")
    for fine in (
        {"Origin": "https://friend.example", "Sec-Fetch-Site": "cross-site"},
        {"Origin": own},
        {"Origin": own, "Sec-Fetch-Site": "same-origin"},
    ):
        assert_refused(api.put("/connectors/none/pause", headers=fine, auth=ADMIN), 404)


def test_a_browser_may_ask_beforehand_whether_credentials_can_be_sent(api: httpx2.Client) -> None:
    asked = {"Origin": "https://friend.example", "Access-Control-Request-Method": "PUT"}
    answer = api.options("/connectors/none/pause", headers=asked)
    assert answer.status_code == 200
    assert "Authorization" in answer.headers["access-control-allow-headers"]
    assert_refused(api.options("/connectors"), 401)


def test_the_document_tells_how_to_sign_in(api: httpx2.Client) -> None:
    document = api.get("/openapi.json", auth=READER).json()
    assert document["components"]["securitySchemes"]["token"] == {"type": "http", "scheme": "bearer"}
    assert document["security"] == [{"password": []}, {"token": []}]
    assert "401" in document["paths"]["/connectors"]["get"]["responses"]


def test_a_user_who_is_removed_is_out_without_a_restart(api: httpx2.Client, users_file: Path) -> None:
    text = users_file.read_text()
    try:
        users_file.write_text("".join(f"{user}\n" for user in USERS if user.name != "ci"))
        token = {"Authorization": f"Bearer {TOKEN}"}
        wait_until(lambda: api.get("/connectors", headers=token).status_code == 401, "the token is worth nothing")
        assert api.get("/connectors", auth=ADMIN).status_code == 200
    finally:
        users_file.write_text(text)


def test_more_paths_can_be_left_open(real_worker: StandaloneWorker, users_file: Path) -> None:
    settings = {
        "listeners": "http://127.0.0.1:0",
        "rest.auth.users.file": str(users_file),
        "rest.auth.open.paths": "/, /metrics/",
        "rest.extension.classes": EXTENSION,
    }
    server = RestServer(cast(Herder, real_worker.herder), RestSettings.from_properties(settings))
    server.start()
    try:
        with httpx2.Client(base_url=server.url, trust_env=False) as client:
            assert [client.get(path).status_code for path in ("/", "/metrics")] == [200, 200]
            assert [client.get(path).status_code for path in ("/health", "/connectors")] == [401, 401]
    finally:
        server.stop()


def test_settings_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_text("# users\nops:admin:plain\n")
    with pytest.raises(ConfigError, match=rf"{bad}, line 2: the hash of ops cannot be used"):
        RestSettings.from_properties({"rest.auth.users.file": str(bad)})
    with pytest.raises(ConfigError, match=r"rest\.extension\.classes asks for basic authentication"):
        RestSettings.from_properties({"rest.extension.classes": f"com.acme.Other, {EXTENSION}"})
    good = tmp_path / "good.txt"
    good.write_text(f"{USERS[0]}\n")
    with pytest.raises(ConfigError, match=r"metrics for configuration rest\.auth\.open\.paths"):
        RestSettings.from_properties({"rest.auth.users.file": str(good), "rest.auth.open.paths": "metrics"})

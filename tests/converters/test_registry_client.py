"""The registry's client: fail-over, repetition, who we are, what is remembered; subjects and settings."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qs

import pytest

from penstock.api.config import Type
from penstock.api.errors import ConfigError, DataError, RetriableError
from penstock.api.record import INT32, STRING, struct_schema
from penstock.converters.avro import AvroConverter
from penstock.converters.json_schema import JsonSchemaConverter
from penstock.converters.registry import RegistryConverter, shared_client
from penstock.spark.errors import exception_name
from tests.support.ports import free_port
from tests.support.registry import RegistryServer, basic

NAMED = struct_schema(("x", INT32), name="n.Named")


@pytest.fixture
def registry() -> Iterator[RegistryServer]:
    with RegistryServer() as server:
        yield server


def converter(urls: str, is_key: bool = False, cls: type[RegistryConverter] = AvroConverter, **more: str) -> Any:
    made = cls()
    settings = {name.replace("_", "."): value for name, value in more.items()}
    made.configure_for({"schema.registry.url": urls, **settings}, is_key)
    return made


def nowhere() -> str:
    return f"http://127.0.0.1:{free_port()}"


def test_the_next_url_is_asked_when_one_does_not_answer(registry: RegistryServer) -> None:
    both = converter(f"{nowhere()},{registry.url}")
    assert both.from_data("t", STRING, "x") == b"\x00\x00\x00\x00\x01\x02x"
    assert both.from_data("u", STRING, "x") == b"\x00\x00\x00\x00\x01\x02x"


def test_the_next_url_is_asked_when_one_is_busy(registry: RegistryServer) -> None:
    with RegistryServer() as busy:
        busy.registry.refuse_with = 503
        both = converter(f"{busy.url},{registry.url}", max_retries="0")
        assert both.from_data("t", STRING, "x") is not None
        assert both.from_data("u", STRING, "x") is not None
        assert len(busy.registry.requests) == 1


def test_a_registry_that_cannot_be_reached_is_worth_another_try(registry: RegistryServer) -> None:
    url = nowhere()
    both = converter(url)
    with pytest.raises(
        RetriableError,
        match=f"Failed to serialize Avro data from topic t: The schema registry cannot be reached .{url}",
    ):
        both.from_data("t", STRING, "x")
    with pytest.raises(
        RetriableError, match=r"Failed to deserialize data for topic t to Avro: .*cannot be reached"
    ) as caught:
        both.to_data("t", b"\x00\x00\x00\x00\x01\x02x")
    assert exception_name(caught.value) == "org.apache.kafka.connect.errors.RetriableException"


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_registry_in_trouble_is_worth_another_try(registry: RegistryServer, status: int) -> None:
    registry.registry.refuse_with = status
    both = converter(registry.url, max_retries="1", retries_wait_ms="1")
    with pytest.raises(RetriableError, match="Told to refuse; error code"):
        both.from_data("t", STRING, "x")
    assert len(registry.registry.requests) == (1 if status == 500 else 2)
    registry.registry.refuse_with = None
    assert both.from_data("t", STRING, "x") is not None


def test_a_busy_registry_is_asked_again(registry: RegistryServer) -> None:
    registry.registry.refuse_with, registry.registry.refusals = 429, 2
    assert converter(registry.url, retries_wait_ms="1").from_data("t", STRING, "x") is not None
    assert len(registry.registry.requests) == 3


@pytest.mark.parametrize(
    ("status", "exception"),
    [
        (401, "org.apache.kafka.common.errors.AuthenticationException"),
        (403, "org.apache.kafka.common.errors.AuthorizationException"),
        (422, "org.apache.kafka.connect.errors.DataException"),
    ],
)
def test_other_refusals_are_errors_of_the_record(registry: RegistryServer, status: int, exception: str) -> None:
    registry.registry.refuse_with = status
    with pytest.raises(DataError, match=f"Told to refuse; error code: {status}03") as caught:
        converter(registry.url).from_data("t", STRING, "x")
    assert caught.value.exception == exception


def test_something_else_than_a_registry_is_named(registry: RegistryServer) -> None:
    with pytest.raises(DataError, match="HTTP 404 Not Found; error code: 404"):
        converter(registry.url + "/wrong/path").from_data("t", STRING, "x")


@pytest.mark.parametrize(
    ("settings", "url", "header"),
    [
        ({}, "http://me:p%40ss@", basic("me:p@ss")),
        (
            {"basic_auth_credentials_source": "USER_INFO", "basic_auth_user_info": "me:pass"},
            "http://",
            basic("me:pass"),
        ),
        (
            {"basic_auth_credentials_source": "user_info", "schema_registry_basic_auth_user_info": "me:pass"},
            "http://",
            basic("me:pass"),
        ),
        ({"bearer_auth_token": "t0ken"}, "http://", "Bearer t0ken"),
    ],
)
def test_the_registry_learns_who_we_are(
    registry: RegistryServer, settings: dict[str, str], url: str, header: str
) -> None:
    registry.registry.authorization = header
    assert converter(registry.url.replace("http://", url), **settings).from_data("t", STRING, "x") is not None
    with pytest.raises(DataError, match="Unauthorized; error code: 401"):
        converter(registry.url).from_data("t", STRING, "x")


def test_headers_of_our_own_are_sent(registry: RegistryServer) -> None:
    made = AvroConverter()
    made.configure_for({"schema.registry.url": registry.url, "request.header.X-Team": "blue"}, is_key=False)
    made.from_data("t", STRING, "x")
    assert registry.registry.headers[0]["X-Team"] == "blue"


class _Tokens(BaseHTTPRequestHandler):
    forms: list[dict[str, list[str]]] = []

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.forms.append(form)
        allowed = self.headers["Authorization"] == basic("me:secret")
        body = {"access_token": f"token{len(self.forms)}", "expires_in": 3600} if allowed else {"error": "bad client"}
        self.send_response(200 if allowed else 401)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on the terminal."""


@pytest.fixture
def tokens() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), _Tokens)
    _Tokens.forms = []
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/token"
    server.shutdown()
    server.server_close()


def test_a_token_is_fetched_once_by_client_credentials(registry: RegistryServer, tokens: str) -> None:
    settings = {
        "bearer_auth_credentials_source": "OAUTHBEARER",
        "bearer_auth_issuer_endpoint_url": tokens,
        "bearer_auth_client_id": "me",
        "bearer_auth_scope": "registry",
        "bearer_auth_logical_cluster": "lsrc-1",
        "bearer_auth_identity_pool_id": "pool-1",
    }
    registry.registry.authorization = "Bearer token1"
    both = converter(registry.url, bearer_auth_client_secret="secret", **settings)
    assert both.from_data("t", STRING, "x") is not None
    assert both.from_data("u", STRING, "x") is not None
    assert _Tokens.forms == [{"grant_type": ["client_credentials"], "scope": ["registry"]}]
    headers = registry.registry.headers[-1]
    assert (headers["target-sr-cluster"], headers["Confluent-Identity-Pool-Id"]) == ("lsrc-1", "pool-1")
    with pytest.raises(DataError, match="gave no token to me: bad client") as caught:
        converter(registry.url, bearer_auth_client_secret="wrong", **settings).from_data("t", STRING, "x")
    assert caught.value.exception == "org.apache.kafka.common.errors.AuthenticationException"


def test_schemas_are_asked_for_once(registry: RegistryServer) -> None:
    writer, reader = converter(registry.url), converter(registry.url)
    for number in range(50):
        data = writer.from_data("t", STRING, str(number))
        assert reader.to_data("t", data)[1] == str(number)
    assert len(registry.registry.requests) == 3
    another = converter(registry.url)
    another.to_data("t", another.from_data("t", STRING, "x"))
    assert len(registry.registry.requests) == 3


def test_converters_with_the_same_settings_share_a_client_and_others_do_not(registry: RegistryServer) -> None:
    one, same, other = (converter(registry.url, http_read_timeout_ms=ms) for ms in ("1000", "1000", "2000"))
    assert one.client is same.client
    assert one.client is not other.client


@pytest.mark.integration
def test_a_forked_process_has_connections_of_its_own(registry: RegistryServer) -> None:
    both = converter(registry.url)
    both.from_data("t", STRING, "x")
    mine = both.client
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(theirs, b"own" if shared_client(both._registry) is not mine else b"shared")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(ours, 10) == b"own"
    os.close(ours)
    os.close(theirs)


def test_a_cache_that_is_full_forgets_the_oldest(registry: RegistryServer) -> None:
    both = converter(registry.url, max_schemas_per_subject="2", schemas_cache_config="1")
    schemas = [struct_schema(("x", INT32), name=f"n.N{number}") for number in range(4)]
    for _ in range(2):
        for number, schema in enumerate(schemas):
            data = both.from_data(f"t{number}", schema, {"x": number})
            assert both.to_data(f"t{number}", data)[1] == {"x": number}


@pytest.mark.parametrize("prefix", ["io.confluent.kafka.serializers.subject.", ""])
@pytest.mark.parametrize(
    ("strategy", "is_key", "subject"),
    [
        ("TopicNameStrategy", False, "t-value"),
        ("TopicNameStrategy", True, "t-key"),
        ("RecordNameStrategy", False, "n.Named"),
        ("TopicRecordNameStrategy", True, "t-n.Named"),
    ],
)
@pytest.mark.parametrize("cls", [AvroConverter, JsonSchemaConverter])
def test_the_subject_follows_the_strategy(
    registry: RegistryServer, cls: type[RegistryConverter], prefix: str, strategy: str, is_key: bool, subject: str
) -> None:
    key = "key_subject_name_strategy" if is_key else "value_subject_name_strategy"
    both = converter(registry.url, is_key, cls, **{key: prefix + strategy})
    data = both.from_data("t", NAMED, {"x": 1})
    assert list(registry.registry.subjects) == [subject]
    assert both.to_data("t", data) == (NAMED.with_(version=1), {"x": 1})


def test_a_strategy_by_its_short_name(registry: RegistryServer) -> None:
    converter(registry.url, value_subject_name_strategy="RecordName").from_data("t", NAMED, {"x": 1})
    assert list(registry.registry.subjects) == ["n.Named"]


def test_a_strategy_by_record_needs_a_record(registry: RegistryServer) -> None:
    both = converter(registry.url, value_subject_name_strategy="RecordNameStrategy")
    expected = (
        r"In configuration value\.subject\.name\.strategy = io\.confluent\.kafka\.serializers\.subject\."
        "RecordNameStrategy, the message value must only be a record schema"
    )
    with pytest.raises(DataError, match=expected):
        both.from_data("t", STRING, "x")


def test_schemas_are_normalised_if_asked_for(registry: RegistryServer) -> None:
    converter(registry.url, normalize_schemas="true").from_data("t", STRING, "x")
    assert registry.registry.requests == [("POST", "/subjects/t-value/versions?normalize=true")]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, 'Missing required configuration "schema.registry.url" which has no default value.'),
        ({"schema.registry.url": ""}, "At least one URL is needed"),
        ({"schema.registry.url": "localhost:8081"}, "Not an http:// or https:// URL"),
        ({"basic.auth.credentials.source": "USER_INFO"}, "set basic.auth.user.info to user:password"),
        ({"basic.auth.credentials.source": "SASL_INHERIT"}, "String must be one of"),
        ({"bearer.auth.credentials.source": "OAUTHBEARER"}, "bearer.auth.issuer.endpoint.url must be set"),
        ({"value.subject.name.strategy": "com.example.Mine"}, "Must be one of TopicNameStrategy"),
        ({"auto.register.schemas": "maybe"}, "Expected value to be either true or false"),
        ({"schema.registry.ssl.truststore.type": "JKS"}, "Only PEM files can be read"),
    ],
)
@pytest.mark.parametrize("cls", [AvroConverter, JsonSchemaConverter])
def test_settings_that_cannot_work_are_refused(
    cls: type[RegistryConverter], settings: dict[str, str], message: str
) -> None:
    given = {"schema.registry.url": "http://localhost:1"} if settings else {}
    with pytest.raises(ConfigError) as caught:
        cls().configure_for({**given, **settings}, is_key=False)
    assert message in str(caught.value)


def test_secrets_are_passwords_and_stay_out_of_texts() -> None:
    kinds = {key.name: key.type for key in AvroConverter.config.keys}
    secrets = [name for name, kind in kinds.items() if kind is Type.PASSWORD]
    assert sorted(secrets) == [
        "basic.auth.user.info",
        "bearer.auth.client.secret",
        "bearer.auth.token",
        "schema.registry.basic.auth.user.info",
        "schema.registry.ssl.key.password",
    ]
    made = AvroConverter()
    made.configure_for({"schema.registry.url": "http://me:hush@localhost:1", "bearer.auth.token": "hush"}, is_key=False)
    assert "hush" not in repr(made._registry)
    with pytest.raises(RetriableError) as caught:
        made.from_data("t", STRING, "x")
    assert "hush" not in str(caught.value)

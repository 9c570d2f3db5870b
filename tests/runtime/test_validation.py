"""Validation beyond what was recorded from Kafka Connect: user code, secrets, versions, overrides, clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from penstock.api import (
    ConfigDef,
    ConfigKey,
    ConfigProvider,
    Connector,
    PluginError,
    SinkConnector,
    SinkTask,
    SourceConnector,
    SourceTask,
    Type,
)
from penstock.runtime.plugins import Plugins
from penstock.runtime.providers import References
from penstock.runtime.requests import BadRequest, NotFound, Validation
from penstock.runtime.validation import check, error_text, plugin_config, validate

SINK = {"connector.class": "FileStreamSink", "name": "c", "topics": "t", "file": "f"}
SOURCE = {"connector.class": "FileStreamSource", "name": "c", "topic": "t"}
TRANSFORMS = "org.apache.kafka.connect.transforms"


class Vault(ConfigProvider):
    """One secret, which is no number."""

    def get(self, path: str, key: str) -> str:
        return "hunter22"


class PickySource(SourceConnector):
    """Wants user and password together, and its password in letters."""

    config = ConfigDef(
        ConfigKey("user", Type.STRING, None),
        ConfigKey("password", Type.PASSWORD, None),
        ConfigKey("port", Type.INT, 1),
        ConfigKey("fail", Type.STRING, None),
    )
    task = SourceTask

    def validate(self, settings: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
        if settings.get("fail"):
            raise PluginError(f"cannot log in with {settings.get('password')}")
        if ("user" in settings) != ("password" in settings):
            return {"user": ["user and password belong together"], "other": ["unrelated"]}
        if settings.get("password", "x").endswith("22"):
            return {"user": [f"{settings['password']} is too weak"]}
        return {}


class EndingSource(SourceConnector):
    """Answers as it is told."""

    config = ConfigDef(ConfigKey("answer", Type.STRING))
    task = SourceTask

    def can_define_transaction_boundaries(self, settings: Mapping[str, str]) -> bool:
        if settings["answer"] in ("a cry", "silence"):
            raise PluginError("who asks?" if settings["answer"] == "a cry" else "")
        answers: dict[str, Any] = {"yes": True, "no": False, "nothing": None}
        answer: bool = answers[settings["answer"]]
        return answer


class Strange(SinkConnector):
    """Declares no keys."""

    config: Any = None
    task = SinkTask


PICKY = {"connector.class": f"{__name__}:PickySource", "name": "c"}


@pytest.fixture(scope="module")
def plugins() -> Plugins:
    return Plugins()


@pytest.fixture
def vault() -> References:
    return References({"vault": Vault()})


def run(plugins: Plugins, config: Mapping[str, str | None], worker: Mapping[str, str] | None = None) -> Validation:
    return validate(plugins, worker or {}, References({}), config)


def errors(found: Validation) -> dict[str, list[str]]:
    values = [entry["value"] for entry in found.configs if entry["value"] is not None]
    return {value["name"]: value["errors"] for value in values if value["errors"]}


def entry(found: Validation, name: str) -> Mapping[str, Any]:
    return next(e for e in found.configs if (e["definition"] or e["value"])["name"] == name)


def test_values_of_a_closed_list_are_recommended() -> None:
    given = {"connector.class": "Generator", "name": "c", "topic": "t"}
    found = {entry["value"]["name"]: entry["value"] for entry in validate(Plugins(), {}, References({}), given).configs}
    assert found["shape"]["recommended_values"] == ["counter", "text", "order"]
    assert found["topic"]["recommended_values"] == []
    assert found["errors.tolerance"]["recommended_values"] == [], "Kafka Connect recommends none"


def test_the_connectors_own_check_is_asked_when_its_keys_are_fine(plugins: Plugins) -> None:
    found = run(plugins, {**PICKY, "user": "u"})
    assert errors(found) == {"user": ["user and password belong together"], "other": ["unrelated"]}
    assert found.error_count == 2
    assert entry(found, "other")["definition"] is None
    assert errors(run(plugins, {**PICKY, "user": "u", "port": "x"})).keys() == {"port"}


def test_a_check_that_raises_fails_the_request(plugins: Plugins) -> None:
    with pytest.raises(BadRequest, match=r"PickySource\.validate\(\) failed with PluginError: cannot log in with None"):
        run(plugins, {**PICKY, "fail": "yes"})


def test_a_connector_without_definition_is_refused(plugins: Plugins) -> None:
    with pytest.raises(BadRequest, match=r"Strange\.config must be a ConfigDef"):
        run(plugins, {"connector.class": f"{__name__}:Strange", "name": "c", "topics": "t"})


def test_values_from_providers_are_never_shown(plugins: Plugins, vault: References) -> None:
    config = {**PICKY, "port": "${vault:port}", "tasks.max": "${vault:tasks}"}
    found = validate(plugins, {}, vault, config)
    assert "hunter22" not in str(found)
    assert entry(found, "port")["value"]["value"] == "${vault:port}"
    assert errors(found)["port"] == [
        "Invalid value for configuration 'port':"
        " the value resolved from the config provider reference failed validation"
    ]
    assert found.error_count == 3
    assert "hunter22" not in error_text(found)


def test_values_from_providers_are_taken_out_of_other_errors(plugins: Plugins, vault: References) -> None:
    config = {**PICKY, "user": "u", "password": "${vault:x}"}
    assert errors(validate(plugins, {}, vault, config)) == {"user": ["[hidden] is too weak"]}
    with pytest.raises(BadRequest, match=r"cannot log in with \[hidden\]"):
        validate(plugins, {}, vault, {**config, "fail": "yes"})


def test_passwords_are_hidden(plugins: Plugins) -> None:
    found = run(plugins, {**PICKY, "user": "u", "password": "letters"})
    assert entry(found, "password")["value"]["value"] == "[hidden]"
    assert found.error_count == 0


def test_a_reference_that_cannot_be_resolved_is_a_bad_request(plugins: Plugins) -> None:
    class Empty(ConfigProvider):
        def get(self, path: str, key: str) -> str:
            raise KeyError(key)

    with pytest.raises(BadRequest, match=r"Could not resolve \$\{v:x\} in configuration file"):
        validate(plugins, {}, References({"v": Empty()}), {**SOURCE, "file": "${v:x}"})


def test_null_counts_beside_what_the_key_itself_says(plugins: Plugins) -> None:
    found = run(plugins, {**SOURCE, "tasks.max": None, "made.up": None, "topic": None})
    assert errors(found) == {
        "tasks.max": [
            "Invalid value null for configuration tasks.max: Value must be non-null",
            "Null value can not be supplied as the configuration value.",
        ],
        "made.up": ["Null value can not be supplied as the configuration value."],
    }
    assert found.error_count == 3
    assert entry(found, "made.up")["definition"] is None


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"topics": None}, ["Must configure one of topics or topics.regex"]),
        ({"topics.regex": "t.*"}, ["topics and topics.regex are mutually exclusive options, but both are set."]),
    ],
)
def test_a_sink_names_its_topics_in_one_way(
    plugins: Plugins, change: dict[str, str | None], expected: list[str]
) -> None:
    config = {key: value for key, value in {**SINK, **change}.items() if value is not None}
    found = run(plugins, config)
    assert errors(found) == {"topics": expected, "topics.regex": expected}
    assert found.error_count == 2


def test_a_sink_does_not_read_its_dead_letters(plugins: Plugins) -> None:
    config = {**SINK, "topics.regex": "dead-.*", "errors.deadletterqueue.topic.name": "dead-1"}
    del config["topics"]
    assert errors(run(plugins, config)) == {
        "topics.regex": [
            "The DLQ topic 'dead-1' may not be matched by the regex for the topics"
            " ('topics.regex=dead-.*') consumed by the connector"
        ]
    }


@pytest.mark.parametrize(("topics", "trouble"), [("a,b,a", "duplicated"), ("a,,b", "empty")])
def test_a_sink_names_each_topic_once(plugins: Plugins, topics: str, trouble: str) -> None:
    found = run(plugins, {**SINK, "topics": topics})
    assert errors(found) == {"topics": [f"Configuration 'topics' values must not be {trouble}."]}


def test_a_sink_in_a_cluster_keeps_out_of_the_workers_group(plugins: Plugins) -> None:
    worker = {"group.id": "connect-c"}
    assert errors(run(plugins, SINK, worker)) == {
        "name": ["Consumer group for sink connector named c conflicts with Connect worker group connect-c"]
    }
    overridden = {**SINK, "consumer.override.group.id": "connect-c"}
    assert errors(run(plugins, overridden, worker))["consumer.override.group.id"]
    assert run(plugins, {**SINK, "consumer.override.group.id": "mine"}, worker).error_count == 0


@pytest.mark.parametrize(
    ("policy", "key", "allowed"),
    [
        ("None", "max.poll.records", False),
        ("Principal", "max.poll.records", False),
        ("Principal", "sasl.mechanism", True),
        ("Allowlist", "max.poll.records", True),
        ("Allowlist", "client.id", False),
        ("org.apache.kafka.connect.connector.policy.NoneConnectorClientConfigOverridePolicy", "client.id", False),
        ("All", "client.id", True),
    ],
)
def test_the_override_policy_decides(plugins: Plugins, policy: str, key: str, allowed: bool) -> None:
    worker = {
        "connector.client.config.override.policy": policy,
        "connector.client.config.override.allowlist": "x, max.poll.records",
    }
    found = run(plugins, {**SINK, f"consumer.override.{key}": "5"}, worker)
    short = "None" if policy.startswith("org") else policy
    text = f"The '{short}' policy does not allow '{key}' to be overridden in the connector configuration."
    assert errors(found) == ({} if allowed else {f"consumer.override.{key}": [text]})


def test_an_override_of_the_wrong_type_is_a_bad_request(plugins: Plugins) -> None:
    with pytest.raises(BadRequest, match=r"Invalid value many for configuration max.poll.records: Not a number"):
        run(plugins, {**SINK, "consumer.override.max.poll.records": "many"})


def test_secrets_in_overrides_are_hidden(plugins: Plugins) -> None:
    found = run(plugins, {**SINK, "consumer.override.sasl.jaas.config": "hunter22"})
    assert entry(found, "consumer.override.sasl.jaas.config")["value"]["value"] == "[hidden]"


@pytest.mark.parametrize(
    ("change", "key", "text"),
    [
        (
            {"transforms": "a", "transforms.a.type": f"{TRANSFORMS}.Cast"},
            "transforms.a.type",
            "This class is abstract and cannot be created."
            f" Did you mean {TRANSFORMS}.Cast$Key, {TRANSFORMS}.Cast$Value?",
        ),
        (
            {"transforms": "a", "transforms.a.type": "StringConverter"},
            "transforms.a.type",
            "Class class org.apache.kafka.connect.storage.StringConverter does not implement"
            " the Transformation interface",
        ),
        (
            {"value.converter": f"{TRANSFORMS}.Filter"},
            "value.converter",
            f"Class class {TRANSFORMS}.Filter does not implement the Converter interface",
        ),
        (
            {"value.converter": "JsonConverter", "value.converter.schemas.enable": "perhaps"},
            "value.converter.schemas.enable",
            "Invalid value perhaps for configuration schemas.enable: Expected value to be either true or false",
        ),
        (
            {"transaction.boundary": "connector"},
            "transaction.boundary",
            "The connector does not support connector-defined transaction boundaries with the given configuration."
            " Please reconfigure it to use a different transaction boundary definition.",
        ),
    ],
)
def test_plugins_in_a_configuration_are_checked(plugins: Plugins, change: dict[str, str], key: str, text: str) -> None:
    found = run(plugins, {**SOURCE, **change})
    assert errors(found) == {key: [text]}
    assert found.error_count == 1


def test_exactly_once_can_be_required_where_the_worker_gives_it(plugins: Plugins) -> None:
    config = {**SOURCE, "exactly.once.support": "REQUIRED"}
    assert run(plugins, config).error_count == 1
    assert run(plugins, config, {"exactly.once.source.support": "enabled"}).error_count == 0


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("yes", None),
        (
            "no",
            "The connector does not support connector-defined transaction boundaries with the given configuration."
            " Please reconfigure it to use a different transaction boundary definition.",
        ),
        (
            "nothing",
            "This connector has returned a null value from its canDefineTransactionBoundaries method, which is not"
            " permitted. The connector will be treated as if it cannot define its own transaction boundaries, and"
            " cannot be configured with 'transaction.boundary' set to 'connector'.",
        ),
        ("a cry", "An unexpected error occurred during validation: who asks?"),
        ("silence", "An unexpected error occurred during validation; please see the worker logs for more details."),
    ],
)
def test_a_connector_tells_whether_it_ends_transactions(plugins: Plugins, answer: str, text: str | None) -> None:
    config = {"connector.class": f"{__name__}:EndingSource", "name": "c", "answer": answer}
    found = run(plugins, {**config, "transaction.boundary": "Connector"})
    assert errors(found) == ({} if text is None else {"transaction.boundary": [text]})
    assert errors(run(plugins, config)) == {}


def test_another_version_of_the_connector_is_refused(plugins: Plugins) -> None:
    found = run(plugins, {**SOURCE, "connector.plugin.version": "[9.0,10.0)"})
    assert errors(found).keys() == {"connector.class", "connector.plugin.version"}
    assert "not found that matches the version range [9.0,10.0), available versions: [" in str(errors(found))
    assert errors(run(plugins, {**SOURCE, "connector.plugin.version": "[9.0"})).keys() == {"connector.plugin.version"}
    assert run(plugins, {**SOURCE, "connector.plugin.version": "[0.0.1,)"}).error_count == 0


def test_check_passes_or_lists_every_error(plugins: Plugins) -> None:
    check(plugins, {}, References({}), SOURCE)
    with pytest.raises(BadRequest) as error:
        check(plugins, {}, References({}), {**SOURCE, "tasks.max": "0", "errors.tolerance": "x"})
    assert str(error.value).split("\n") == [
        "Connector configuration is invalid and contains the following 2 error(s):",
        "Invalid value 0 for configuration tasks.max: Value must be at least 1",
        "Invalid value x for configuration errors.tolerance: String must be one of: none, all",
        "You can also find the above list of errors at the endpoint"
        " `/connector-plugins/{connectorType}/config/validate`",
    ]


def test_definitions_have_the_plugins_own_keys_first(plugins: Plugins) -> None:
    names = [key["name"] for key in plugin_config(plugins, "FileStreamSink")]
    assert names[0] == "file"
    assert {"name", "topics", "errors.deadletterqueue.topic.name"} < set(names)
    assert [key["name"] for key in plugin_config(plugins, f"{TRANSFORMS}.HoistField$Key")] == ["field"]
    assert "converter.type" in [key["name"] for key in plugin_config(plugins, "StringConverter")]


@pytest.mark.parametrize(
    ("plugin", "version", "error", "text"),
    [
        ("NoSuch", None, NotFound, r"^Unknown plugin NoSuch\.$"),
        ("FileStreamSink", "[", BadRequest, r"^Invalid version specification: \[$"),
        ("FileStreamSink", "99", BadRequest, r"not found that matches the version range \[99\], available versions: "),
        ("FileConfigProvider", None, BadRequest, r"^Invalid plugin class FileConfigProvider\. Valid types are sink, "),
    ],
)
def test_definitions_that_cannot_be_given(
    plugins: Plugins, plugin: str, version: str | None, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        plugin_config(plugins, plugin, version)


def test_connector_has_a_default_check() -> None:
    assert Connector.validate(PickySource(), {}) == {}


def test_the_place_of_a_key_is_told_in_the_words_of_kafka_connect_before_and_since_4_3(plugins: Plugins) -> None:
    definition = entry(run(plugins, SOURCE), "transforms")["definition"]
    assert definition["order"] == definition["order_in_group"] > 0
    for key in plugin_config(plugins, "FileStreamSource", None):
        assert key["order"] == key["order_in_group"]

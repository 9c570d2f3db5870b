"""The parsed view of a connector's configuration, from which tasks are built."""

from __future__ import annotations

import pytest

from penstock.api.errors import ConfigError
from penstock.runtime.connector_config import UnknownPredicate, parse_connector_config
from penstock.runtime.plugins import Plugins, UnknownPlugin
from penstock.spark.loading import load
from penstock.spark.splits import ErrorPolicy

TRANSFORMS = "org.apache.kafka.connect.transforms"
SINK = {"connector.class": "FileStreamSink", "name": " c ", "topics": "a, b", "file": "f"}
SOURCE = {"connector.class": "FileStreamSource", "name": "c", "topic": "t"}
WORKER = {"key.converter": "String", "value.converter": "JsonConverter", "value.converter.schemas.enable": "false"}


@pytest.fixture(scope="module")
def plugins() -> Plugins:
    return Plugins()


def test_a_sink(plugins: Plugins) -> None:
    config = parse_connector_config(plugins, WORKER, {**SINK, "tasks.max": "3", "gone": None})
    assert (config.name, config.type, config.is_sink) == ("c", "sink", True)
    assert (config.tasks_max, config.tasks_max_enforce) == (3, True)
    assert config.topics == ("a", "b")
    assert config.group_id == "connect-c"
    assert "gone" not in config.settings


@pytest.mark.parametrize(
    ("worker", "change", "group"),
    [
        ({}, {}, "connect-c"),
        ({"consumer.group.id": "w"}, {}, "w"),
        ({"consumer.group.id": "w"}, {"consumer.override.group.id": "mine"}, "mine"),
    ],
)
def test_the_consumer_group_of_a_sink(
    plugins: Plugins, worker: dict[str, str], change: dict[str, str], group: str
) -> None:
    assert parse_connector_config(plugins, worker, {**SINK, **change}).group_id == group


def test_converters_come_from_the_worker_or_wholly_from_the_connector(plugins: Plugins) -> None:
    config = parse_connector_config(plugins, WORKER, {**SOURCE, "value.converter.schemas.enable": "true"})
    assert load(config.key_converter.target).__name__ == "StringConverter"
    assert config.value_converter.settings == {"converter.type": "value", "schemas.enable": "false"}
    assert load(config.header_converter.target).__name__ == "SimpleHeaderConverter"
    own = parse_connector_config(plugins, WORKER, {**SOURCE, "value.converter": "Json"})
    assert own.value_converter.settings == {"converter.type": "value"}
    assert own.value_converter.target == config.value_converter.target


def test_the_transform_chain(plugins: Plugins) -> None:
    config = parse_connector_config(
        plugins,
        WORKER,
        {
            **SOURCE,
            "transforms": "hoist,drop",
            "transforms.hoist.type": f"{TRANSFORMS}.HoistField$Value",
            "transforms.hoist.field": "line",
            "transforms.drop.type": "Filter",
            "transforms.drop.predicate": " big ",
            "transforms.drop.negate": "TRUE",
            "predicates": "big",
            "predicates.big.type": f"{TRANSFORMS}.predicates.HasHeaderKey",
            "predicates.big.name": "size",
        },
    )
    hoist, drop = config.transforms
    assert (hoist.alias, hoist.transform.settings, hoist.predicate) == ("hoist", {"field": "line"}, None)
    assert (drop.alias, drop.transform.settings, drop.negate) == ("drop", {}, True)
    assert drop.predicate is not None
    assert drop.predicate.settings == {"name": "size"}
    assert load(drop.predicate.target).java_class == f"{TRANSFORMS}.predicates.HasHeaderKey"


def test_an_unknown_predicate_fails_whoever_needs_the_transforms_as_in_kafka_connect(plugins: Plugins) -> None:
    change = {"transforms": "t", "transforms.t.type": "Filter", "transforms.t.predicate": "q"}
    parsed = parse_connector_config(plugins, WORKER, {**SOURCE, **change})
    with pytest.raises(UnknownPredicate, match=r"Unknown configuration 'predicates.q.plugin.version'") as error:
        _ = parsed.transforms
    assert error.value.exception == "org.apache.kafka.connect.errors.ConnectException"


def test_the_error_policy(plugins: Plugins) -> None:
    assert parse_connector_config(plugins, WORKER, SOURCE).errors == ErrorPolicy()
    change = {
        "errors.tolerance": "all",
        "errors.retry.timeout": "-1",
        "errors.retry.delay.max.ms": "10",
        "errors.log.enable": "true",
        "errors.log.include.messages": "true",
        "errors.deadletterqueue.topic.name": " dead ",
        "errors.deadletterqueue.context.headers.enable": "true",
    }
    wanted = ErrorPolicy(True, -1, 10, True, True, "dead", True)
    assert parse_connector_config(plugins, WORKER, {**SINK, **change}).errors == wanted
    assert parse_connector_config(plugins, WORKER, {**SOURCE, **change}).errors == wanted


def test_topics_are_created_by_group(plugins: Plugins) -> None:
    change = {
        "topic.creation.groups": "logs,rest",
        "topic.creation.default.partitions": "4",
        "topic.creation.default.replication.factor": "-1",
        "topic.creation.logs.include": "log-.*, audit",
        "topic.creation.logs.exclude": "log-tmp",
        "topic.creation.logs.partitions": "2",
        "topic.creation.logs.cleanup.policy": "compact",
        "topic.creation.rest.include": "rest",
        "topic.creation.rest.partitions": "-1",
    }
    config = parse_connector_config(plugins, WORKER, {**SOURCE, **change})
    sizes = {topic: config.partitions_of_new(topic) for topic in ("log-1", "audit", "log-tmp", "rest", "other")}
    assert sizes == {"log-1": 2, "audit": 2, "log-tmp": 4, "rest": 1, "other": 4}
    assert config.default_topic_partitions == 4
    assert config.topic_groups[0].settings == {"cleanup.policy": "compact"}
    off = parse_connector_config(plugins, {**WORKER, "topic.creation.enable": "false"}, {**SOURCE, **change})
    assert (off.topic_groups, off.default_topic_partitions) == ([], 1)


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("partitions", "0", "Number of partitions must be positive, or -1 to use the broker's default"),
        ("replication.factor", "-2", "Replication factor must be positive and not larger than the number of brokers"),
    ],
)
def test_bad_topic_creation_fails_when_tasks_are_built(plugins: Plugins, key: str, value: str, text: str) -> None:
    change = {
        "topic.creation.default.partitions": "1",
        "topic.creation.default.replication.factor": "1",
        f"topic.creation.default.{key}": value,
    }
    with pytest.raises(ConfigError, match=text):
        parse_connector_config(plugins, WORKER, {**SOURCE, **change})


def test_client_overrides_are_split_by_client(plugins: Plugins) -> None:
    change = {"producer.override.linger.ms": "5", "consumer.override.client.id": "x", "admin.override.retries": "1"}
    config = parse_connector_config(plugins, WORKER, {**SINK, **change})
    assert config.producer_overrides == {"linger.ms": "5"}
    assert config.consumer_overrides == {"client.id": "x"}
    assert config.admin_overrides == {"retries": "1"}


def test_what_cannot_be_parsed_says_why(plugins: Plugins) -> None:
    with pytest.raises(UnknownPlugin, match="Failed to find any class that implements Connector"):
        parse_connector_config(plugins, WORKER, {"name": "c"})
    with pytest.raises(ConfigError, match=r'Missing required configuration "transforms.t.type"'):
        parse_connector_config(plugins, WORKER, {**SOURCE, "transforms": "t"})
    with pytest.raises(ConfigError, match=r"Class no.Such could not be found"):
        parse_connector_config(plugins, {"value.converter": "no.Such"}, SOURCE)

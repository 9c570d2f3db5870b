"""Making topics, as ``topic.creation.*`` says or as the broker does by itself, and looking after their settings."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaError
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewTopic,
)

from penstock.api.errors import PluginError, RetriableError

from ..errors import TopicError, TopicExists, UnknownTopic
from ..settings import check_name
from .cluster import ANSWER_SECONDS, Cluster, ClusterUnavailable
from .errors import cause_of, is_passing, text_of

logger = logging.getLogger(__name__)

BROKER_DEFAULT = -1
_LOOK_SECONDS = 0.1
_NUMBERS = ("partitions", "replication.factor")


class CreationFailed(PluginError):
    """A source cannot make the topic it needs; Kafka Connect's text."""

    exception = "org.apache.kafka.connect.errors.ConnectException"

    def __init__(self, topic: str, reason: str) -> None:
        super().__init__(
            f"Task failed to create new topic {topic}. Ensure that the task is authorized to create topics or that "
            f"the topic exists and restart the task: {reason}"
        )


def ensure(cluster: Cluster, may_create: bool, topic: str, settings: Mapping[str, str]) -> int:
    """The partitions of a topic, which is made when it is missing. Blocks.

    Raises ``CreationFailed``, ``ClusterUnavailable``, or ``RetriableError`` when the broker should make it and does
    not.
    """
    cluster.refresh()
    if not cluster.partitions(topic):
        if may_create:
            try:
                create(cluster, topic, settings)
            except TopicExists:
                cluster.refresh()
            except TopicError as error:
                raise CreationFailed(topic, str(error)) from error
        else:
            _leave_to_broker(cluster, topic)
    return cluster.partitions(topic) or int(settings.get("partitions", "1"))


def create(cluster: Cluster, topic: str, settings: Mapping[str, str]) -> None:
    """Raises ``TopicError`` or ``ClusterUnavailable``."""
    check_name(topic)
    wanted = NewTopic(
        topic,
        num_partitions=_number(topic, settings, "partitions"),
        replication_factor=_number(topic, settings, "replication.factor"),
        config={key: value for key, value in settings.items() if key not in _NUMBERS},
    )
    try:
        cluster.admin.create_topics([wanted], operation_timeout=ANSWER_SECONDS)[topic].result(2 * ANSWER_SECONDS)
    except Exception as error:
        raise _failure(error, topic, "created") from error
    logger.info("Created topic %s", topic)
    _wait_until_known(cluster, topic, ANSWER_SECONDS)


def settings(cluster: Cluster, topic: str) -> dict[str, str]:
    """What the topic was given, without defaults. Blocks."""
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    answer: Any = cluster.admin.describe_configs([resource], request_timeout=ANSWER_SECONDS)[resource]
    try:
        found = answer.result(ANSWER_SECONDS)
    except Exception as error:
        raise _failure(error, topic, "described") from error
    own = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    return {name: entry.value for name, entry in found.items() if entry.source == own}


def alter(cluster: Cluster, topic: str, changes: Mapping[str, str | None]) -> None:
    """Set or unset settings. Blocks."""
    entries = [
        ConfigEntry(
            name,
            value or "",
            incremental_operation=AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET,
        )
        for name, value in changes.items()
    ]
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=entries)
    answer: Any = cluster.admin.incremental_alter_configs([resource], request_timeout=ANSWER_SECONDS)[resource]
    try:
        answer.result(ANSWER_SECONDS)
    except Exception as error:
        raise _failure(error, topic, "changed") from error


def delete(cluster: Cluster, topic: str) -> None:
    """Blocks until the cluster does not list it any more."""
    try:
        cluster.admin.delete_topics([topic], operation_timeout=ANSWER_SECONDS)[topic].result(2 * ANSWER_SECONDS)
    except Exception as error:
        raise _failure(error, topic, "deleted") from error
    until = time.monotonic() + ANSWER_SECONDS
    cluster.refresh()
    while cluster.partitions(topic) and time.monotonic() < until:
        time.sleep(_LOOK_SECONDS)
        cluster.refresh()


def _leave_to_broker(cluster: Cluster, topic: str) -> None:
    """Make a topic as brokers do for producers, with their defaults, if they do.

    Asking for the topic by its name would let them do it, but such a question has crashed librdkafka while others were
    answered.
    """
    if not _makes_topics(cluster):
        raise RetriableError(
            f"Topic {topic} does not exist and the broker does not make it by itself. Create it, or give the connector "
            "topic.creation.default.partitions and topic.creation.default.replication.factor so that it is made with "
            "these (topic.creation.enable of the worker must be true, as it is by default)."
        )
    try:
        create(cluster, topic, {})
    except TopicExists:
        _wait_until_known(cluster, topic, ANSWER_SECONDS)
    except TopicError as error:
        raise CreationFailed(topic, str(error)) from error


def _makes_topics(cluster: Cluster) -> bool:
    """``auto.create.topics.enable``; taken to be true where it may not be read."""
    resource = ConfigResource(ConfigResource.Type.BROKER, str(cluster.a_broker()))
    try:
        answer: Any = cluster.admin.describe_configs([resource], request_timeout=ANSWER_SECONDS)[resource]
        entry = answer.result(ANSWER_SECONDS).get("auto.create.topics.enable")
    except Exception as error:
        if is_passing(error):
            raise ClusterUnavailable(error) from error
        return True
    return entry is None or entry.value != "false"


def _wait_until_known(cluster: Cluster, topic: str, seconds: float) -> None:
    until = time.monotonic() + seconds
    cluster.refresh()
    while not cluster.partitions(topic) and time.monotonic() < until:
        time.sleep(_LOOK_SECONDS)
        cluster.refresh()


def _number(topic: str, settings: Mapping[str, str], key: str) -> int:
    text = settings.get(key, str(BROKER_DEFAULT))
    try:
        return int(text)
    except ValueError:
        raise TopicError(f"Invalid value {text} for setting {key} of topic '{topic}': must be an integer") from None


def _failure(error: BaseException, topic: str, what: str) -> Exception:
    cause = cause_of(error)
    code = None if cause is None else cause.code()
    if code == KafkaError.TOPIC_ALREADY_EXISTS:
        return TopicExists(topic)
    if code == KafkaError.UNKNOWN_TOPIC_OR_PART:
        return UnknownTopic(topic)
    if is_passing(error):
        return ClusterUnavailable(error)
    return TopicError(f"Topic '{topic}' could not be {what}: {text_of(error)}")

"""Internal topics: made compacted when they are missing, checked when they are there."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewTopic,
)

from .errors import StorageError
from .kafka_complaints import Complaints

logger = logging.getLogger(__name__)

SECONDS = 60.0
LOOK_SECONDS = 0.05


@dataclass(frozen=True)
class InternalTopic:
    """A topic that workers share. ``key`` is the worker key that names it, ``purpose`` what it is for.

    ``partitions`` and ``replication`` count when it is made; -1 leaves them to the broker. ``single`` topics must have
    one partition. Without ``create`` a missing topic is an error.
    """

    name: str
    key: str
    purpose: str
    partitions: int = 1
    replication: int = -1
    settings: Mapping[str, str] = field(default_factory=dict)
    single: bool = False
    create: bool = True


class WrongTopic(StorageError):
    """An internal topic cannot be used or made; the text is for the user."""


def ensure_topic(admin: AdminClient, topic: InternalTopic, complaints: Complaints | None = None) -> int:
    """The number of its partitions. Raises :class:`WrongTopic`, which tells what the client complained about."""
    try:
        found = _partitions(admin, topic)
        if found is None:
            if not topic.create:
                raise WrongTopic(
                    f"Topic '{topic.name}' specified via the '{topic.key}' property is missing. The config "
                    "'internal.topics.automatic.creation.enable' is set to 'false', so automatic creation of internal "
                    "topics is disabled. Either enable automatic creation or create the topics manually."
                )
            _create(admin, topic)
            found = _wait_for(admin, topic)
        _check_policy(admin, topic)
    except KafkaException as error:
        admin.poll(0)
        reason = f" ({complaints.last})" if complaints is not None and complaints.last else ""
        raise WrongTopic(
            f"Topic '{topic.name}' ({topic.key}) could not be looked at: {_text(error)}{reason}"
        ) from error
    if topic.single and found != 1:
        raise WrongTopic(
            f"Topic '{topic.name}' supplied via the '{topic.key}' property is required to have a single partition in "
            f"order to guarantee consistency of {topic.purpose}, but found {found} partitions."
        )
    return found


def _partitions(admin: AdminClient, topic: InternalTopic) -> int | None:
    """Asked without naming the topic: naming it would let some brokers make it, uncompacted."""
    known = admin.list_topics(timeout=SECONDS).topics.get(topic.name)
    return None if known is None or known.error is not None else len(known.partitions)


def _wait_for(admin: AdminClient, topic: InternalTopic) -> int:
    """A new topic takes a moment until every broker knows it."""
    until = time.monotonic() + SECONDS
    while True:
        found = _partitions(admin, topic)
        if found:
            return found
        if time.monotonic() > until:
            raise WrongTopic(f"Topic '{topic.name}' ({topic.key}) was created, but the brokers do not show it")
        time.sleep(LOOK_SECONDS)


def _create(admin: AdminClient, topic: InternalTopic) -> None:
    settings = {key: value for key, value in topic.settings.items() if key != "cleanup.policy"}
    wanted = NewTopic(
        topic.name,
        num_partitions=topic.partitions,
        replication_factor=topic.replication,
        config={**settings, "cleanup.policy": "compact"},
    )
    try:
        admin.create_topics([wanted], operation_timeout=SECONDS)[topic.name].result(SECONDS)
        logger.info("Created topic %s for %s", topic.name, topic.purpose)
    except KafkaException as error:
        if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
            return
        raise WrongTopic(
            f"Topic '{topic.name}' ({topic.key}) could not be created with {topic.partitions} partitions and a "
            f"replication factor of {topic.replication}: {_text(error)}. See "
            f"'{topic.key.removesuffix('.topic')}.replication.factor'."
        ) from error


def compact_unless_told(admin: AdminClient, topic: InternalTopic) -> None:
    """Have a topic compacted whose policy nobody has chosen: brokers make topics by themselves when they are named.

    A missing one is made here, before a broker does. Where that is not possible, or not allowed, nothing happens:
    :func:`ensure_topic` tells what is wrong with it.
    """
    try:
        if _partitions(admin, topic) is None:
            if not topic.create:
                return
            _create(admin, topic)
        if ConfigSource(_policy(admin, topic).source) is ConfigSource.DYNAMIC_TOPIC_CONFIG:
            return
        compact = ConfigEntry("cleanup.policy", "compact", incremental_operation=AlterConfigOpType.SET)
        change = ConfigResource(ConfigResource.Type.TOPIC, topic.name, incremental_configs=[compact])
        admin.incremental_alter_configs([change])[change].result(SECONDS)
        _wait_until_compacted(admin, topic)
        logger.info("Topic %s, which a broker has made by itself, is compacted from now on", topic.name)
    except (KafkaException, WrongTopic) as error:
        reason = _text(error) if isinstance(error, KafkaException) else str(error)
        logger.warning("Topic %s could not be looked at, or compacted: %s", topic.name, reason)


def _wait_until_compacted(admin: AdminClient, topic: InternalTopic) -> None:
    """A changed policy takes a moment until every broker knows it."""
    until = time.monotonic() + SECONDS
    while _policy(admin, topic).value != "compact" and time.monotonic() < until:
        time.sleep(LOOK_SECONDS)


def _check_policy(admin: AdminClient, topic: InternalTopic) -> None:
    try:
        policy = str(_policy(admin, topic).value)
    except KafkaException as error:
        if error.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            logger.info("The settings of topic %s may not be read; it is taken to be compacted", topic.name)
            return
        raise
    if set(policy.replace(" ", "").split(",")) != {"compact"}:
        raise WrongTopic(
            f"Topic '{topic.name}' supplied via the '{topic.key}' property is required to have "
            f"'cleanup.policy=compact' to guarantee consistency and durability of {topic.purpose}, but found the topic "
            f"currently has 'cleanup.policy={policy}'. Continuing would likely result in eventually losing "
            f"{topic.purpose} and problems restarting this Connect cluster in the future. Change the '{topic.key}' "
            "property in the Connect worker configurations to use a topic with 'cleanup.policy=compact'."
        )


def _policy(admin: AdminClient, topic: InternalTopic) -> ConfigEntry:
    """Any broker may be asked, and the one that is may not have heard yet of a topic that is new."""
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic.name)
    until = time.monotonic() + SECONDS
    while True:
        answer: Any = admin.describe_configs([resource])[resource]
        try:
            found: ConfigEntry = answer.result(SECONDS)["cleanup.policy"]
            return found
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART or time.monotonic() > until:
                raise
        time.sleep(LOOK_SECONDS)


def _text(error: KafkaException) -> str:
    cause = error.args[0]
    return str(cause.str()) if isinstance(cause, KafkaError) else str(error)

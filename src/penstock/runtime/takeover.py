"""What becomes of the connectors of a Kafka Connect cluster when Penstock is started on its topics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException
from confluent_kafka.admin import AdminClient

from penstock.storage.config_snapshot import ConfigSnapshot
from penstock.storage.config_store import ConfigStore
from penstock.storage.errors import StorageError
from penstock.storage.kafka_log import KafkaLogs, unreachable
from penstock.storage.offset_store import OffsetStore

from .connector_config import consumer_group
from .distributed_settings import client_settings, internal_topic
from .plugins import PluginEntry, Plugins, UnknownPlugin
from .requests import TargetState
from .worker_config import WorkerConfig

SECONDS = 30.0
_STATES = {TargetState.STARTED: "RUNNING", TargetState.PAUSED: "PAUSED", TargetState.STOPPED: "STOPPED"}


@dataclass(frozen=True)
class ConnectorTakeover:
    """One connector. ``problem`` is why it would be FAILED; empty when it goes on as ``state``.

    ``offsets`` counts the source partitions, or the topic partitions of the consumer ``group``, that are known.
    """

    name: str
    connector_class: str
    kind: str
    state: str
    tasks: int
    offsets: int
    group: str | None = None
    problem: str = ""


@dataclass(frozen=True)
class Takeover:
    """The whole cluster. ``members`` are workers that are still running: a takeover has to wait for their end."""

    group: str
    connectors: list[ConnectorTakeover] = field(default_factory=list)
    members: tuple[str, ...] = ()


def examine(config: WorkerConfig) -> Takeover:
    """Read the internal topics, write nothing. Raises ``StorageError`` when there are none, or they cannot be read."""
    settings = client_settings(config)
    logs = KafkaLogs(settings, f"{config.values['group.id']}-takeover")
    try:
        configs = ConfigStore(logs.log(replace(internal_topic(config, "config"), create=False)))
        offsets = OffsetStore(logs.log(replace(internal_topic(config, "offset"), create=False)))
        configs.start()
        offsets.start()
        plugins = Plugins([str(folder) for folder in config.plugin_path])
        snapshot = configs.snapshot()
        found = [
            _connector(name, snapshot, offsets, plugins, config.properties, logs.admin)
            for name in sorted(snapshot.connectors())
        ]
        return Takeover(config.values["group.id"], found, _members(logs.admin, config.values["group.id"]))
    finally:
        logs.stop()


def _connector(
    name: str,
    snapshot: ConfigSnapshot,
    offsets: OffsetStore,
    plugins: Plugins,
    worker: Mapping[str, str],
    admin: AdminClient,
) -> ConnectorTakeover:
    raw = snapshot.connector_config(name) or {}
    wanted = raw.get("connector.class") or ""
    plugin, problem = _plugin(plugins, wanted)
    kind = plugin.kind.value if plugin is not None else _guess(raw)
    group = None
    if kind == "sink":
        group = consumer_group(worker, {key: value for key, value in raw.items() if value is not None})
    known = len(offsets.all(name)) if group is None else _positions(admin, group)
    return ConnectorTakeover(
        name=name,
        connector_class=wanted,
        kind=kind,
        state=_STATES[snapshot.target_state(name)],
        tasks=len(snapshot.task_configs(name)),
        offsets=known,
        group=group,
        problem=problem,
    )


def _plugin(plugins: Plugins, wanted: str) -> tuple[PluginEntry | None, str]:
    try:
        return plugins.connector(wanted), ""
    except UnknownPlugin:
        return None, f"there is no {wanted or 'connector.class'} here: its configuration, tasks and offsets stay as is"


def _guess(raw: Mapping[str, str | None]) -> str:
    return "sink" if raw.get("topics") or raw.get("topics.regex") else "unknown"


def _positions(admin: AdminClient, group: str) -> int:
    asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)], request_timeout=SECONDS)
    try:
        found: Any = asked[group].result(SECONDS)
    except KafkaException:
        return 0
    return sum(1 for at in found.topic_partitions if at.offset >= 0)


def _members(admin: AdminClient, group: str) -> tuple[str, ...]:
    try:
        known = admin.list_groups(group, timeout=SECONDS)
    except KafkaException as error:
        raise StorageError(str(unreachable(error))) from error
    return tuple(f"{member.client_host}".lstrip("/") for found in known for member in found.members)

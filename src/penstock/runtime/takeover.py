"""What becomes of the connectors of a Kafka Connect cluster when Penstock is started on its topics."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException
from confluent_kafka.admin import AdminClient

from penstock.api.errors import ConfigError
from penstock.storage.config_snapshot import ConfigSnapshot
from penstock.storage.config_store import ConfigStore
from penstock.storage.errors import StorageError
from penstock.storage.kafka_log import KafkaLogs, unreachable
from penstock.storage.offset_store import OffsetStore

from .connector_config import ConnectorConfig, consumer_group, parse_connector_config
from .connector_offsets import ConnectorOffsets
from .distributed_settings import client_settings, internal_topic
from .plugins import PluginEntry, Plugins, UnknownPlugin
from .providers import References, worker_references
from .requests import BadRequest, TargetState
from .topic_homes import connector_clients
from .validation import check
from .validation_secrets import without_secrets
from .worker_config import WorkerConfig, WorkerConfigError

SECONDS = 30.0
_STATES = {TargetState.STARTED: "RUNNING", TargetState.PAUSED: "PAUSED", TargetState.STOPPED: "STOPPED"}

Raw = Mapping[str, str | None]


@dataclass(frozen=True)
class ConnectorTakeover:
    """One connector. ``problem`` is why it would be FAILED; empty when it goes on as ``state``.

    ``doubt`` is what is wrong with the configuration of one that goes on all the same. ``offsets`` counts the source
    partitions, or the topic partitions of the consumer ``group``, that are known.
    """

    name: str
    connector_class: str
    kind: str
    state: str
    tasks: int
    offsets: int
    group: str | None = None
    problem: str = ""
    doubt: str = ""


@dataclass(frozen=True)
class Takeover:
    """The whole cluster. ``members`` are workers that are still running: a takeover has to wait for their end."""

    group: str
    connectors: list[ConnectorTakeover] = field(default_factory=list)
    members: tuple[str, ...] = ()


def examine(config: WorkerConfig) -> Takeover:
    """Read the internal topics, write nothing. Raises ``StorageError`` when there are none, or they cannot be read.

    Raises ``WorkerConfigError``, too.
    """
    logs = KafkaLogs(client_settings(config), f"{config.values['group.id']}-takeover")
    configs = ConfigStore(logs.log(replace(internal_topic(config, "config"), create=False)))
    shared = OffsetStore(logs.log(replace(internal_topic(config, "offset"), create=False)))
    offsets = ConnectorOffsets(shared, config, create=False)
    try:
        configs.start()
        offsets.start()
        look = _Look(config, configs.snapshot(), offsets, logs.admin)
        found = [look.at(name) for name in sorted(configs.snapshot().connectors())]
        return Takeover(config.values["group.id"], found, _members(logs.admin, config.values["group.id"]))
    finally:
        offsets.stop()
        logs.stop()


class _Look:
    """Looks at connectors as a worker would that is about to start them."""

    def __init__(
        self, config: WorkerConfig, snapshot: ConfigSnapshot, offsets: ConnectorOffsets, admin: AdminClient
    ) -> None:
        self._worker = config.properties
        self._snapshot = snapshot
        self._offsets = offsets
        self._admin = admin
        self._plugins = Plugins([str(folder) for folder in config.plugin_path])
        try:
            self._references: References = worker_references(self._plugins, self._worker)
        except ConfigError as error:
            raise WorkerConfigError(str(error)) from error

    def at(self, name: str) -> ConnectorTakeover:
        """What becomes of one connector."""
        raw = self._snapshot.connector_config(name) or {}
        wanted = raw.get("connector.class") or ""
        plugin = self._plugin(wanted)
        parsed, problem = (None, f"there is no {wanted or 'connector.class'} here")
        if plugin is not None:
            parsed, problem = self._parsed(raw)
        kind = plugin.kind.value if plugin is not None else _guess(raw)
        group = self._group(raw) if kind == "sink" else None
        return ConnectorTakeover(
            name=name,
            connector_class=wanted,
            kind=kind,
            state=_STATES[self._snapshot.target_state(name)],
            tasks=len(self._snapshot.task_configs(name)),
            offsets=self._source_partitions(name, parsed) if group is None else self._positions(group, parsed),
            group=group,
            problem=f"{problem}: its configuration, tasks and offsets stay as is" if problem else "",
            doubt="" if problem else self._doubt(raw),
        )

    def _plugin(self, wanted: str) -> PluginEntry | None:
        try:
            return self._plugins.connector(wanted)
        except UnknownPlugin:
            return None

    def _parsed(self, raw: Raw) -> tuple[ConnectorConfig | None, str]:
        """The configuration as its tasks would be started with it, or why they could not be."""
        try:
            props = self._references.resolve(raw)
        except ConfigError as error:
            return None, str(error)
        try:
            parsed = parse_connector_config(self._plugins, self._worker, props)
            connector_clients(self._worker, parsed)
        except (ConfigError, UnknownPlugin) as error:
            return None, without_secrets(str(error), props, self._references.resolved_keys(raw))
        return parsed, ""

    def _doubt(self, raw: Raw) -> str:
        """What a worker would say if somebody asked for this configuration now."""
        try:
            check(self._plugins, self._worker, self._references, raw)
        except BadRequest as error:
            return str(error)
        return ""

    def _group(self, raw: Raw) -> str:
        return consumer_group(self._worker, {key: value for key, value in raw.items() if value is not None})

    def _source_partitions(self, name: str, parsed: ConnectorConfig | None) -> int:
        if parsed is not None:
            with suppress(StorageError):
                self._offsets.open(parsed)
        return len(self._offsets.all(name))

    def _positions(self, group: str, parsed: ConnectorConfig | None) -> int:
        """Those in the Kafka cluster that the sink reads from."""
        admin = self._admin
        if parsed is not None and parsed.consumer_overrides.get("bootstrap.servers"):
            admin = AdminClient(dict(connector_clients(self._worker, parsed).admin))
        asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)], request_timeout=SECONDS)
        try:
            found: Any = asked[group].result(SECONDS)
        except KafkaException:
            return 0
        return sum(1 for at in found.topic_partitions if at.offset >= 0)


def _guess(raw: Raw) -> str:
    return "sink" if raw.get("topics") or raw.get("topics.regex") else "unknown"


def _members(admin: AdminClient, group: str) -> tuple[str, ...]:
    try:
        known = admin.list_groups(group, timeout=SECONDS)
    except KafkaException as error:
        raise StorageError(str(unreachable(error))) from error
    return tuple(f"{member.client_host}".lstrip("/") for found in known for member in found.members)

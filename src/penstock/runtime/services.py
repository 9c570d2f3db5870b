"""What keepers, pumps and the herder share within one worker."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

import penstock
from penstock.api.connector import Connector, SinkConnector, SourceConnector
from penstock.spark.capacity import Capacity
from penstock.storage.config_store import ConfigStore
from penstock.storage.offset_store import OffsetStore
from penstock.topics.interface import TopicHome

from . import validation
from .calls import CallTimedOut, UserCode
from .cleanups import Cleanups
from .connector_config import ConnectorConfig, consumer_group, parse_connector_config
from .hooks import Hooks
from .metrics import WorkerMetrics
from .ownership import Ownership
from .plugins import PluginEntry, Plugins, UnknownPlugin
from .providers import worker_references
from .pump import PumpServices
from .requests import TaskId, TimedOut, Validation
from .statuses import Statuses
from .worker_config import WorkerConfig

log = logging.getLogger(__name__)

SCAN_SECONDS = 60.0
"""What the first import of all plugins may take, at least: cold disks and busy machines are slow."""

T = TypeVar("T")
Raw = Mapping[str, str | None]
PublishTasks = Callable[[str, Sequence[Raw], int], Awaitable[None]]
"""Makes task configs of a connector the current ones; ends when they are.

The number is the position of the config log up to which whoever made them had read it. Raises a ``RequestError`` when
they are of no use any more.
"""


class Services:
    """The stores, the plugins, the limits, and the questions one asks of a connector's configuration.

    What is only declared here is set while the worker is put together.
    """

    statuses: Statuses
    pumps: PumpServices
    capacity: Callable[[], Future[Capacity]]
    removed: Callable[[str], None]
    tasks_changed: Callable[[], None]
    hooks: Hooks
    cleanups: Cleanups
    publish_tasks: PublishTasks

    def __init__(
        self,
        config: WorkerConfig,
        configs: ConfigStore,
        offsets: OffsetStore,
        topics: TopicHome,
        plugins: Plugins,
        calls: UserCode,
        cluster_id: str,
    ) -> None:
        self.config = config
        self.configs = configs
        self.offsets = offsets
        self.topics = topics
        self.plugins = plugins
        self.calls = calls
        self.cluster_id = cluster_id
        self.ownership = Ownership()
        self.metrics = WorkerMetrics()
        self.fence: Callable[[str], Awaitable[None]] | None = None
        self.spark_trouble: Callable[[], str | None] = lambda: None
        self.open_offsets: Callable[[ConnectorConfig], None] = lambda parsed: None
        self.commit = penstock.__version__
        self.call_seconds = config.connector_call_timeout_ms / 1000
        self.stop_seconds = config.task_shutdown_graceful_timeout_ms / 1000
        self.topic_tracking = config.topic_tracking_enable
        self.topic_tracking_reset = config.topic_tracking_allow_reset
        self._connector_plugins: dict[str, PluginEntry] = {}
        self._scan: asyncio.Task[None] | None = None
        self._references = worker_references(plugins, config.properties)

    def resolve(self, config: Raw) -> dict[str, str]:
        """A configuration as plugins get it: references resolved, nulls left out."""
        return {key: value for key, value in self._references.resolve(config).items() if value is not None}

    def parse(self, resolved: Mapping[str, str]) -> ConnectorConfig:
        """The typed view of a connector configuration whose references are resolved."""
        return parse_connector_config(self.plugins, self.config.properties, resolved)

    def check(self, config: Raw) -> None:
        """Raises ``BadRequest`` with every error of a configuration. Runs user code."""
        validation.check(self.plugins, self.config.properties, self._references, config)

    def validate_for(self, plugin: str, config: Raw) -> Validation:
        """The answer of the validate endpoint. Runs user code."""
        return validation.validate_for(plugin, self.plugins, self.config.properties, self._references, config)

    def plugin_config(self, plugin: str, version: str | None) -> Sequence[Mapping[str, Any]]:
        """The definition of a plugin's keys. Runs user code."""
        return validation.plugin_config(self.plugins, plugin, version)

    def connector_plugin(self, config: Raw) -> PluginEntry:
        """The plugin a configuration names. Raises :class:`~penstock.runtime.plugins.UnknownPlugin`."""
        name = config.get("connector.class") or ""
        entry = self._connector_plugins.get(name)
        if entry is None:
            entry = self._connector_plugins[name] = self.plugins.connector(name)
        return entry

    def connector_type(self, config: Raw) -> str:
        """``source``, ``sink``, or ``unknown`` when the plugin is not there."""
        try:
            return self.connector_plugin(config).kind.value
        except UnknownPlugin:
            return "unknown"

    def connector_type_of(self, name: str) -> str:
        """The same for a known connector by its name."""
        config = self.configs.snapshot().connector_config(name)
        return "unknown" if config is None else self.connector_type(config)

    def connector_version(self, name: str) -> str | None:
        """The version of a known connector's plugin."""
        config = self.configs.snapshot().connector_config(name)
        try:
            return None if config is None else self.connector_plugin(config).version
        except UnknownPlugin:
            return None

    def new_connector(self, config: Raw) -> Connector:
        """A fresh, configured instance. Runs user code."""
        connector: Connector = self.connector_plugin(config).load()()
        connector.configure(self.resolve(config))
        return connector

    def start_connector(self, config: Raw, reconfigure: Callable[[], None]) -> Connector:
        """A started instance; ``reconfigure`` is what it may call to get new tasks. Runs user code."""
        connector = self.new_connector(config)
        connector.request_task_reconfiguration = reconfigure
        connector.start()
        return connector

    async def find_plugins(self) -> None:
        """Wait for the one look for plugins: no call's own limit shall be spent on importing their modules."""
        if self._scan is None:
            self._scan = asyncio.create_task(self._look_for_plugins(), name="plugins")
        await asyncio.shield(self._scan)

    async def _look_for_plugins(self) -> None:
        seconds = max(self.call_seconds, SCAN_SECONDS)
        try:
            await asyncio.wrap_future(self.calls.run("looking for plugins", seconds, self.plugins.scan))
        except Exception as error:
            log.error("Not all plugins were found: %s", error)

    async def user_code(self, what: str, function: Callable[[], T]) -> T:
        """Call user code for a request; a call that hangs becomes ``TimedOut``."""
        await self.find_plugins()
        try:
            return await asyncio.wrap_future(self.calls.run(what, self.call_seconds, function))
        except CallTimedOut as late:
            raise TimedOut(f"Request timed out. {late}") from late

    def alter_offsets(self, config: Raw, changes: Any) -> bool:
        """Ask the connector's own ``alter_offsets``. Runs user code."""
        connector = self.new_connector(config)
        if isinstance(connector, SourceConnector | SinkConnector):
            return connector.alter_offsets(connector.settings, changes)
        return False

    def group(self, config: Raw) -> str:
        """The consumer group of a sink connector."""
        return consumer_group(self.config.properties, self.resolve(config))

    def use_topic(self, task: TaskId, topic: str) -> None:
        """A task has written to or read from a topic."""
        if self.topic_tracking:
            self.statuses.use_topic(task, topic)

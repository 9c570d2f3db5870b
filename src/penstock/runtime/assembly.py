"""Puts a standalone worker together and takes it apart again."""

from __future__ import annotations

import asyncio
import logging
import threading
import uuid
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from penstock.spark.session import SparkEngine
from penstock.storage.config_store import HISTORY, ConfigStore
from penstock.storage.sqlite import Database
from penstock.storage.sqlite_log import SqliteLog
from penstock.storage.status_store import StatusStore
from penstock.topics.embedded import EmbeddedTopics
from penstock.topics.interface import TopicHome

from .calls import UserCode
from .cleanups import Cleanups
from .hooks import Hooks
from .logging import Loggers
from .planning import Planner
from .plugins import Plugins
from .provisioning.provisioner import Applied
from .pump import PumpServices
from .services import Services
from .spark_host import SparkHost
from .standalone import StandaloneHerder
from .statuses import Statuses
from .topic_homes import open_home, open_offsets
from .worker import Worker
from .worker_config import WorkerConfig

log = logging.getLogger(__name__)

T = TypeVar("T")

MAINTENANCE_SECONDS = 5.0


class StandaloneWorker:
    """Everything of one worker but its REST server.

    ``start`` returns when connectors are being started; Spark comes up in the background, and
    ``spark_ready`` tells when. Pipeline files are applied in the background, too: ``provisioned`` ends when they were,
    and ``on_applied`` is told of each time. ``stop`` may be called once, after ``start`` or a failed ``start``.
    """

    def __init__(self, config: WorkerConfig) -> None:
        self._config = config
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="penstock-runtime", daemon=True)
        self._calls = UserCode()
        self._database: Database | None = None
        self._spark: SparkHost | None = None
        self._worker: Worker | None = None
        self._topics: TopicHome | None = None
        self._maintenance: Future[None] | None = None
        self.provisioned: Future[None] = Future()
        self.on_applied: Callable[[Applied], None] = lambda applied: None
        self.herder: StandaloneHerder

    def start(self) -> None:
        """Open the stores, begin to start Spark, and bring every known connector to its target state.

        Raises a :class:`~penstock.storage.errors.StorageError` when the data folder cannot be used.
        """
        config = self._config
        self._database = database = Database(config.data_dir / "penstock.db")
        configs, statuses = _stores(database)
        offsets = open_offsets(config, database)
        self._topics = topics = open_home(config, database, offsets)
        self._spark = spark = SparkHost(config)
        self._thread.start()
        plugins = Plugins([str(folder) for folder in config.plugin_path])
        services = Services(config, configs, offsets, topics, plugins, self._calls, _cluster_id(database))
        services.statuses = Statuses(statuses, config.worker_id, services.connector_version, services.connector_type_of)
        services.pumps = PumpServices(
            self._calls,
            Planner(self._calls, services.call_seconds),
            spark.dispatcher,
            topics,
            offsets,
            services.use_topic,
            services.call_seconds,
            services.stop_seconds,
            lambda: spark.ready.result().session,
        )
        self._worker = worker = Worker(services)
        hook_seconds = config.lifecycle_hook_timeout_ms / 1000
        services.hooks = Hooks(configs, self._calls, services.connector_plugin, services.resolve, hook_seconds)
        services.cleanups = Cleanups(configs, services.hooks, worker.settled, worker.keep)
        services.removed = worker.forget
        services.tasks_changed = worker.tasks_changed
        self.herder = StandaloneHerder(self._loop, services, worker, Loggers())
        self.herder.provisioner.on_applied = self.on_applied
        topics.listen(lambda changed: self._post(worker.topics_changed, changed))
        self.provisioned = asyncio.run_coroutine_threadsafe(self._start_connectors(services, worker), self._loop)
        if not config.pipelines_path:
            self.provisioned.result()
        if isinstance(topics, EmbeddedTopics):
            self._maintenance = asyncio.run_coroutine_threadsafe(self._maintain(topics), self._loop)

    @property
    def spark_ready(self) -> Future[SparkEngine]:
        """Ends when Spark is up. Only after ``start``."""
        assert self._spark is not None
        return self._spark.ready

    def mark_ready(self) -> None:
        """Connectors of the command line are there: the worker is healthy from now on."""
        self.herder.ready = True

    def stop(self) -> None:
        """End tasks and connectors, then Spark, then the stores. Nothing acknowledged is lost."""
        if self._maintenance is not None:
            self._maintenance.cancel()
        if self._worker is not None:
            self.provisioned.cancel()
            self._post(self.herder.provisioner.stop)
            self._run(self._worker.stop())
        if self._spark is not None:
            self._spark.stop()
        if self._topics is not None:
            self._topics.stop()
        if self._database is not None:
            self._database.close()
        self._calls.stop()
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self._loop.close()

    async def _find_plugins(self, services: Services) -> None:
        """Look for plugins before anybody needs one, so that no hook's or connector's own limit is spent on it."""
        scan = self._calls.run("looking for plugins", services.call_seconds, services.plugins.scan)
        try:
            await asyncio.wrap_future(scan)
        except Exception as error:
            log.error("Not all plugins were found: %s", error)

    async def _start_connectors(self, services: Services, worker: Worker) -> None:
        for restart in services.configs.pending_restarts():
            services.configs.finish_restart(restart.connector)
        known = services.configs.snapshot().connectors()
        if known or services.configs.snapshot().cleanups:
            await self._find_plugins(services)
        services.statuses.recover(known)
        paths = self._config.pipelines_path
        if paths:
            await self.herder.provisioner.start(paths)
        else:
            for name in known:
                worker.keep(name)
        services.cleanups.look()
        if self._config.pipelines_watch:
            self.herder.provisioner.watch(paths)

    async def _maintain(self, topics: EmbeddedTopics) -> None:
        """Retention, compaction and merging, off the loop, one round after the other."""
        while True:
            await asyncio.sleep(MAINTENANCE_SECONDS)
            try:
                await asyncio.to_thread(topics.maintain)
            except Exception:
                log.exception("The upkeep of topics failed and will be tried again")

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _post(self, function: Any, *arguments: Any) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *arguments)


def _stores(database: Database) -> tuple[ConfigStore, StatusStore]:
    configs = ConfigStore(SqliteLog(database, "configs", HISTORY))
    statuses = StatusStore(SqliteLog(database, "statuses"))
    for store in (configs, statuses):
        store.start()
    return configs, statuses


def _cluster_id(database: Database) -> str:
    """A name for this data folder, made once."""
    folder = str(database.path.parent.resolve())
    return str(uuid.uuid5(uuid.NAMESPACE_URL, folder))

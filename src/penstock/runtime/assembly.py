"""Puts a standalone worker together and takes it apart again."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from concurrent.futures import Future

from penstock.spark.session import SparkEngine
from penstock.storage.config_store import HISTORY, ConfigStore
from penstock.storage.sqlite import Database
from penstock.storage.sqlite_log import SqliteLog
from penstock.storage.status_store import StatusStore
from penstock.topics.embedded import EmbeddedTopics
from penstock.topics.interface import TopicHome

from .calls import UserCode
from .logging import Loggers
from .plugins import Plugins
from .provisioning.provisioner import Applied
from .services import Services
from .spark_host import SparkHost
from .standalone import StandaloneHerder
from .standalone_offsets import OffsetsInKafka, open_offsets
from .statuses import Statuses
from .topic_homes import open_home
from .worker import Worker
from .worker_config import WorkerConfig
from .worker_parts import RuntimeLoop, attach, pump_services

log = logging.getLogger(__name__)

MAINTENANCE_SECONDS = 5.0
SETTLING_SECONDS = 5.0


class StandaloneWorker:
    """Everything of one worker but its REST server.

    ``start`` returns when connectors are being started; Spark comes up in the background, and
    ``spark_ready`` tells when. Pipeline files are applied in the background, too: ``provisioned`` ends when they were,
    and ``on_applied`` is told of each time; ``on_spark_trouble`` hears why Spark does not start, should it not.
    ``stop`` may be called once, after ``start`` or a failed ``start``.
    """

    def __init__(self, config: WorkerConfig) -> None:
        self._config = config
        self._runtime = RuntimeLoop()
        self._calls = UserCode()
        self._database: Database | None = None
        self._spark: SparkHost | None = None
        self._worker: Worker | None = None
        self._topics: TopicHome | None = None
        self._background: list[Future[None]] = []
        self.provisioned: Future[None] = Future()
        self.on_applied: Callable[[Applied], None] = lambda applied: None
        self.on_spark_trouble: Callable[[str], None] = lambda reason: None
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
        self._spark = spark = SparkHost(config, self.on_spark_trouble)
        self._runtime.start()
        plugins = Plugins([str(folder) for folder in config.plugin_path])
        services = Services(config, configs, offsets, topics, plugins, self._calls, _cluster_id(database))
        if isinstance(offsets, OffsetsInKafka):
            services.open_offsets = offsets.open
            offsets.transactions.exists = lambda name: name in configs.snapshot()
        services.statuses = Statuses(statuses, config.worker_id, services.connector_version, services.connector_type_of)
        services.pumps = pump_services(services, spark, topics)
        services.spark_trouble = lambda: spark.trouble
        services.capacity = spark.capacity
        self._worker = worker = Worker(services)
        attach(services, worker, worker.settled)
        self.herder = StandaloneHerder(self._runtime.loop, services, worker, Loggers())
        services.publish_tasks = self.herder.changes.put_tasks
        self.herder.provisioner.on_applied = self.on_applied
        topics.listen(lambda changed: self._runtime.post(worker.topics_changed, changed))
        self.provisioned = self._runtime.begin(self._start_connectors(services, worker))
        if not config.pipelines_path:
            self.provisioned.result()
        if isinstance(topics, EmbeddedTopics):
            self._background.append(self._runtime.begin(self._maintain(topics)))
        self._background.append(self._runtime.begin(self._settle_unfinished()))

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
        for work in self._background:
            work.cancel()
        if self._worker is not None:
            self.provisioned.cancel()
            self._runtime.post(self.herder.provisioner.stop)
            self._runtime.run(self._worker.stop())
        if self._spark is not None:
            self._spark.stop()
        if self._topics is not None:
            self._topics.stop()
        if self._database is not None:
            self._database.close()
        self._calls.stop()
        self._runtime.stop()

    async def _start_connectors(self, services: Services, worker: Worker) -> None:
        for restart in services.configs.pending_restarts():
            services.configs.finish_restart(restart.connector)
        before = services.configs.snapshot()
        if before.entries or before.cleanups or before.unfinished:
            await services.find_plugins()
        await self._settle_once()
        known = services.configs.snapshot().connectors()
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

    async def _settle_unfinished(self) -> None:
        """What could not be settled at the start, or after a failed request, is tried again."""
        while True:
            await asyncio.sleep(SETTLING_SECONDS)
            await self._settle_once()

    async def _settle_once(self) -> None:
        try:
            await self.herder.changes.settle_unfinished()
        except Exception as error:
            log.warning("A change that did not come to its end could not be settled and will be tried again: %s", error)

    async def _maintain(self, topics: EmbeddedTopics) -> None:
        """Retention, compaction and merging, off the loop, one round after the other."""
        while True:
            await asyncio.sleep(MAINTENANCE_SECONDS)
            try:
                await asyncio.to_thread(topics.maintain)
            except Exception:
                log.exception("The upkeep of topics failed and will be tried again")


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

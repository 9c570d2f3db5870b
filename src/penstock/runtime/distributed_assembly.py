"""Puts a worker of a cluster together and takes it apart again."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait

from penstock.spark.session import SparkEngine
from penstock.storage.config_records import is_leaders
from penstock.storage.config_store import ConfigStore
from penstock.storage.folder_lock import FolderLock
from penstock.storage.kafka_log import KafkaLogs
from penstock.storage.kafka_log_leader import LeaderWriter
from penstock.storage.offset_store import OffsetStore
from penstock.storage.status_store import StatusStore
from penstock.topics.interface import TopicHome

from .calls import UserCode
from .cleanups import Peers
from .cluster_effects import ClusterEffects
from .cluster_member import ClusterMember
from .cluster_ownership import ClusterOwnership
from .cluster_rounds import ClusterRounds
from .connector_offsets import ConnectorOffsets
from .distributed import DistributedHerder
from .distributed_keys import DELAY
from .distributed_settings import client_settings, group_settings, internal_topic, signing_settings
from .farewells import Farewells
from .forwarding import InternalClient
from .leadership import Leadership
from .leased_topics import leased
from .logging import Loggers
from .plugins import Plugins
from .services import Services
from .spark_host import SparkHost
from .statuses import Statuses
from .topic_homes import EXACTLY_ONCE, kafka_home, wants_exactly_once
from .worker import Worker
from .worker_config import WorkerConfig
from .worker_parts import RuntimeLoop, attach, hook_seconds, pump_services
from .zombie_fencing import ZombieFencing, fence_transactions


def _has_transactional_leader(config: WorkerConfig) -> bool:
    """As in Kafka Connect, already while a cluster is being prepared for exactly-once support."""
    return config.properties.get(EXACTLY_ONCE, "").strip().lower() in ("preparing", "enabled")


def _side_by_side(starts: Sequence[Callable[[], None]]) -> None:
    """Returns when all are done; the first failure is raised at once."""
    pool = ThreadPoolExecutor(thread_name_prefix="internal-topics-start")
    started = [pool.submit(start) for start in starts]
    pool.shutdown(wait=False)
    wait(started, return_when=FIRST_EXCEPTION)
    for one in started:
        if one.done():
            one.result()


class DistributedWorker:
    """Everything of one worker of a cluster but its REST server.

    ``start`` returns when the internal topics are read and the worker begins to join the group; ``stop`` gives up its
    work, leaves the group and may be called once, after ``start`` or a failed ``start``.
    """

    def __init__(self, config: WorkerConfig, verify: ssl.SSLContext | bool = True) -> None:
        self._config = config
        self._verify = verify
        self._runtime = RuntimeLoop()
        self._calls = UserCode()
        self._folder: FolderLock | None = None
        self._logs: KafkaLogs | None = None
        self._offsets: ConnectorOffsets | None = None
        self._spark: SparkHost | None = None
        self._topics: TopicHome | None = None
        self._member: ClusterMember | None = None
        self._leadership: Leadership | None = None
        self._internal: InternalClient | None = None
        self.herder: DistributedHerder

    @property
    def spark_ready(self) -> Future[SparkEngine]:
        assert self._spark is not None
        return self._spark.ready

    def start(self) -> None:
        """Raises a :class:`~penstock.storage.errors.StorageError` when the internal topics cannot be used."""
        config = self._config
        for chatty in ("kafka", "kafka.coordinator"):
            logging.getLogger(chatty).setLevel(logging.CRITICAL)
        config.data_dir.mkdir(parents=True, exist_ok=True)
        self._folder = FolderLock(config.data_dir)
        self._spark = spark = SparkHost(config)
        once = wants_exactly_once(config.properties)
        self._logs = logs = KafkaLogs(client_settings(config), f"{config.values['group.id']}-internal", once)
        config_log = logs.log(internal_topic(config, "config"))
        configs = ConfigStore(config_log)
        status_log = logs.log(internal_topic(config, "status"))
        statuses = StatusStore(status_log)
        self._offsets = offsets = ConnectorOffsets(OffsetStore(logs.log(internal_topic(config, "offset"))), config)
        _side_by_side([configs.start, statuses.start, offsets.start])
        self._topics = home = kafka_home(config.properties, offsets)
        plugins = Plugins([str(folder) for folder in config.plugin_path])
        self._runtime.start()
        services = Services(config, configs, offsets, home, plugins, self._calls, logs.cluster_id())
        services.open_offsets = offsets.open
        services.ownership = ownership = ClusterOwnership()
        services.statuses = Statuses(statuses, config.worker_id, services.connector_version, services.connector_type_of)
        worker = Worker(services)
        loggers = Loggers()
        rounds = ClusterRounds(config.values[DELAY])
        farewells = Farewells(services, status_log, patient=DELAY in config.properties)
        sync_seconds = config.values["worker.sync.timeout.ms"] / 1000
        self._member = member = ClusterMember(
            self._runtime.loop,
            services,
            worker,
            ownership,
            loggers,
            group_settings(config),
            rounds,
            sync_seconds,
            farewells,
        )
        offsets.transactions.exists = lambda name: name in configs.snapshot()
        offsets.transactions.may_write = lambda: member.is_leader
        services.statuses.generation = lambda: member.generation
        services.pumps = pump_services(services, spark, leased(home, lambda: member.membership.lease.is_valid))
        services.spark_trouble = lambda: spark.trouble
        services.capacity = spark.capacity
        if _has_transactional_leader(config):
            group = config.values["group.id"]
            writer = LeaderWriter(
                client_settings(config), f"connect-cluster-{group}", config_log.topic.name, lambda: member.is_leader
            )
            config_log.let_lead(writer, is_leaders)
            member.on_lead = writer.claim
        effects = ClusterEffects(services, member, offsets)

        async def ended(name: str) -> None:
            """What other workers have noted of the connector's hooks until then is known, too."""
            await effects.ended(name)
            await asyncio.wrap_future(config_log.read_to_end())

        peers = Peers(config.worker_id, member.has_worker, lambda: member.is_leader, hook_seconds(services))
        attach(services, worker, ended, peers, lambda: member.membership.lease.is_valid)
        signing = signing_settings(config)
        self._internal = InternalClient(signing, lambda: configs.snapshot().session_key, self._verify)
        fencing = ZombieFencing(services, config.values["group.id"], fence_transactions)
        self.herder = DistributedHerder(
            self._runtime.loop,
            services,
            worker,
            loggers,
            member,
            effects,
            fencing,
            self._internal,
            signing,
            config_log.read_to_end,
            status_log.read_to_end,
            offsets,
        )
        services.publish_tasks = self.herder.publish_tasks
        if once:
            services.fence = self.herder.fence
        settle = self.herder.changes.settle_unfinished
        self._leadership = Leadership(services, member, signing, config_log.read_to_end, settle)
        home.listen(lambda changed: self._runtime.post(worker.topics_changed, changed))
        self._runtime.run(services.find_plugins())
        self._runtime.run(self._join())

    def mark_ready(self) -> None:
        """The worker is in the group: from now on a place lost is trouble, not a start."""
        self.herder.ready = True

    @property
    def is_member(self) -> bool:
        return self._member is not None and self._member.is_member

    def stop(self) -> None:
        """End tasks and connectors, leave the group, then Spark, then the topics. Nothing acknowledged is lost."""
        if self._runtime.is_running:
            self._runtime.run(self._leave())
        if self._spark is not None:
            self._spark.stop()
        if self._topics is not None:
            self._topics.stop()
        if self._offsets is not None:
            self._offsets.stop()
        if self._logs is not None:
            self._logs.stop()
        self._calls.stop()
        self._runtime.stop()
        if self._folder is not None:
            self._folder.release()

    async def _join(self) -> None:
        assert self._member is not None
        assert self._leadership is not None
        await asyncio.wrap_future(self.herder.services.configs.disown_calls(self._config.worker_id))
        self._leadership.start()
        self._member.start()

    async def _leave(self) -> None:
        if self._leadership is not None:
            self._leadership.stop()
        if self._member is not None:
            await self._member.stop()
        if self._internal is not None:
            await self._internal.close()

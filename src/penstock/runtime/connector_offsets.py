"""Source offsets of a cluster: in the worker's topic, and for some connectors in a topic of their own (KIP-618)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, cast

from penstock.api.errors import ConfigError, PluginError
from penstock.storage.errors import StorageError
from penstock.storage.json_records import canonical
from penstock.storage.kafka_log import KafkaLog, KafkaLogs
from penstock.storage.kafka_log_topics import InternalTopic
from penstock.storage.log import Log, LogRecord
from penstock.storage.offset_store import Change, Offset, OffsetKeys, OffsetStore, Partition

from .connector_config import ConnectorConfig
from .distributed_settings import client_settings
from .offset_transactions import OffsetTransactions
from .services import Services
from .topic_homes import BOOTSTRAP, OWN_OFFSETS_TOPIC, connection, producer_bootstrap, wants_exactly_once
from .worker_config import WorkerConfig

log = logging.getLogger(__name__)

LOOK_SECONDS = 2.0
"""How long reading offsets may take before somebody looks whether their topic is still there."""

Write = Callable[[OffsetStore, Sequence[Change]], Future[None]]


@dataclass(frozen=True)
class OwnTopic:
    """A topic with offsets of one connector or several: how its cluster is reached, and its name."""

    connection: tuple[tuple[str, str], ...]
    name: str


def own_topic(config: WorkerConfig, parsed: ConnectorConfig) -> OwnTopic | None:
    """Where a source keeps its offsets besides the worker's topic.

    That is in the topic it asks for, and always in the cluster its transactions are in.
    """
    worker = config.properties
    wanted = parsed.settings.get(OWN_OFFSETS_TOPIC)
    elsewhere = producer_bootstrap(worker, parsed) != worker[BOOTSTRAP]
    if parsed.is_sink or not (wanted or (elsewhere and wants_exactly_once(worker))):
        return None
    topic = wanted or str(config.values["offset.storage.topic"])
    if not elsewhere and topic == config.values["offset.storage.topic"]:
        return None
    return OwnTopic(tuple(connection(worker, parsed).items()), topic)


class ConnectorOffsets(OffsetStore):
    """All stores as one. Offsets in a connector's own topic count; the worker's topic has a copy and fills gaps.

    :meth:`open` must have been called for a connector before its offsets are asked for. It blocks. Without ``create``
    a topic that is not there is an error.
    """

    def __init__(self, shared: OffsetStore, config: WorkerConfig, create: bool = True) -> None:
        super().__init__(shared.log)
        self._create = create
        self._shared = shared
        self._config = config
        self._once = wants_exactly_once(config.properties)
        self.transactions = OffsetTransactions(config.properties, client_settings(config))
        self._opening = threading.Lock()
        self._stores: dict[OwnTopic, OffsetStore] = {}
        self._logs: list[KafkaLogs] = []
        self._own: dict[str, OffsetStore] = {}

    def start(self) -> None:
        self._shared.start()

    def stop(self) -> None:
        self._shared.stop()
        for logs in self._logs:
            logs.stop()

    def open(self, parsed: ConnectorConfig) -> None:
        """Have the connector's own topic, if it wants one, made and read. Raises a ``StorageError``."""
        if self._once:
            self.transactions.know(parsed)
        wanted = own_topic(self._config, parsed)
        if wanted is None:
            self._own.pop(parsed.name, None)
            return
        with self._opening:
            if wanted not in self._stores:
                self._stores[wanted] = self._opened(wanted)
            self._own[parsed.name] = self._stores[wanted]

    def log_of(self, connector: str) -> Log:
        """The log whose topic has the offsets that count."""
        return self._own.get(connector, self._shared).log

    async def know(self, connector: str, services: Services) -> None:
        """Know all that tasks on any worker have committed for a connector, which may be gone."""
        await services.user_code(f"offsets of {connector}", lambda: self._open_if_known(connector, services))
        logs = {self._shared.log, self.log_of(connector)}
        await asyncio.gather(*(asyncio.wrap_future(cast(KafkaLog, each).read_to_end()) for each in logs))

    async def remember(self, connector: str, services: Services) -> None:
        """As :meth:`know`, for who only wants to see them: where a topic was deleted, what is known is all there is."""
        knowing = asyncio.ensure_future(self.know(connector, services))
        try:
            if not (await asyncio.wait({knowing}, timeout=LOOK_SECONDS))[0]:
                lost = await services.user_code("looking for offsets topics", lambda: self._lost(connector))
                if lost is not None:
                    log.warning("The offsets topic %s was deleted. The offsets of %s are those before", lost, connector)
                    return
            await knowing
        finally:
            knowing.cancel()

    def _lost(self, connector: str) -> str | None:
        """A topic of the connector's offsets that is not there any more, if Kafka says so."""
        try:
            return next(iter(self.lost_topics(connector)), None)
        except StorageError:
            return None

    def topics(self, connector: str) -> Sequence[str]:
        """The topics with a connector's offsets: the one that counts first."""
        return [cast(KafkaLog, store.log).topic.name for store in self._stores_of(connector)]

    def lost_topics(self, connector: str) -> Sequence[str]:
        """Those that were deleted since they were opened. It blocks. Raises a ``StorageError``."""
        logs = [cast(KafkaLog, store.log) for store in self._stores_of(connector)]
        return [log.topic.name for log in logs if log.is_lost()]

    def renew_lost(self, connector: str) -> Sequence[str]:
        """Make them again and go on with the new ones, which have nothing yet of what is remembered; their names.

        It blocks. Raises a ``StorageError`` that says why a topic cannot be made or used.
        """
        with self._opening:
            stores = [store for store in self._stores_of(connector) if cast(KafkaLog, store.log).is_lost()]
            for store in stores:
                topic = cast(KafkaLog, store.log).topic
                with self._own_clients(self._login_of(store), topic) as renewed:
                    renewed.adopt()
                    store.renew(renewed)
                self.log = self._shared.log
                log.warning("The offsets topic %s was deleted. It is there again, with nothing of before", topic.name)
            return [cast(KafkaLog, store.log).topic.name for store in stores]

    def missing(self, connector: str) -> Sequence[tuple[Partition, Offset]]:
        """What is known of a connector and is not in all the topics it should be in, since one was deleted."""
        own = self._own.get(connector)
        lost = {canonical(partition) for store in self._stores_of(connector) for partition, _ in store.lost(connector)}
        return [
            (partition, offset)
            for partition, offset in self.all(connector)
            if canonical(partition) in lost or (own is not None and own.get(connector, partition) is None)
        ]

    def _stores_of(self, connector: str) -> Sequence[OffsetStore]:
        own = self._own.get(connector)
        return [self._shared] if own is None else [own, self._shared]

    def _login_of(self, store: OffsetStore) -> Mapping[str, Any]:
        if store is self._shared:
            return client_settings(self._config)
        return dict(next(topic.connection for topic, known in self._stores.items() if known is store))

    def _open_if_known(self, connector: str, services: Services) -> None:
        config = services.configs.snapshot().connector_config(connector)
        if config is not None:
            with contextlib.suppress(PluginError, ConfigError):
                self.open(services.parse(services.resolve(config)))

    def get(self, connector: str, partition: Partition) -> Offset | None:
        own = self._own.get(connector)
        found = None if own is None else own.get(connector, partition)
        return self._shared.get(connector, partition) if found is None else found

    def all(self, connector: str) -> Sequence[tuple[Partition, Offset]]:
        own = self._own.get(connector)
        if own is None:
            return self._shared.all(connector)
        gaps = [entry for entry in self._shared.all(connector) if own.get(connector, entry[0]) is None]
        return [*own.all(connector), *gaps]

    def connectors(self) -> Sequence[str]:
        found = {name for store in (self._shared, *self._stores.values()) for name in store.connectors()}
        return sorted(found)

    def records(self, connector: str, changes: Iterable[Change]) -> list[LogRecord]:
        return self._own.get(connector, self._shared).records(connector, changes)

    def keys(self, connector: str) -> OffsetKeys:
        return self._own.get(connector, self._shared).keys(connector)

    def put(self, connector: str, changes: Iterable[Change]) -> Future[None]:
        return self._write(connector, list(changes), lambda store, changes: store.put(connector, changes))

    def change(self, connector: str, changes: Iterable[Change]) -> Future[None]:
        if not self._once:
            return self.put(connector, changes)
        return self._write(
            connector, list(changes), lambda store, changes: self.transactions.write(store, connector, changes)
        )

    def _write(self, connector: str, changes: Sequence[Change], write: Write) -> Future[None]:
        """To the topic that counts as ``write`` does it, and the copy, where there is one, without more ado."""
        own = self._own.get(connector)
        if own is None:
            return write(self._shared, changes)
        own.check(changes)
        gone = [change for change in changes if change[1] is None]
        kept = [change for change in changes if change[1] is not None]
        return _one_after_the_other(
            lambda: self._shared.put(connector, gone),
            lambda: write(own, changes),
            lambda: self._shared.put(connector, kept),
        )

    def _opened(self, wanted: OwnTopic) -> OffsetStore:
        values = self._config.values
        topic = InternalTopic(
            wanted.name,
            OWN_OFFSETS_TOPIC,
            "source connector offsets",
            partitions=values["offset.storage.partitions"],
            replication=values["offset.storage.replication.factor"],
            settings=_topic_settings(self._config),
            create=self._create,
        )
        with self._own_clients(dict(wanted.connection), topic) as followed:
            store = OffsetStore(followed)
            store.start()
        log.info("Source offsets in the topic %s were read", wanted.name)
        return store

    @contextlib.contextmanager
    def _own_clients(self, login: Mapping[str, Any], topic: InternalTopic) -> Iterator[KafkaLog]:
        """A log with clients of its own. Who fails to start it leaves none behind."""
        logs = KafkaLogs(login, f"{self._config.values['group.id']}-{topic.name}-offsets", self._once)
        try:
            yield logs.log(topic)
        except BaseException:
            logs.stop()
            raise
        self._logs.append(logs)


def _topic_settings(config: WorkerConfig) -> Mapping[str, str]:
    named = ("topic", "replication.factor", "partitions")
    return {key: value for key, value in config.subset("offset.storage.").items() if key not in named}


def _one_after_the_other(*writes: Callable[[], Future[None]]) -> Future[None]:
    """Each write when the one before has succeeded; the first failure ends it."""
    done: Future[None] = Future()
    left = list(writes)

    def go_on(before: Future[None] | None) -> None:
        error = None if before is None else before.exception()
        if error is not None:
            done.set_exception(error)
        elif not left:
            done.set_result(None)
        else:
            try:
                left.pop(0)().add_done_callback(go_on)
            except Exception as failed:
                done.set_exception(failed)

    go_on(None)
    return done

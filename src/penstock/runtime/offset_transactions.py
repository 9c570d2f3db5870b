"""Source offsets that somebody alters or resets with exactly-once support: all or nothing (KIP-875)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import cast

from penstock.storage.kafka_log import KafkaLog
from penstock.storage.offset_store import Change, OffsetStore

from .connector_config import ConnectorConfig
from .topic_homes import connection


class OffsetTransactions:
    """One transaction for each change, under an id of the connector that no task has.

    It is opened with the connector's login, the worker's where that is not known. ``may_write`` tells whether this
    worker may change offsets at all: the leader of a cluster. It is asked on a thread of its own. ``exists`` tells of
    other connectors.
    """

    def __init__(self, worker: Mapping[str, str], login: Mapping[str, str]) -> None:
        self._worker = worker
        self._login = login
        self._logins: dict[str, Mapping[str, str]] = {}
        self.may_write: Callable[[], bool] = lambda: True
        self.exists: Callable[[str], bool] = lambda connector: False

    def know(self, parsed: ConnectorConfig) -> None:
        """How a connector reaches its cluster. Raises ``ConfigError``."""
        if not parsed.is_sink:
            self._logins[parsed.name] = connection(self._worker, parsed)

    def write(self, store: OffsetStore, connector: str, changes: Iterable[Change]) -> Future[None]:
        """Make the changes in a store that is a topic."""
        log = cast(KafkaLog, store.log)
        login = self._logins.get(connector, self._login)
        return log.append_together(store.records(connector, changes), login, self.id_of(connector), self.may_write)

    def id_of(self, connector: str) -> str:
        """The KIP's id, unless it would be that of a task: one of ``orders``, where the connector is ``orders-1``."""
        other, _, number = connector.rpartition("-")
        is_of_task = number.isascii() and number.isdigit() and self.exists(other)
        return f"{self._worker['group.id']}-{connector}{'-offsets' if is_of_task else ''}"

"""Executor side of exactly-once: an open transaction, held by the process of one lane.

A *session* begins when a task takes over its transactional id, which fences whoever used it before, and ends when its
lane ends or something goes wrong. Only :meth:`KafkaTransaction.open` begins one; all else finds the session it was
meant for in this process, or fails, so there are never two holders of an id on our side.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from penstock.api.errors import RetriableError

from .. import kept
from ..errors import MissingTopics
from ..interface import OffsetRecords, Staged, TopicPartition, Transaction
from .clients import Settings
from .message_session import MessageSession
from .wire.connection import Unsupported
from .wire.options import PRODUCER, options_for
from .wire_session import WireSession
from .writer import flush, staged, write

logger = logging.getLogger(__name__)


class SessionLost(RetriableError):
    """The process that held the transaction is gone, and the transaction with it."""

    def __init__(self, transactional_id: str) -> None:
        super().__init__(f"The open transaction of {transactional_id} was lost; the batch is planned again")


Session = WireSession | MessageSession

_sessions: dict[str, Session] = {}


def _new_session(settings: Settings, transactional_id: str, name: str) -> Session:
    options = options_for(settings, PRODUCER)
    if options is not None:
        try:
            return WireSession(settings, options, transactional_id, name)
        except Unsupported as reason:
            logger.debug("librdkafka's client is used: %s", reason)
    return MessageSession(settings, transactional_id, name)


@dataclass(frozen=True)
class KafkaTransaction(Transaction):
    """Writes into the transaction of one batch. Dead letters (``outside``) are not part of it.

    Picklable; works that carry it run in the lane that ``pin`` names.
    """

    settings: Settings
    plain: Settings
    transactional_id: str
    session: str
    batch: int
    known: frozenset[str] = frozenset()
    outside: str = ""

    @property
    def pin(self) -> str:
        return self.transactional_id

    def open(self) -> None:
        self._close()
        _sessions[self.transactional_id] = _new_session(self.settings, self.transactional_id, self.session)
        kept.keep(self.transactional_id, self._close)

    def prepare(self, topics: Sequence[str]) -> None:
        missing = [topic for topic in topics if topic not in self.known]
        if missing:
            raise MissingTopics(missing)

    def write(self, partition: TopicPartition, table: pa.Table) -> Staged:
        if partition.topic == self.outside:
            write(self.plain, partition, table)
        else:
            session = self._session()
            try:
                session.write(self.batch, partition, table)
            except Exception:
                self._close()
                raise
        return staged(partition, table)

    def finish(self) -> None:
        """Dead letters are safe now; the records are when the transaction is committed."""
        if self.outside:
            flush(self.plain)

    def commit(self, topic: str, records: OffsetRecords) -> None:
        try:
            self._session().commit(self.batch, topic, records)
        except SessionLost:
            raise
        except Exception:
            self._close()
            raise

    def abort(self) -> None:
        session = self._session()
        try:
            session.abort()
        except Exception:
            self._close()
            raise

    def _session(self) -> Session:
        found = _sessions.get(self.transactional_id)
        if found is None or found.name != self.session:
            raise SessionLost(self.transactional_id)
        return found

    def _close(self) -> None:
        found = _sessions.pop(self.transactional_id, None)
        kept.let_go(self.transactional_id)
        if found is not None:
            found.close()

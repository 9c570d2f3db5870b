"""The stream of changes of a replication slot, kept open in an executor's Python worker between splits.

psycopg has no support for replication, but its low level shows libpq's COPY BOTH, which is all it takes. Opening a
stream makes the server read its log from ``restart_lsn`` again, so a stream that stands where the next split begins is
used further; see ``docs/adr/0006-postgres-streaming.md``.
"""

from __future__ import annotations

import contextlib
import logging
import select
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from struct import Struct
from typing import TYPE_CHECKING, Any

from penstock.api import PluginError, RetriableError

from . import pgoutput
from .catalog import literal, quoted
from .connection import Database, driver, failures_retried
from .lsn import lsn_text
from .pgoutput import Begin, Relation
from .position import Position

if TYPE_CHECKING:
    from psycopg import Connection

log = logging.getLogger(__name__)

_KEEPALIVE = Struct(">xQ")
_STATUS = Struct(">cQQQQB")
_HEADER, _DATA = 25, ord("w")
_TAKE_OVER_SECONDS = 10.0
_ASK_SECONDS = 0.02
_LATE_SECONDS = 30.0
_numbers = count(1)
_CHANGES = frozenset((pgoutput.INSERT, pgoutput.UPDATE, pgoutput.DELETE, pgoutput.TRUNCATE))


class Stream:
    """A replication connection and where it stands. After an exception, drop it."""

    def __init__(self, database: Database, slot: str, publication: str, at: Position) -> None:
        self._slot = slot
        self._lsn, self._tx, self._seq = at.lsn, at.tx, at.seq
        self.relations: dict[int, Relation] = {}
        self.descriptions = 0
        self.transaction: Begin | None = None
        self._skip = at.seq
        self._deadline = 0.0
        self.used = time.monotonic()
        self._connection = _start(database, slot, publication, at.lsn)
        self._pg: Any = self._connection.pgconn
        self._socket: int = self._pg.socket

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._connection.close()

    def confirm(self, lsn: int, ask: bool = True) -> None:
        """Tell the server that everything before ``lsn`` is durable here; ``ask`` for how far it has read."""
        micros = time.time_ns() // 1000 - pgoutput.EPOCH_MICROS
        self._pg.put_copy_data(_STATUS.pack(b"r", lsn, lsn, lsn, micros, ask))
        self._pg.flush()

    def changes(self, target: int, deadline: float, most_bytes: int) -> Iterator[bytes]:
        """Messages of rows in commit order, until everything before ``target`` was given, or the limits are reached.

        The transaction of a message is in ``transaction``; the tables' descriptions are in ``relations``, and
        ``descriptions`` counts how many have come.
        """
        get, taken, self._deadline = self._pg.get_copy_data, 0, deadline
        while True:
            size, view = get(1)
            if size > _HEADER and view[0] == _DATA:
                data = view[_HEADER:].tobytes()
                kind = data[0]
                if kind in _CHANGES:
                    if self._skip:
                        self._skip -= 1
                        continue
                    self._seq += 1
                    yield data
                    taken += size
                    if taken > most_bytes or (not self._seq & 255 and time.monotonic() > deadline):
                        return
                elif self._is_end(kind, data, target):
                    return
            elif size > 0:
                if self._kept_alive(bytes(view), target):
                    return
            elif size == 0:
                self._wait(deadline)
                if time.monotonic() > deadline:
                    return
            else:
                self._ended()

    @property
    def position(self) -> Position:
        """What a commit after the last message that was given would stand for."""
        return Position(self._lsn, self._tx if self._seq else 0, self._seq)

    def _is_end(self, kind: int, data: bytes, target: int) -> bool:
        if kind == pgoutput.COMMIT:
            self._lsn = pgoutput.end_of_commit(data)
            self._seq = self._skip = 0
            self.transaction = None
            return self._lsn >= target or time.monotonic() > self._deadline
        if kind == pgoutput.BEGIN:
            self.transaction = pgoutput.begin(data)
            if self._skip and self.transaction.commit_lsn != self._tx:
                raise PluginError(
                    f"The transaction that commits at {lsn_text(self._tx)} was read up to change {self._seq}, but "
                    f"the slot '{self._slot}' goes on with the one at {lsn_text(self.transaction.commit_lsn)}"
                )
            self._tx = self.transaction.commit_lsn
        elif kind == pgoutput.RELATION:
            found = pgoutput.relation(data)
            if found.identity not in "di":
                found = replace(found, number=next(_numbers))
            self.relations[found.oid] = found
            self.descriptions += 1
        return False

    def _kept_alive(self, data: bytes, target: int) -> bool:
        """Whether the server has read as far as we want; then every commit before that has been given."""
        (sent,) = _KEEPALIVE.unpack_from(data)
        if self.transaction is not None or self._skip:
            return False
        self._lsn = max(self._lsn, min(sent, target))
        return bool(sent >= target)

    def _wait(self, deadline: float) -> None:
        seconds = max(0.0, min(_ASK_SECONDS, deadline - time.monotonic()))
        readable, _, _ = select.select([self._socket], [], [], seconds)
        if not readable:
            self.confirm(0)
        self._pg.consume_input()

    def _ended(self) -> None:
        result = self._pg.get_result()
        text = result.get_error_message() if result is not None else ""
        raise RetriableError(f"The stream of slot '{self._slot}' ended: {' '.join(text.split()) or 'no reason given'}")


def _start(database: Database, slot: str, publication: str, lsn: int) -> Connection[Any]:
    options = f"proto_version '1', publication_names {literal(quoted(publication))}"
    command = f"START_REPLICATION SLOT {quoted(slot)} LOGICAL {lsn_text(lsn)} ({options})"
    give_up = time.monotonic() + _TAKE_OVER_SECONDS
    while True:
        connection = database.connect(application_name(slot), replication=True)
        result = connection.pgconn.exec_(command.encode())
        if result.status == driver().pq.ExecStatus.COPY_BOTH:
            return connection
        code = result.error_field(driver().pq.DiagnosticField.SQLSTATE)
        text = " ".join(result.get_error_message().split())
        connection.close()
        if code != b"55006" or time.monotonic() > give_up:
            _refuse(database, slot, code or b"", text)
        release(database, slot)


def _refuse(database: Database, slot: str, code: bytes, text: str) -> None:
    if not code or code == b"55006" or code.startswith((b"08", b"57", b"53")):
        raise RetriableError(f"Slot '{slot}' of {database} cannot be read now: {text}")
    raise PluginError(f"Slot '{slot}' of {database} cannot be read: {text}")


def application_name(slot: str) -> str:
    """What our connections that read a slot are called on the server."""
    return f"penstock_{slot}"[:63]


def release(database: Database, slot: str, anybody: bool = False) -> None:
    """End the connection that reads the slot, if it is ours: another Python worker kept it for a next time."""
    with failures_retried(f"Slot '{slot}' of {database} could not be freed"), database.connect() as connection:
        connection.execute(
            "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots s"
            " JOIN pg_stat_activity a ON a.pid = s.active_pid"
            " WHERE slot_name = %s AND (%s OR application_name = %s)",
            [slot, anybody, application_name(slot)],
        )
        deadline = time.monotonic() + 2.0
        while time.monotonic() < deadline:
            active = connection.execute(
                "SELECT 1 FROM pg_replication_slots WHERE slot_name = %s AND active", [slot]
            ).fetchall()
            if not active:
                return
            time.sleep(0.02)


_kept: dict[tuple[Database, str, str], Stream] = {}


@contextlib.contextmanager
def stream_at(database: Database, slot: str, publication: str, at: Position, durable: int) -> Iterator[Stream]:
    """The stream of a slot standing at a position: the one of the last split in this process if it does, or a new one.

    The server is told that everything before ``durable`` is safe here. The stream is kept for the next split unless the
    block raises.
    """
    key = (database, slot, publication)
    stream = _kept.pop(key, None)
    if stream is not None and stream.position == at and _confirmed(stream, durable):
        log.debug("Slot %s: the stream goes on at %s", slot, at)
    else:
        if stream is not None:
            stream.close()
        stream = Stream(database, slot, publication, at)
        stream.confirm(durable)
    try:
        with failures_retried(f"The stream of slot '{slot}' of {database} broke"):
            yield stream
    except BaseException:
        stream.close()
        raise
    stream.used = time.monotonic()
    _kept[key] = stream


def _confirmed(stream: Stream, lsn: int) -> bool:
    """Whether an open stream still takes our word: the server ends one from which it heard nothing for too long."""
    if time.monotonic() - stream.used > _LATE_SECONDS:
        return False
    try:
        stream.confirm(lsn)
    except Exception as error:
        log.info("A stream that was kept is not usable any more: %s", error)
        return False
    return True

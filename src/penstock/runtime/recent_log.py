"""The last lines that were logged for each connector, kept in memory: bounded, and lost with the process."""

from __future__ import annotations

import logging
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from .log_lines import current_place, task_number

MOST_LINES = 500
MOST_TEXT = 128 * 1024
"""Lines and characters that are kept of one connector."""
MOST_TEXT_OF_ALL = 32 * 1024 * 1024
LONGEST_LINE = 8 * 1024

_format = logging.Formatter().format


@dataclass(frozen=True)
class LogLine:
    """``time`` is milliseconds since 1970; ``task`` is ``None`` for a line of the connector itself."""

    time: int
    level: str
    logger: str
    task: int | None
    worker_id: str
    message: str


@dataclass
class _Ring:
    lines: deque[LogLine] = field(default_factory=deque)
    size: int = 0


class RecentLog(logging.Handler):
    """Takes every line that is logged within the context of a connector."""

    def __init__(self) -> None:
        super().__init__()
        self.worker_id = ""
        self._rings: OrderedDict[str, _Ring] = OrderedDict()
        self._size = 0

    def emit(self, record: logging.LogRecord) -> None:
        place = current_place()
        if place is None:
            return
        try:
            text = _format(record)
        except Exception:
            self.handleError(record)
            return
        if len(text) > LONGEST_LINE:
            text = text[:LONGEST_LINE] + " …"
        connector, part = place
        time, task = int(record.created * 1000), task_number(part)
        self._add(connector, LogLine(time, record.levelname, record.name, task, self.worker_id, text))

    def lines(self, connector: str, most: int) -> Sequence[LogLine]:
        """The last lines of a connector, oldest first."""
        self.acquire()
        try:
            ring = self._rings.get(connector)
            found = [] if ring is None else list(ring.lines)
        finally:
            self.release()
        return found[-most:] if most else []

    def _add(self, connector: str, line: LogLine) -> None:
        """Called with the handler's lock held."""
        ring = self._rings.setdefault(connector, _Ring())
        self._rings.move_to_end(connector)
        ring.lines.append(line)
        self._grow(ring, len(line.message))
        while len(ring.lines) > MOST_LINES or ring.size > MOST_TEXT:
            self._grow(ring, -len(ring.lines.popleft().message))
        while self._size > MOST_TEXT_OF_ALL and len(self._rings) > 1:
            _, quiet = self._rings.popitem(last=False)
            self._size -= quiet.size

    def _grow(self, ring: _Ring, size: int) -> None:
        ring.size += size
        self._size += size


RECENT = RecentLog()
"""Of this process."""


def keep_recent(worker_id: str) -> RecentLog:
    """From now on the last lines of every connector are kept, in the name of this worker."""
    RECENT.worker_id = worker_id
    logging.getLogger().addHandler(RECENT)
    return RECENT

"""What plugins log on executors, brought to the log of the worker."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

MOST_LINES = 1_000
"""What one work may log; the rest is counted."""


class LogLine(NamedTuple):
    """One line as it was logged on an executor."""

    level: int
    logger: str
    text: str


class _Collector(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[LogLine] = []
        self.more = 0

    def emit(self, record: logging.LogRecord) -> None:
        if len(self.lines) < MOST_LINES:
            self.lines.append(LogLine(record.levelno, record.name, self.format(record)))
        else:
            self.more += 1


@contextmanager
def collected() -> Iterator[list[LogLine]]:
    """The lines that are logged inside, in this process; complete when the block has ended."""
    collector, root = _Collector(), logging.getLogger()
    before = root.level
    root.addHandler(collector)
    root.setLevel(logging.INFO)
    try:
        yield collector.lines
    finally:
        root.removeHandler(collector)
        root.setLevel(before)
        if collector.more:
            text = f"{collector.more} more lines of this batch are left out"
            collector.lines.append(LogLine(logging.WARNING, __name__, text))


def log_again(lines: Sequence[LogLine]) -> None:
    """Log lines of an executor here, as far as the levels of this process let them pass."""
    for line in lines:
        logging.getLogger(line.logger).log(line.level, "%s", line.text)

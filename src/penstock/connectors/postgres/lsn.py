"""Positions in PostgreSQL's write-ahead log, and which transactions a snapshot sees."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_TEXT = re.compile(r"([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})\Z")
_HIGH = 1 << 32


def parse_lsn(value: Any) -> int:
    """``0/16B3748`` (or the same as a plain number, as Debezium keeps it) as a number; ``ValueError`` for others."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 64:
        return value
    match = _TEXT.match(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"{value!r} is not a position in the log such as '0/16B3748'")
    return int(match[1], 16) << 32 | int(match[2], 16)


def lsn_text(lsn: int) -> str:
    """The way PostgreSQL writes it."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


@dataclass(frozen=True)
class Visibility:
    """What ``pg_current_snapshot()`` says: transactions below ``upper`` are seen, except those in ``running``.

    All below ``lower`` have ended.
    """

    lower: int
    upper: int
    running: frozenset[int]
    text: str

    @classmethod
    def parse(cls, text: str) -> Visibility:
        lower, upper, running = text.split(":")
        return cls(int(lower), int(upper), frozenset(int(xid) for xid in running.split(",") if xid), text)

    def sees(self, xid: int) -> bool:
        """Whether a committed transaction is seen; ``xid`` has 32 bits, as in the stream of changes."""
        full = self.upper + ((xid - self.upper + (_HIGH >> 1)) % _HIGH) - (_HIGH >> 1)
        return full < self.upper and full not in self.running

    def changed_since(self, now: Visibility) -> str:
        """An SQL condition for rows that this snapshot does not see, but a later one does."""
        age = f"((xmin::text::bigint - {self.upper % _HIGH} + {_HIGH}) % {_HIGH})"
        conditions = [f"{age} < {max(0, now.upper - self.upper)}"]
        if self.running:
            running = ",".join(str(xid % _HIGH) for xid in sorted(self.running))
            conditions.append(f"xmin::text::bigint IN ({running})")
        return "(" + " OR ".join(conditions) + ")"

"""``/connectors/{name}/logs``: the last lines of the log that belong to a connector."""

from __future__ import annotations

import msgspec

from penstock.runtime.herder import Herder
from penstock.runtime.recent_log import MOST_LINES, LogLine

from .answers import Answer, ok
from .problems import bad_request
from .request import Request
from .waiting import answer_of

DEFAULT_LINES = 100


class LogView(msgspec.Struct):
    """The last lines, oldest first."""

    name: str
    lines: list[LogLine]


async def get_logs(herder: Herder, request: Request) -> Answer:
    lines = _count(request.first("lines"))
    found = await answer_of(herder.recent_log(request.name, lines, others=request.flag("forward", default=True)))
    return ok(LogView(request.name, list(found)))


def _count(text: str | None) -> int:
    if text is None:
        return DEFAULT_LINES
    if not (text.isascii() and text.isdigit() and len(text) <= 6 and 1 <= int(text) <= MOST_LINES):
        raise bad_request(f"lines must be a number from 1 to {MOST_LINES}, not '{text[:40]}'")
    return int(text)

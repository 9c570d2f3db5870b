"""Whom a lane serves, for Spark's pages and event log. Spark takes a job's description when it begins, for good."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

MOST_NAMES = 6
LONGEST_NAME = 48


class LaneNames:
    """The connectors that a lane was opened for, and those it has served since."""

    def __init__(self, opened_for: Iterable[str] = ()) -> None:
        names = list(islice(dict.fromkeys(opened_for), MOST_NAMES + 1))
        self._described = names[:MOST_NAMES]
        self._are_more = len(names) > MOST_NAMES
        self._served: dict[str, None] = {}

    def serve(self, name: str) -> None:
        """It runs a work of this connector."""
        self._served.pop(name, None)
        self._served[name] = None
        if len(self._served) > MOST_NAMES + 1:
            del self._served[next(iter(self._served))]

    @property
    def latest(self) -> list[str]:
        """The connectors it served last, the latest first: a few more than a description names."""
        return list(reversed(self._served))

    @property
    def are_outdated(self) -> bool:
        """Whether another lane would have a better description."""
        return len(self._described) < MOST_NAMES and not self._served.keys() <= set(self._described)

    def description(self, lane: str) -> str:
        """At most about 300 characters."""
        if not self._described:
            return f"Penstock {lane}"
        others = " and others" if self._are_more else ""
        return f"Penstock {lane}: {', '.join(map(_shortened, self._described))}{others}"


def _shortened(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"

"""How the leader tells a worker that left in good order from one that died: by what is shown of its work."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Protocol

from .group_protocol import CONNECTOR, Unit
from .services import Services

log = logging.getLogger(__name__)

SAY_SECONDS = 2.0
HEAR_SECONDS = 1.0


class StatusTopic(Protocol):
    """Where workers read and write statuses."""

    def flush(self, seconds: float) -> None:
        """Wait until what was appended is written, or for so long."""

    def wait_for_end(self, seconds: float) -> bool:
        """Wait until all is read that is there now, or for so long."""


class Farewells:
    """A worker that leaves shows all it had as unassigned before it leaves the group. Blocks; never raises.

    With ``patient`` there is no difference: dead workers are waited for like those that left.
    """

    def __init__(self, services: Services, topic: StatusTopic, patient: bool) -> None:
        self._services = services
        self._topic = topic
        self._patient = patient
        self._heard = False

    def say(self) -> None:
        """Everything has stopped here: see to it that the others know before they look."""
        self._topic.flush(SAY_SECONDS)

    def hear(self) -> None:
        """Know what others have said before a round."""
        self._heard = not self._patient and self._topic.wait_for_end(HEAR_SECONDS)

    def missing(self, alive: Collection[str]) -> frozenset[Unit]:
        """What is shown as running on workers that are not there any more."""
        if not self._heard:
            return frozenset()
        abandoned = self._services.statuses.abandoned(alive)
        return frozenset(Unit(name, CONNECTOR if number is None else number) for name, number in abandoned)

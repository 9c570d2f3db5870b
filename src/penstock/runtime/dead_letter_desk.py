"""Requests on dead letters: which queue a connector has, who replays its letters."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TypeVar
from weakref import WeakValueDictionary

from penstock.topics.interface import TopicPartition

from .connector_config import ConnectorConfig
from .dead_letters import DeadLetter, DeadLetterBox, DeadLetterPage, ReplayOutcome, ReplayRequest
from .pump import Pump
from .requests import BadRequest, Conflict
from .services import Services
from .sink_pump import SinkPump

T = TypeVar("T")

LETTERS_AT_ONCE = 500


class DeadLetterDesk:
    """Lives on the runtime's loop; ``pumps`` are the pumps of a connector's tasks, in order."""

    def __init__(self, services: Services, pumps: Callable[[str], Sequence[Pump]]) -> None:
        self._services = services
        self._pumps = pumps
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def page(self, config: Mapping[str, str | None], after: str | None, limit: int) -> DeadLetterPage:
        """Some letters. Raises ``BadRequest`` for a connector without a dead letter queue."""
        box = self._box(self._parsed(config))
        return await self._read(lambda: box.page(after, limit))

    async def find(self, config: Mapping[str, str | None], ids: Sequence[str]) -> DeadLetterPage:
        """Certain letters."""
        box = self._box(self._parsed(config))
        return DeadLetterPage(box.topic, await self._read(lambda: box.find(ids)))

    async def replay(self, config: Mapping[str, str | None], request: ReplayRequest) -> ReplayOutcome:
        """Take letters through the connector again. Ends when what became of them is durable."""
        parsed = self._parsed(config)
        box = self._box(parsed)
        async with self._lock(parsed.name):
            if request.letters is not None:
                return await self._replay(parsed, box, await self._read(lambda: _edited(box, request)))
            left = box.open_letters()
            outcome = ReplayOutcome(0)
            while letters := await self._read(lambda: list(islice(left, LETTERS_AT_ONCE))):
                outcome = outcome.plus(await self._replay(parsed, box, letters))
            return outcome

    async def _replay(self, parsed: ConnectorConfig, box: DeadLetterBox, letters: list[DeadLetter]) -> ReplayOutcome:
        topic = parsed.topics[0] if len(parsed.topics) == 1 else box.topic
        outcome = ReplayOutcome(0)
        for pump, own in self._shared_out(parsed.name, letters):
            for start in range(0, len(own), LETTERS_AT_ONCE):
                some = own[start : start + LETTERS_AT_ONCE]
                outcome = outcome.plus(await pump.replay(some, box.topic, topic))
        return outcome

    def _shared_out(self, name: str, letters: Sequence[DeadLetter]) -> list[tuple[Pump, list[DeadLetter]]]:
        """The letters by the task that has their topic partition now; the first one has those of nobody."""
        pumps = self._pumps(name)
        if not pumps or not any(pump.can_replay for pump in pumps):
            raise Conflict(f"Connector {name} has no running task. Start or resume it to replay its dead letters.")
        shares: dict[int, list[DeadLetter]] = {}
        for letter in letters:
            owner = next((n for n, pump in enumerate(pumps) if _owns(pump, letter)), 0)
            shares.setdefault(owner, []).append(letter)
        return [(pumps[number], own) for number, own in sorted(shares.items())]

    def _parsed(self, config: Mapping[str, str | None]) -> ConnectorConfig:
        return self._services.parse(self._services.resolve(config))

    def _box(self, parsed: ConnectorConfig) -> DeadLetterBox:
        topic = parsed.errors.dead_letter_topic
        if not topic:
            raise BadRequest(
                f"Connector {parsed.name} has no dead letter queue. errors.deadletterqueue.topic.name gives it one."
            )
        return DeadLetterBox(self._services.topics, parsed.name, topic)

    async def _read(self, function: Callable[[], T]) -> T:
        services = self._services
        return await asyncio.wrap_future(services.calls.run("dead letters", services.call_seconds, function))

    def _lock(self, name: str) -> asyncio.Lock:
        lock = self._locks.get(name)
        if lock is None:
            lock = self._locks[name] = asyncio.Lock()
        return lock


def _owns(pump: Pump, letter: DeadLetter) -> bool:
    topic, partition, _ = letter.original
    if topic is None or partition is None or not isinstance(pump, SinkPump):
        return False
    return pump.owns(TopicPartition(topic, partition))


def _edited(box: DeadLetterBox, request: ReplayRequest) -> list[DeadLetter]:
    edits = request.letters or {}
    return [edits[letter.id].apply(letter) for letter in box.find(list(edits))]

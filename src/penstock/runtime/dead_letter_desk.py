"""Requests on dead letters: which queue a connector has, who replays its letters."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import TypeVar
from weakref import WeakValueDictionary

from penstock.topics.interface import TopicPartition

from .connector_config import ConnectorConfig
from .dead_letters import DeadLetter, DeadLetterBox, DeadLetterPage, ReplayOutcome, ReplayRequest
from .pump import Pump
from .requests import BadRequest, Conflict, TargetState
from .services import Services
from .sink_pump import SinkPump
from .topic_homes import connector_home
from .worker import Worker

T = TypeVar("T")

LETTERS_AT_ONCE = 500
START_SECONDS = 30.0
LOOK_SECONDS = 0.05


class DeadLetterDesk:
    """Lives on the runtime's loop."""

    def __init__(self, services: Services, worker: Worker) -> None:
        self._services = services
        self._worker = worker
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
        for pump, own in self._shared_out(letters, await self._running(parsed.name)):
            for start in range(0, len(own), LETTERS_AT_ONCE):
                some = own[start : start + LETTERS_AT_ONCE]
                outcome = outcome.plus(await pump.replay(some, box.topic, topic))
        return outcome

    async def _running(self, name: str) -> Sequence[Pump]:
        """The pumps of a connector that takes records, with its newest configuration. One that starts is waited for."""
        loop = asyncio.get_running_loop()
        until = loop.time() + START_SECONDS
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._worker.settled(name), START_SECONDS)
        while True:
            pumps = self._worker.pumps(name)
            if any(pump.can_replay for pump in pumps):
                return pumps
            wanted = self._services.configs.snapshot().target_state(name)
            if pumps or wanted is not TargetState.STARTED or loop.time() > until:
                raise Conflict(f"Connector {name} has no running task. Start or resume it to replay its dead letters.")
            await asyncio.sleep(LOOK_SECONDS)

    def _shared_out(
        self, letters: Sequence[DeadLetter], pumps: Sequence[Pump]
    ) -> list[tuple[Pump, list[DeadLetter]]]:
        """The letters by the task that has their topic partition now; the first one has those of nobody."""
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
        home = connector_home(self._services.topics, self._services.config.properties, parsed)
        return DeadLetterBox(home.waiting(), parsed.name, topic)

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

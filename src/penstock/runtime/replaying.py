"""Replaying dead letters: a task takes them again, in batches of their own between its others."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from penstock.spark.letters import Letter
from penstock.spark.splits import Receipt, Work
from penstock.topics.interface import SinkCommit, TopicHome

from .dead_letters import DeadLetter, Replayed, ReplayOutcome
from .requests import Conflict, RequestError

NOT_RUNNING = "the task is not running"


class Replayer(Protocol):
    """What replaying asks of the pump of a task."""

    async def dispatch(self, works: Sequence[Work]) -> list[Receipt]:
        """Run works on Spark."""

    async def replay_works(self, letters: Sequence[Letter]) -> list[Work]:
        """Works that take dead letters through the task."""

    async def deliver(self, receipts: Sequence[Receipt]) -> None:
        """Whatever is left to do in the driver before the records of a batch are out."""

    def commit_replay(self, receipts: Sequence[Receipt], mark: SinkCommit) -> Future[None]:
        """Commit what became of the works, and in the same transaction that they were replayed."""

    def drop(self, receipts: Sequence[Receipt]) -> None:
        """Nothing of the works will be committed."""


@dataclass(frozen=True)
class Replay:
    """Dead letters of a queue that somebody waits for to be replayed. ``topic`` is theirs when nothing else says so."""

    letters: Sequence[DeadLetter]
    queue: str
    connector: str
    topic: str
    done: asyncio.Future[ReplayOutcome]

    def as_records(self) -> list[Letter]:
        """The letters as the records they were."""
        return [self._record(letter) for letter in self.letters]

    def _record(self, letter: DeadLetter) -> Letter:
        topic, partition, offset = letter.original
        return Letter(
            id=letter.id,
            topic=topic or self.topic,
            partition=partition or 0,
            offset=letter.offset if offset is None else offset,
            timestamp=letter.timestamp,
            key=letter.key,
            value=letter.value,
            headers=letter.headers,
        )


class Replays:
    """The replays that one task has to do. Lives on the runtime's loop."""

    def __init__(self) -> None:
        self._waiting: deque[Replay] = deque()
        self._open = True

    @property
    def is_open(self) -> bool:
        """Whether the task runs, or is about to."""
        return self._open

    def close(self) -> None:
        """The task has come to its end: whoever waits is told so."""
        self._open = False
        while self._waiting:
            _fail(self._waiting.popleft(), Conflict(f"Nothing was replayed: {NOT_RUNNING}"))

    def ask(
        self, letters: Sequence[DeadLetter], queue: str, connector: str, topic: str
    ) -> asyncio.Future[ReplayOutcome]:
        """Replay these as soon as possible."""
        done: asyncio.Future[ReplayOutcome] = asyncio.get_running_loop().create_future()
        replay = Replay(letters, queue, connector, topic, done)
        if self._open:
            self._waiting.append(replay)
        else:
            _fail(replay, Conflict(f"Nothing was replayed: {NOT_RUNNING}"))
        return done

    async def next(self, pump: Replayer, home: TopicHome) -> bool:
        """Do one replay; ``False`` when there is none. Its failure is only told to whoever asked for it."""
        if not self._waiting:
            return False
        replay = self._waiting.popleft()
        try:
            outcome = await _run(replay, pump, home)
        except asyncio.CancelledError:
            _fail(replay, Conflict(f"The replay was given up: {NOT_RUNNING} any more"))
            raise
        except Exception as error:
            _fail(replay, error if isinstance(error, RequestError) else RequestError(f"Nothing was replayed: {error}"))
        else:
            if not replay.done.done():
                replay.done.set_result(outcome)
        return True


async def _run(replay: Replay, pump: Replayer, home: TopicHome) -> ReplayOutcome:
    receipts = await pump.dispatch(await pump.replay_works(replay.as_records()))
    await pump.deliver(receipts)
    failure = next((receipt.failure for receipt in receipts if receipt.failure is not None), None)
    if failure is not None:
        pump.drop(receipts)
        raise RequestError(f"Nothing was replayed: {failure.trace.partition(chr(10))[0]}")
    known = await asyncio.to_thread(Replayed.load, home.waiting(), replay.connector, replay.queue)
    replayed = known.with_letters(replay.letters)
    await asyncio.wrap_future(pump.commit_replay(receipts, replayed.commit(replay.connector)))
    return ReplayOutcome(len(replay.letters), sum(receipt.failed for receipt in receipts))


def _fail(replay: Replay, error: Exception) -> None:
    if not replay.done.done():
        replay.done.set_exception(error)

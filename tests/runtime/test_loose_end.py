"""What a task may have left open in Kafka: ended when the task ends, and left alone when it is somebody else's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from penstock.runtime.loose_end import LooseEnd, StillOpen
from penstock.spark.splits import Failure, Receipt, TransactionWork
from penstock.storage.errors import PassingStorageError
from penstock.topics.errors import FENCED
from penstock.topics.interface import Transaction
from penstock.topics.kafka.transactions import KafkaTransaction

FINE = Receipt()
LOST = Receipt(failure=Failure("The open transaction was lost", retriable=True))
TAKEN_OVER = Receipt(failure=Failure(f"Somebody came: {FENCED}"))


class Ticket:
    def __init__(self) -> None:
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Lanes:
    """Answers each step as told; a step without an answer is never done."""

    def __init__(self, held: bool = True, **answers: Receipt) -> None:
        self.held = held
        self.answers = answers
        self.steps: list[str] = []
        self.keys: list[str] = []
        self.sessions: list[str] = []
        self.tickets: list[Ticket] = []

    def submit(self, task_key: str, works: Sequence[Any], done: Callable[[Sequence[Receipt]], None]) -> Ticket:
        [work] = works
        assert isinstance(work, TransactionWork)
        assert isinstance(work.transaction, KafkaTransaction)
        self.steps.append(work.step)
        self.keys.append(task_key)
        self.sessions.append(work.transaction.session)
        self.tickets.append(Ticket())
        if work.step in self.answers:
            done([self.answers[work.step]])
        return self.tickets[-1]

    def holds(self, pin: str) -> bool:
        return self.held

    def hold(self, pin: str, held: bool) -> None:
        raise NotImplementedError

    def leave_slots(self, task_key: str, needed: bool) -> None:
        raise NotImplementedError


class Ours:
    """Ownership that ends after so many looks."""

    def __init__(self, looks: int = 1_000_000) -> None:
        self.looks = looks

    def require(self) -> None:
        self.looks -= 1
        if self.looks < 0:
            raise PassingStorageError("others may run it by now")


def writer(session: str) -> Transaction:
    return KafkaTransaction((), (), "group-name-0", session, 7)


def ended(lanes: Lanes, ours: Ours | None = None, seconds: float = 30.0, abort: bool = True) -> LooseEnd:
    """A task whose works write, then ends."""
    end = LooseEnd(lanes, "task", writer, (ours or Ours()).require)
    end.works_write()
    if abort:
        end.abort("ours")
    asyncio.run(asyncio.wait_for(end.end(), seconds))
    return end


def test_without_anything_open_nothing_is_aborted() -> None:
    lanes = Lanes()
    end = LooseEnd(lanes, "task", writer, Ours(0).require)
    end.abort("ours")
    end.works_write()
    end.is_over()
    end.abort("ours")
    assert not end.may_be_open
    assert lanes.steps == []


def test_an_abort_in_its_lane_is_enough() -> None:
    lanes = Lanes(abort=FINE)
    assert not ended(lanes).may_be_open
    assert (lanes.steps, lanes.sessions) == (["abort"], ["ours"])


def test_an_abort_that_comes_too_late_is_followed_by_another_session() -> None:
    lanes = Lanes(abort=LOST, open=FINE)
    assert not ended(lanes).may_be_open
    assert lanes.steps == ["abort", "open"]
    assert lanes.keys == ["task", "group-name-0"]
    assert lanes.sessions[0] != lanes.sessions[1]


@pytest.mark.parametrize(("held", "abort"), [(False, True), (True, False)])
def test_where_nothing_can_be_aborted_another_session_ends_it(held: bool, abort: bool) -> None:
    lanes = Lanes(held=held, open=FINE)
    assert not ended(lanes, abort=abort).may_be_open
    assert lanes.steps == ["open"]


def test_an_id_that_somebody_has_taken_over_is_left_to_him() -> None:
    lanes = Lanes(abort=TAKEN_OVER, open=FINE)
    assert not ended(lanes).may_be_open
    assert lanes.steps == ["abort"]


def test_a_worker_that_may_have_lost_the_task_begins_no_session() -> None:
    lanes = Lanes(held=False, open=FINE)
    with pytest.raises(PassingStorageError):
        ended(lanes, Ours(0))
    assert lanes.steps == []


def test_a_worker_that_loses_the_task_meanwhile_cancels_its_session() -> None:
    lanes = Lanes(held=False)
    with pytest.raises(PassingStorageError):
        ended(lanes, Ours(2))
    assert [ticket.cancelled for ticket in lanes.tickets] == [True]


def test_whoever_stops_waiting_cancels_what_has_not_begun() -> None:
    lanes = Lanes()
    with pytest.raises(asyncio.TimeoutError):
        ended(lanes, seconds=0.2)
    assert lanes.steps == ["abort"]
    assert [ticket.cancelled for ticket in lanes.tickets] == [True]


def test_a_session_that_fails_is_told() -> None:
    with pytest.raises(StillOpen, match="was lost"):
        ended(Lanes(held=False, open=LOST))


def test_works_that_write_again_make_an_old_abort_worthless() -> None:
    lanes = Lanes(abort=FINE, open=FINE)
    end = LooseEnd(lanes, "task", writer, Ours().require)
    end.works_write()
    end.abort("ours")
    end.works_write()
    asyncio.run(end.end())
    assert lanes.steps == ["abort", "open"]

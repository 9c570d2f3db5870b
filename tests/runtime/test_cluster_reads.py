"""A worker reads what others wrote before it answers, once for all who ask, and waits for no broker that is away."""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from penstock.runtime import cluster_reads
from penstock.runtime.cluster_reads import LatestView


class Topic:
    """Reads that end when the test says so."""

    def __init__(self) -> None:
        self.reads: list[Future[None]] = []

    def read_to_end(self) -> Future[None]:
        self.reads.append(Future())
        return self.reads[-1]


def test_who_asks_is_answered_when_every_topic_was_read() -> None:
    configs, statuses = Topic(), Topic()
    asked = LatestView(configs.read_to_end, statuses.read_to_end).known()
    configs.reads[0].set_result(None)
    assert not asked.done()
    statuses.reads[0].set_result(None)
    assert asked.result(1) is None


def test_who_asks_during_a_read_waits_for_the_next_one_together_with_others() -> None:
    topic = Topic()
    view = LatestView(topic.read_to_end)
    first, second, third = view.known(), view.known(), view.known()
    topic.reads[0].set_result(None)
    assert first.done()
    assert not second.done(), "the read began before it was asked"
    assert len(topic.reads) == 2
    topic.reads[1].set_result(None)
    assert second.done()
    assert third.done()
    view.known()
    assert len(topic.reads) == 3


def test_a_read_that_fails_is_an_answer_from_what_is_known() -> None:
    topic = Topic()
    view = LatestView(topic.read_to_end)
    asked = view.known()
    topic.reads[0].set_exception(OSError("no broker"))
    assert asked.result(1) is None


def test_a_topic_that_cannot_even_be_asked_holds_up_nobody() -> None:
    def refuse() -> Future[None]:
        raise RuntimeError("closed")

    assert LatestView(refuse).known().result(1) is None


def test_nobody_waits_for_a_broker_that_has_not_answered_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    topic = Topic()
    view = LatestView(topic.read_to_end)
    first = view.known()
    monkeypatch.setattr(cluster_reads, "PATIENCE_SECONDS", -1.0)
    assert view.known().done()
    assert not first.done()
    topic.reads[0].set_result(None)
    view.known()
    assert len(topic.reads) == 2

"""What the leader tells members: increments, barriers for new tasks, and nothing that a failed round left behind."""

from __future__ import annotations

import pytest

from penstock.runtime import lease as leases
from penstock.runtime.cluster_ownership import ClusterOwnership
from penstock.runtime.cluster_rounds import ClusterRounds
from penstock.runtime.group_protocol import CONFIG_MISMATCH, EAGER, SESSIONED, Assignment, MemberState, Unit
from penstock.storage.config_snapshot import ConfigSnapshot, ConnectorEntry

TASKS = 2


def snapshot(position: int, committed_at: int = 3) -> ConfigSnapshot:
    entry = ConnectorEntry({"name": "c"}, tasks=[{}] * TASKS, task_count=TASKS, committed_at=committed_at)
    return ConfigSnapshot({"c": entry}, position)


def tell(
    rounds: ClusterRounds, members: dict[str, MemberState], known: ConfigSnapshot | None, version: int = SESSIONED
) -> dict[str, Assignment]:
    return rounds.decide(members, version, "a", known, was_leader=False)


def member(name: str, offset: int, *owned: Unit) -> MemberState:
    return MemberState(f"http://{name}:1/", offset, frozenset(owned))


def test_only_what_is_new_to_a_member_is_told() -> None:
    owned = [Unit("c"), Unit("c", 0), Unit("c", 1)]
    told = tell(ClusterRounds(0), {"a": member("a", 5, *owned)}, snapshot(5))
    assert told["a"] == Assignment("a", "http://a:1/", 5)


def test_the_eager_protocol_tells_everything() -> None:
    told = tell(ClusterRounds(0), {"a": member("a", 5)}, snapshot(5), EAGER)
    assert told["a"].assigned == {Unit("c"), Unit("c", 0), Unit("c", 1)}


def test_a_leader_that_is_behind_says_so_to_everybody() -> None:
    told = tell(ClusterRounds(0), {"a": member("a", 5), "b": member("b", 9)}, None)
    assert [(each.error, each.offset, each.assigned) for each in told.values()] == [
        (CONFIG_MISMATCH, 9, frozenset())
    ] * 2


def test_new_tasks_wait_until_a_member_that_is_behind_has_stopped_old_ones() -> None:
    """``b`` had not read the commit at position 3 when it joined, so it may run tasks of before."""
    rounds = ClusterRounds(0)
    behind = {"a": member("a", 5, Unit("c"), Unit("c", 0)), "b": member("b", 3, Unit("c", 1))}
    told = tell(rounds, behind, snapshot(5))
    assert told["a"].revoked == {Unit("c", 0)}
    assert told["b"].revoked == {Unit("c", 1)}
    assert not told["a"].assigned
    rounds.completed(as_leader=True)
    caught_up = {"a": member("a", 5, Unit("c")), "b": member("b", 5)}
    told = rounds.decide(caught_up, SESSIONED, "a", snapshot(5), was_leader=True)
    assert told["a"].assigned | told["b"].assigned == {Unit("c", 0), Unit("c", 1)}
    assert not told["a"].revoked | told["b"].revoked


def test_the_leader_knows_owners_of_completed_rounds_only() -> None:
    rounds = ClusterRounds(0)
    tell(rounds, {"a": member("a", 5)}, snapshot(5))
    assert rounds.owner_url(Unit("c")) is None
    rounds.completed(as_leader=True)
    assert rounds.owner_url(Unit("c", 1)) == "http://a:1/"
    rounds.completed(as_leader=False)
    assert rounds.owner_url(Unit("c")) is None


def test_tasks_may_only_run_after_a_round_that_came_after_their_commit() -> None:
    ownership = ClusterOwnership()
    ownership.take([Unit("c"), Unit("c", 0)], offset=3)
    assert ownership.connector("c")
    assert not ownership.tasks("c", snapshot(5, committed_at=3))
    ownership.take([Unit("c"), Unit("c", 0)], offset=4)
    assert ownership.tasks("c", snapshot(5, committed_at=3)) == {0}
    ownership.clear()
    assert not ownership.has_part("c")


def test_a_lease_counts_from_the_question_not_from_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(leases, "boot_time", lambda: now[0])
    lease = leases.Lease(10.0)
    assert not lease.is_valid
    lease.renew(asked=98.0)
    assert (lease.is_valid, lease.is_ending) == (True, False)
    now[0] = 105.5
    assert (lease.is_valid, lease.is_ending) == (True, True)
    now[0] = 108.0
    assert (lease.is_valid, lease.is_ending) == (False, True)
    lease.renew(asked=107.0)
    lease.renew(asked=99.0)
    assert lease.is_valid
    lease.end()
    assert not lease.is_valid

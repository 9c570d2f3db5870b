"""Who runs what after a round of the group."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.assignment import CooperativeAssignor, Round, eager_round
from penstock.runtime.group_protocol import Unit

Hands = dict[str, frozenset[Unit]]


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def units(connectors: int, tasks: int) -> frozenset[Unit]:
    """So many connectors with so many tasks each."""
    names = [f"c{number}" for number in range(connectors)]
    return frozenset([Unit(name) for name in names] + [Unit(name, task) for name in names for task in range(tasks)])


def settle(assignor: CooperativeAssignor, hands: Hands, configured: frozenset[Unit]) -> tuple[Hands, int]:
    """Rounds until nobody has to give up anything; what everybody has then, and how many units moved."""
    before = {unit: member for member, hand in hands.items() for unit in hand}
    for _ in range(5):
        outcome = assignor.assign(hands, configured)
        hands = dict(outcome.assigned)
        if not outcome.revoked:
            after = {unit: member for member, hand in hands.items() for unit in hand}
            return hands, sum(1 for unit in after if unit in before and before[unit] != after[unit])
    raise AssertionError("the group does not come to rest")


def counts(hands: Hands, connectors: bool) -> list[int]:
    return sorted(sum(unit.is_connector is connectors for unit in hand) for hand in hands.values())


def everything(hands: Hands) -> list[Unit]:
    return sorted(unit for hand in hands.values() for unit in hand)


def test_eager_deals_out_connectors_then_tasks_in_turn() -> None:
    outcome = eager_round(["b", "a"], units(2, 2))
    assert outcome.assigned["a"] == {Unit("c0"), Unit("c0", 0), Unit("c1", 0)}
    assert outcome.assigned["b"] == {Unit("c1"), Unit("c0", 1), Unit("c1", 1)}


def test_a_first_member_gets_everything() -> None:
    configured = units(3, 2)
    outcome = CooperativeAssignor(0).assign({"a": frozenset()}, configured)
    assert outcome == Round({"a": configured}, {}, 0)


def test_a_new_member_gets_its_share_after_others_gave_it_up() -> None:
    configured = units(4, 3)
    assignor = CooperativeAssignor(0)
    first = assignor.assign({"a": frozenset()}, configured)
    second = assignor.assign({**first.assigned, "b": frozenset()}, configured)
    assert second.assigned["b"] == frozenset()
    assert len(second.revoked["a"]) == 8
    assert second.assigned["a"] | second.revoked["a"] == configured
    hands, _ = settle(assignor, dict(second.assigned), configured)
    assert counts(hands, True) == [2, 2]
    assert counts(hands, False) == [6, 6]


def test_a_join_moves_no_more_than_the_newcomers_share() -> None:
    configured = units(30, 4)
    assignor = CooperativeAssignor(0)
    hands, _ = settle(assignor, {"a": frozenset(), "b": frozenset()}, configured)
    _, moved = settle(assignor, {**hands, "c": frozenset()}, configured)
    assert moved == 50


def test_tasks_of_one_connector_are_spread() -> None:
    hands, _ = settle(CooperativeAssignor(0), {"a": frozenset(), "b": frozenset(), "c": frozenset()}, units(2, 3))
    for hand in hands.values():
        assert sorted(unit.connector for unit in hand if not unit.is_connector) == ["c0", "c1"]


def test_lost_work_without_a_delay_goes_to_the_others_at_once() -> None:
    configured = units(3, 3)
    assignor = CooperativeAssignor(0)
    hands, _ = settle(assignor, {"a": frozenset(), "b": frozenset(), "c": frozenset()}, configured)
    outcome = assignor.assign({"a": hands["a"], "b": hands["b"]}, configured)
    assert everything(dict(outcome.assigned)) == sorted(configured)
    assert not outcome.revoked
    assert not outcome.delay_ms
    assert hands["a"] <= outcome.assigned["a"]


def test_lost_work_waits_for_its_worker() -> None:
    clock = Clock()
    configured = units(3, 3)
    assignor = CooperativeAssignor(2000, clock)
    hands, _ = settle(assignor, {"a": frozenset(), "b": frozenset(), "c": frozenset()}, configured)
    left = {"a": hands["a"], "b": hands["b"]}
    first = assignor.assign(left, configured)
    assert (dict(first.assigned), first.delay_ms) == (left, 2000)
    clock.now = 1.5
    assert assignor.assign(left, configured).delay_ms == 500
    clock.now = 2.0
    after = assignor.assign(left, configured)
    assert everything(dict(after.assigned)) == sorted(configured)
    assert not after.delay_ms


def test_what_a_dead_worker_ran_waits_for_nobody() -> None:
    clock, configured = Clock(), units(2, 2)
    assignor = CooperativeAssignor(2000, clock)
    hands, _ = settle(assignor, {"a": frozenset(), "b": frozenset(), "c": frozenset()}, configured)
    died, left = hands.pop("b"), hands.pop("c")
    outcome = assignor.assign(hands, configured, abandoned=died)
    assert outcome.assigned["a"] == hands["a"] | died
    assert not outcome.assigned["a"] & left, "the one that left may come back"
    assert outcome.delay_ms == 2000


def test_a_worker_that_comes_back_in_time_gets_its_work_at_once_and_nothing_else_moves() -> None:
    clock = Clock()
    configured = units(3, 3)
    assignor = CooperativeAssignor(2000, clock)
    hands, _ = settle(assignor, {"a": frozenset(), "b": frozenset(), "c": frozenset()}, configured)
    left = {"a": hands["a"], "b": hands["b"]}
    assignor.assign(left, configured)
    clock.now = 1.0
    back = assignor.assign({**left, "c-again": frozenset()}, configured)
    assert dict(back.assigned) == {**left, "c-again": hands["c"]}
    assert not back.revoked
    assert not back.delay_ms


def test_new_connectors_do_not_wait_for_a_lost_worker() -> None:
    configured = units(2, 2)
    assignor = CooperativeAssignor(2000, Clock())
    hands, _ = settle(assignor, {"a": frozenset(), "b": frozenset()}, configured)
    outcome = assignor.assign({"a": hands["a"]}, configured | {Unit("new"), Unit("new", 0)})
    assert {Unit("new"), Unit("new", 0)} <= outcome.assigned["a"]
    assert outcome.delay_ms == 2000


def test_when_nobody_runs_anything_nobody_waits() -> None:
    configured = units(2, 2)
    assignor = CooperativeAssignor(2000, Clock())
    settle(assignor, {"a": frozenset(), "b": frozenset()}, configured)
    outcome = assignor.assign({"a": frozenset(), "b": frozenset()}, configured)
    assert everything(dict(outcome.assigned)) == sorted(configured)


def test_what_is_not_configured_any_more_is_given_up() -> None:
    assignor = CooperativeAssignor(0)
    hands, _ = settle(assignor, {"a": frozenset(), "b": frozenset()}, units(2, 2))
    outcome = assignor.assign(hands, units(1, 1))
    given_up = frozenset[Unit]().union(*outcome.revoked.values())
    assert given_up == units(2, 2) - units(1, 1)
    assert everything(dict(outcome.assigned)) == sorted(units(1, 1))


def test_a_deletion_moves_nothing_unless_it_leaves_a_crowd() -> None:
    configured = units(12, 0)
    assignor = CooperativeAssignor(0)
    hands, _ = settle(assignor, {"a": frozenset(), "b": frozenset()}, configured)
    two_less = configured - frozenset(sorted(hands["b"])[:2])
    kept, moved = settle(assignor, {name: hand & two_less for name, hand in hands.items()}, two_less)
    assert (counts(kept, True), moved) == ([4, 6], 0)
    four_less = two_less - frozenset(sorted(kept["b"])[:2])
    kept, moved = settle(assignor, {name: hand & four_less for name, hand in kept.items()}, four_less)
    assert (counts(kept, True), moved) == ([4, 4], 2)


def test_what_runs_twice_is_given_up_by_both_and_then_runs_once() -> None:
    both = frozenset([Unit("c0"), Unit("c0", 0)])
    assignor = CooperativeAssignor(0)
    outcome = assignor.assign({"a": both, "b": both}, both)
    assert dict(outcome.revoked) == {"a": both, "b": both}
    hands, _ = settle(assignor, dict(outcome.assigned), both)
    assert everything(hands) == sorted(both)


def test_a_round_that_came_to_nothing_can_be_forgotten() -> None:
    configured = units(2, 2)
    assignor = CooperativeAssignor(2000, Clock())
    tried = copy.copy(assignor)
    tried.assign({"a": frozenset(), "b": frozenset()}, configured)
    outcome = assignor.assign({"a": frozenset()}, configured)
    assert not outcome.delay_ms
    assert outcome.assigned["a"] == configured


@given(
    steps=st.lists(st.sets(st.sampled_from("abcde"), min_size=1), min_size=1, max_size=8),
    connectors=st.integers(0, 9),
    tasks=st.integers(0, 4),
)
def test_whoever_comes_and_goes_everything_runs_once_and_evenly(
    steps: list[set[str]], connectors: int, tasks: int
) -> None:
    configured = units(connectors, tasks)
    assignor = CooperativeAssignor(0)
    hands: Hands = {}
    for members in steps:
        hands, _ = settle(assignor, {name: hands.get(name, frozenset()) for name in members}, configured)
        assert everything(hands) == sorted(configured)
        for kind in (True, False):
            assert counts(hands, kind)[-1] - counts(hands, kind)[0] <= 1


@pytest.mark.parametrize("size", [1, 2, 5])
def test_nothing_configured_is_nothing_assigned(size: int) -> None:
    hands = {f"m{number}": frozenset[Unit]() for number in range(size)}
    assert CooperativeAssignor(0).assign(hands, frozenset()) == Round(hands, {}, 0)

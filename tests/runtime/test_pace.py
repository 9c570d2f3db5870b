"""How soon sources are looked at again."""

from __future__ import annotations

import itertools

from penstock.runtime.pace import LONGEST_FIRST_SECONDS, LONGEST_SECONDS, SHORTEST_SECONDS, Pace


def looks_until(pace: Pace, seconds: float) -> int:
    """How often a source is looked at that has nothing for so long."""
    looks, waited = 0, 0.0
    while waited < seconds:
        pace.found_nothing()
        waited += pace.seconds
        looks += 1
    return looks


def test_pauses_grow_up_to_half_a_second_as_long_as_there_is_nothing() -> None:
    pace = Pace()
    seen = []
    for _ in range(12):
        pace.found_nothing()
        seen.append(pace.seconds)
    assert seen[0] == 2 * SHORTEST_SECONDS
    assert all(later == min(2 * earlier, LONGEST_SECONDS) for earlier, later in itertools.pairwise(seen))
    assert seen[-1] == LONGEST_SECONDS


def test_a_source_that_has_much_is_looked_at_soon_after_each_find() -> None:
    pace = Pace()
    for moment in (10.0, 10.01, 10.02):
        pace.found(moment)
        assert pace.seconds == SHORTEST_SECONDS


def test_a_source_with_a_record_a_second_is_looked_at_less_often_until_the_next() -> None:
    hasty, pace = Pace(), Pace()
    pace.found(10.0)
    pace.found(11.0)
    assert (looks_until(hasty, 1.0), looks_until(pace, 1.0)) == (7, 4)


def test_a_record_after_a_long_silence_makes_the_next_one_wait_a_moment_at_most() -> None:
    pace = Pace()
    pace.found(10.0)
    pace.found(10_000.0)
    assert pace.seconds == LONGEST_FIRST_SECONDS


def test_after_a_pause_of_the_task_looks_are_quick_again() -> None:
    pace = Pace()
    pace.found(10.0)
    pace.found(20.0)
    looks_until(pace, 5.0)
    pace.hurry()
    assert pace.seconds == SHORTEST_SECONDS

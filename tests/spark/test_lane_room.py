"""How many lanes there may be."""

from __future__ import annotations

import pytest

from penstock.spark.lane_room import MOST_LANES, LaneRoom


@pytest.mark.parametrize("slots", [1, 2, 4, 8, 100])
def test_every_slot_is_a_lane_while_no_dataframe_wants_one(slots: int) -> None:
    room = LaneRoom(slots, slots, slots)
    assert (room.begun, room.most, room.computing, room.reserved) == (slots, slots, slots, 0)


@pytest.mark.parametrize(("slots", "reserved"), [(1, 0), (2, 1), (3, 1), (4, 1), (8, 2), (100, 25)])
def test_a_quarter_of_the_slots_is_left_to_dataframes(slots: int, reserved: int) -> None:
    room = LaneRoom(slots, slots, slots, framed=True, backlogged=True)
    assert room.reserved == reserved
    assert room.begun == room.most == slots - reserved


def test_a_backlog_wants_lanes_up_to_what_spark_may_grow_to() -> None:
    assert LaneRoom(2, 12, 2).most == 2
    assert LaneRoom(2, 12, 2, backlogged=True).most == 12
    assert LaneRoom(2, 12, 2, backlogged=True).computing == 12


def test_lanes_are_bounded_where_executors_are_not() -> None:
    assert LaneRoom(2, 2**31, 2, backlogged=True).most == MOST_LANES


def test_one_lane_is_wanted_although_there_is_no_executor_yet() -> None:
    assert LaneRoom(0, 12, 0).most == 1
    assert LaneRoom(0, 0, 0, framed=True, backlogged=True).most == 1


def test_more_slots_than_cores_let_works_wait_beside_those_that_compute() -> None:
    room = LaneRoom(8, 8, 2, backlogged=True)
    assert room.has_slots_to_spare
    assert (room.computing, room.most) == (2, 8)

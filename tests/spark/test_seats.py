"""How many lanes are opened, kept for quick works, asked for in vain, and given back to DataFrames."""

from __future__ import annotations

from penstock.spark.lane_names import LaneNames
from penstock.spark.lane_room import LaneRoom
from penstock.spark.lanes import Lane
from penstock.spark.seats import Seat, Seats
from penstock.spark.tickets import Entry, Ticket
from tests.spark.works import Count

CLUSTER = LaneRoom(slots=4, most_slots=4, cores=4)
GROWING = LaneRoom(slots=4, most_slots=12, cores=4, backlogged=True)
MACHINE = LaneRoom(slots=8, most_slots=8, cores=2)
FRAMED = LaneRoom(slots=4, most_slots=4, cores=4, framed=True)


def seats_with(busy: int = 0, idle: int = 0, pending: int = 0, share: float = 1.0) -> Seats:
    """Lanes without Spark, of which so many run a long work."""
    seats = Seats()
    for number in range(busy + idle + pending):
        lane = Lane(f"lane-{number}", "", None)  # type: ignore[arg-type]
        seats.add(lane, LaneNames())
        seat = seats.of(lane)
        assert seat is not None
        seat.opening = number >= busy + idle
        if number < busy:
            entry = Entry(Ticket("task", 1, lambda receipts: None, lambda ticket: None), 0, Count(1))
            entry.long, entry.share = True, share
            seat.take(entry)
        elif number < busy + idle:
            seats.idle.append(seat)
    return seats


def test_long_works_may_take_every_slot_of_a_cluster_while_no_quick_ones_come() -> None:
    assert seats_with(busy=2).room_for_long(CLUSTER, quick_come=False) == 2
    assert seats_with(busy=4).room_for_long(CLUSTER, quick_come=False) == 0


def test_a_lane_is_left_to_quick_works_that_come() -> None:
    assert seats_with(busy=2).room_for_long(CLUSTER, quick_come=True) == 1
    assert seats_with(busy=7, share=0.0).room_for_long(MACHINE, quick_come=False) == 0, "slots cost nothing there"


def test_long_works_that_compute_are_held_to_the_cores_and_others_are_not() -> None:
    assert seats_with(busy=2).room_for_long(MACHINE, quick_come=False) == 0
    assert seats_with(busy=2, share=0.1).room_for_long(MACHINE, quick_come=False) > 0


def test_works_that_wait_get_lanes_up_to_what_spark_may_grow_to() -> None:
    assert seats_with(busy=4).missing(CLUSTER, quick=0, long=9, quick_come=False) == 0
    assert seats_with(busy=4).missing(GROWING, quick=0, long=9, quick_come=False) == 8
    assert seats_with(busy=4, pending=8).missing(GROWING, quick=0, long=9, quick_come=False) == 0
    assert seats_with(busy=4, pending=1).missing(GROWING, quick=0, long=3, quick_come=False) == 2


def test_lanes_asked_for_in_vain_are_withdrawn_after_a_while() -> None:
    seats = seats_with(busy=4, pending=5)
    assert seats.withdraw(GROWING, waiting=5, patience=0.0) == []
    assert seats.until_next_withdrawal(0.0) is None
    assert seats.withdraw(GROWING, waiting=2, patience=60.0) == []
    left = seats.until_next_withdrawal(60.0)
    assert left is not None
    assert 59.0 < left <= 60.0
    assert len(seats.withdraw(GROWING, waiting=2, patience=0.0)) == 3
    assert (len(seats), seats.opening) == (6, 2)


def test_works_that_wait_again_are_reason_enough_to_go_on_asking() -> None:
    seats = seats_with(busy=4, pending=2)
    seats.withdraw(GROWING, waiting=0, patience=60.0)
    seats.withdraw(GROWING, waiting=2, patience=60.0)
    assert seats.withdraw(GROWING, waiting=0, patience=0.0) == [], "the time has begun anew"


def test_dataframes_have_lanes_withdrawn_first_then_idle_ones() -> None:
    seats = seats_with(busy=2, idle=1, pending=2)
    assert len(seats.withdraw(FRAMED, waiting=9, patience=60.0)) == 2
    assert seats.idle_to_give_way(FRAMED, set()) == []
    seats = seats_with(busy=2, idle=2)
    assert len(seats.idle_to_give_way(FRAMED, set())) == 1
    assert seats.idle_to_give_way(CLUSTER, set()) == []


def test_a_lane_with_something_open_does_not_give_way() -> None:
    seats = seats_with(busy=3, idle=1)
    (seat,) = seats.idle
    seat.pins.add("open")
    assert seats.idle_to_give_way(FRAMED, {"open"}) == []
    assert seats.idle_to_give_way(FRAMED, {"another"}) == [seat]


def test_a_lane_serves_on_under_a_name_that_fits() -> None:
    seats = Seats()
    lane = Lane("lane-1", "", None)  # type: ignore[arg-type]
    seats.add(lane, LaneNames())
    seat = seats.of(lane)
    assert isinstance(seat, Seat)
    seat.opened -= 61.0
    assert not seat.is_too_old()
    seat.names.serve("orders")
    assert seat.is_too_old(), "another one takes over, and its description says so"

"""A lane's description names connectors, as many as fit, and tells when others have come."""

from __future__ import annotations

from penstock.spark.lane_names import LONGEST_NAME, MOST_NAMES, LaneNames


def test_a_lane_is_described_by_the_connectors_it_was_opened_for() -> None:
    assert LaneNames(["orders", "invoices", "orders"]).description("lane-4") == "Penstock lane-4: orders, invoices"


def test_a_lane_that_nobody_waits_for_has_its_number_only() -> None:
    assert LaneNames().description("lane-1") == "Penstock lane-1"


def test_a_description_is_bounded_whatever_waits() -> None:
    text = LaneNames("x" * 500 + str(number) for number in range(10_000)).description("lane-7")
    assert len(text) <= len("Penstock lane-7: ") + MOST_NAMES * (LONGEST_NAME + 2) + len(" and others")
    assert "…" in text
    many = LaneNames(str(number) for number in range(MOST_NAMES + 1)).description("lane-7")
    assert many == "Penstock lane-7: 0, 1, 2, 3, 4, 5 and others"


def test_a_description_is_outdated_when_the_lane_serves_others() -> None:
    names = LaneNames(["orders"])
    names.serve("orders")
    assert not names.are_outdated
    names.serve("invoices")
    assert names.are_outdated
    assert LaneNames(names.latest).description("lane-2") == "Penstock lane-2: invoices, orders"


def test_the_next_lane_is_named_after_those_served_last() -> None:
    names = LaneNames()
    for number in (*range(100), 97):
        names.serve(str(number))
    assert names.latest[:4] == ["97", "99", "98", "96"]
    assert LaneNames(names.latest).description("lane-3").endswith(" and others")


def test_a_description_that_is_full_does_not_get_better() -> None:
    names = LaneNames(str(number) for number in range(100))
    names.serve("another")
    assert not names.are_outdated

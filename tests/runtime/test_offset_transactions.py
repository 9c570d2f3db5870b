"""The transactional ids that offsets are changed with."""

from __future__ import annotations

import pytest

from penstock.runtime.offset_transactions import OffsetTransactions


@pytest.mark.parametrize(
    ("connector", "expected"),
    [
        ("orders", "g-orders"),
        ("orders-1", "g-orders-1-offsets"),
        ("orders-x", "g-orders-x"),
        ("orders-", "g-orders-"),
        ("lines-1", "g-lines-1"),
        ("7", "g-7"),
    ],
)
def test_a_change_of_offsets_never_fences_the_task_of_another_connector(connector: str, expected: str) -> None:
    transactions = OffsetTransactions({"group.id": "g"}, {})
    transactions.exists = lambda name: name in ("orders", "orders-1")
    assert transactions.id_of(connector) == expected

"""Offsets of a source whose transaction is open: what is in it counts, and what was committed before it is read."""

from __future__ import annotations

import pytest

from penstock.runtime.open_offsets import OpenOffsets
from penstock.storage.memory_log import MemoryLog
from penstock.storage.offset_store import OffsetStore

X, Y, Z = ({"p": name} for name in "xyz")


@pytest.fixture
def offsets() -> OpenOffsets:
    """Of a connector that has come to 1 in X; the store hears of nothing else."""
    store = OffsetStore(MemoryLog())
    store.start()
    store.put("c", [(X, {"n": 1})]).result()
    return OpenOffsets(store, "c")


def test_the_open_transaction_comes_before_the_last_one_and_that_before_the_store(offsets: OpenOffsets) -> None:
    assert (offsets.get(X), offsets.get(Y), offsets.all()) == ({"n": 1}, None, [(X, {"n": 1})])
    offsets.add([(X, {"n": 2}), (Y, {"n": 5})])
    assert (offsets.get(X), offsets.get(Y)) == ({"n": 2}, {"n": 5})
    assert offsets.settle() == [(X, {"n": 2}), (Y, {"n": 5})]
    assert (offsets.pending, offsets.get(X), offsets.get(Y)) == ({}, {"n": 2}, {"n": 5})
    offsets.add([(X, {"n": 3}), (Z, {"n": 7})])
    assert (offsets.get(X), offsets.get(Y), offsets.get(Z)) == ({"n": 3}, {"n": 5}, {"n": 7})
    assert offsets.all() == [(X, {"n": 3}), (Y, {"n": 5}), (Z, {"n": 7})]


def test_what_is_known_already_is_not_written_again(offsets: OpenOffsets) -> None:
    offsets.add([(X, {"n": 1})])
    assert offsets.settle() == []
    offsets.add([(Y, {"n": 5})])
    offsets.settle()
    offsets.add([(Y, {"n": 5})])
    assert offsets.settle() == []


def test_after_a_failure_only_the_store_counts(offsets: OpenOffsets) -> None:
    offsets.add([(X, {"n": 2})])
    offsets.settle()
    offsets.add([(Y, {"n": 5})])
    offsets.forget()
    assert (offsets.get(X), offsets.get(Y), offsets.pending, offsets.all()) == ({"n": 1}, None, {}, [(X, {"n": 1})])

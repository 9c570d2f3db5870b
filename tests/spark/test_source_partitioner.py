"""The partition of a record."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.spark.partitioner import STICKY_RECORDS, PartitionError, assign, murmur2


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_is_kafkas(key: bytes, expected: int) -> None:
    assert murmur2(pa.array([b"", key, b"x"], pa.binary()))[1] == expected & 0xFFFFFFFF


def test_murmur2_of_a_slice_is_that_of_its_values() -> None:
    keys = pa.array([b"one", b"two", b"three", b""], pa.binary())
    assert murmur2(keys.slice(1, 2)).tolist() == murmur2(pa.array([b"two", b"three"])).tolist()


def test_records_without_a_key_take_turns_in_blocks() -> None:
    keys = pa.nulls(3 * STICKY_RECORDS, pa.binary())
    chosen = assign("t", 2, keys, first=lambda count: 1).tolist()
    assert chosen == [1] * STICKY_RECORDS + [0] * STICKY_RECORDS + [1] * STICKY_RECORDS


def test_own_partition_beats_key_and_turn() -> None:
    keys = pa.array([b"foobar", b"foobar", None], pa.binary())
    explicit = pa.array([7, None, 2], pa.int32())
    assert assign("t", 10, keys, explicit).tolist() == [7, (-790332482 & 0x7FFFFFFF) % 10, 2]


@pytest.mark.parametrize("partition", [-1, 3])
def test_a_partition_that_does_not_exist_is_refused(partition: int) -> None:
    with pytest.raises(PartitionError, match=f"partition {partition} of topic t"):
        assign("t", 3, pa.nulls(1, pa.binary()), pa.array([partition], pa.int32()))

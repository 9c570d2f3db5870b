"""Record batches as columns: the same records as another client reads and writes."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

from penstock.topics.kafka.wire import decoding, varints
from penstock.topics.kafka.wire.boundaries import starts
from penstock.topics.kafka.wire.compression import CODES, compressor, decompress
from penstock.topics.kafka.wire.decoding import Corrupt, OldFormat, batches, decode, together, visible
from penstock.topics.kafka.wire.encoding import TooLarge, pack
from penstock.topics.kafka.wire.partitioning import murmur2
from penstock.topics.kafka.wire.varints import Malformed

from .world import row, table

CELLS = st.one_of(st.none(), st.binary(max_size=12), st.binary(min_size=60, max_size=200))
HEADERS = st.lists(st.tuples(st.text(max_size=5), st.one_of(st.none(), st.binary(max_size=5))), max_size=3)
RECORDS = st.lists(
    st.tuples(CELLS, CELLS, HEADERS, st.integers(1_600_000_000_000, 1_900_000_000_000)), min_size=1, max_size=40
)
NUMBERS = st.integers(-(2**63), 2**63 - 1)


def encoded(
    records: list[Any], first: int = 0, codec: int = 0, transactional: bool = False, producer: int = -1
) -> bytes:
    """A batch as kafka-python writes it."""
    builder = DefaultRecordBatchBuilder(2, codec, transactional, producer, 0, 0, 1 << 30)
    for number, (key, value, headers, time) in enumerate(records):
        builder.append(number, time, key, value, headers)
    return struct.pack(">q", first) + bytes(builder.build())[8:]


def marker(first: int, producer: int, commit: bool) -> bytes:
    """The end of a transaction."""
    batch = bytearray(encoded([(struct.pack(">hh", 0, int(commit)), b"\0" * 6, [], 1)], first, 0, True, producer))
    batch[22] |= decoding.CONTROL
    return sealed(batch)


def sealed(batch: bytearray) -> bytes:
    from penstock.topics.kafka.wire.checksums import crc32c

    batch[17:21] = struct.pack(">I", crc32c(np.frombuffer(bytes(batch[21:]), np.uint8)))
    return bytes(batch)


def decoded(data: bytes, aborted: list[tuple[int, int]] | None = None, check: bool = True) -> list[tuple[int, Any]]:
    """Offsets and rows."""
    array = np.frombuffer(data, np.uint8)
    found = list(batches(array, 0, len(array), check))
    rows = [part for group in together(visible(found, array, aborted or [])) for part in decode(array, group)]
    return [(part.first + n, cell) for part in rows for n, cell in enumerate(part.table.to_pylist())]


def expected(records: list[Any], first: int = 0) -> list[tuple[int, Any]]:
    found = []
    for number, (key, value, headers, time) in enumerate(records):
        cells = [{"key": name, "value": data} for name, data in headers] or None
        found.append((first + number, {**row(value, key, time), "headers": cells}))
    return found


@given(st.lists(NUMBERS, min_size=1, max_size=30))
def test_numbers_are_read_as_they_were_written(numbers: list[int]) -> None:
    values = np.array(numbers, np.int64)
    size = varints.sizes(values)
    ends = np.cumsum(size)
    data = np.zeros(int(ends[-1]), np.uint8)
    varints.write(values, size, data, ends - size)
    assert data.tobytes() == b"".join(map(varints.write_one, numbers))
    found, after = varints.read(data, ends - size)
    assert (found.tolist(), after.tolist()) == (numbers, ends.tolist())
    assert [varints.read_one(data, int(at))[0] for at in ends - size] == numbers


@given(st.lists(RECORDS, min_size=1, max_size=4), st.sampled_from([0, 1]))
@settings(deadline=None)
def test_every_part_of_a_record_is_read(found: list[list[Any]], codec: int) -> None:
    first, data, wanted = 7, b"", []
    for records in found:
        data += encoded(records, first, codec)
        wanted += expected(records, first)
        first += len(records) + 3
    assert decoded(data) == wanted


def packed(records: list[Any], most: int = 1_000_000, codec: int = 0) -> list[bytes]:
    """Batches as we write them."""
    rows = table([cell for _, cell in expected(records)])
    return [b"".join(map(bytes, batch.parts(9, 1, 7, False))) for batch in pack(rows, most, 1_000_000, codec)]


@given(RECORDS, st.sampled_from([0, 1]), st.integers(30, 3000))
@settings(deadline=None)
def test_another_client_reads_what_we_write(records: list[Any], codec: int, most: int) -> None:
    found: list[Any] = []
    for data in packed(records, most, codec):
        batch = DefaultRecordBatch(data)
        assert batch.validate_crc()
        assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (9, 1, 7)
        times = [record[3] for record in records[len(found) :]][: batch.last_offset_delta + 1]
        assert batch.max_timestamp == max(times)
        found += [(each.key, each.value, [tuple(h) for h in each.headers], each.timestamp) for each in batch]
    assert found == [tuple(record) for record in records]


@given(RECORDS)
@settings(deadline=None)
def test_we_write_the_bytes_that_another_client_writes(records: list[Any]) -> None:
    """The same batch, but for what names the producer."""
    [ours] = packed(records)
    theirs = encoded(records)
    assert ours[61:] == theirs[61:]
    assert ours[:12] == theirs[:12]
    assert ours[23:43] == theirs[23:43]


def test_batches_are_no_larger_than_they_may_be() -> None:
    records: list[Any] = [(None, b"v" * size, [], 1) for size in [400] * 10 + [5000] + [10] * 300]
    sizes = [len(data) for data in packed(records, 1000)]
    assert sum(size > 1061 for size in sizes) == 1
    assert len(sizes) < 25
    with pytest.raises(TooLarge):
        list(pack(table([row(b"v" * 100, b"k")]), 1000, 100))


@pytest.mark.parametrize("headers", [[], [("h", b"1")]], ids=["without", "with"])
def test_a_batch_among_many_has_the_bytes_of_one_alone(headers: list[Any]) -> None:
    records: list[Any] = [(b"%d" % n, b"v" * (n % 90), headers, 1_000 + 7 * n % 500) for n in range(30_000)]
    found = packed(records, 60_000)
    counts = [DefaultRecordBatch(data).last_offset_delta + 1 for data in found]
    assert len(found) > 20
    assert sum(counts) == len(records)
    for data, count in zip(found, counts, strict=True):
        assert [data] == packed(records[:count])
        del records[:count]


@pytest.mark.parametrize(
    ("key", "wanted"),
    [(b"21", -973932308), (b"foobar", -790332482), (b"a-little-bit-long-string", -985981536), (b"abc", 479470107)],
)
def test_keys_are_hashed_as_javas_clients_do(key: bytes, wanted: int) -> None:
    assert murmur2(key) == wanted & 0xFFFFFFFF


@pytest.mark.parametrize("lengths", [[100] * 2000, [3, 200, 90, 64, 63] * 400, [5] * 700 + [70_000] + [5] * 700, [8]])
def test_many_records_are_told_apart_whatever_their_lengths(lengths: list[int]) -> None:
    records: list[Any] = [
        (None, bytes([number % 251]) * size, [], 1_700_000_000_000) for number, size in enumerate(lengths)
    ]
    assert decoded(encoded(records)) == expected(records)


@given(st.lists(st.integers(1, 300), min_size=1, max_size=1200))
@settings(deadline=None, max_examples=30)
def test_boundaries_are_those_of_a_walk(lengths: list[int]) -> None:
    parts = [varints.write_one(size) + b"\xff" * size for size in lengths]
    data = np.frombuffer(b"".join(parts), np.uint8)
    ends = np.cumsum([len(part) for part in parts])
    assert starts(data, 0, len(data), len(parts)).tolist() == [0, *ends[:-1].tolist()]
    with pytest.raises(Malformed):
        starts(data, 0, len(data) - 1, len(parts))


def test_what_was_taken_back_is_not_seen_and_markers_never_are() -> None:
    records: list[Any] = [(None, b"v", [], 1)]
    data = b"".join(
        [
            encoded(records, 0, 0, True, 5),
            encoded(records, 1, 0, True, 6),
            encoded(records, 2),
            marker(3, 5, commit=False),
            encoded(records, 4, 0, True, 5),
            marker(5, 6, commit=True),
            marker(6, 5, commit=True),
        ]
    )
    assert [offset for offset, _ in decoded(data, [(5, 0)])] == [1, 2, 4]
    assert [offset for offset, _ in decoded(data)] == [0, 1, 2, 4]


def test_a_batch_that_was_cut_off_is_left_for_the_next_fetch() -> None:
    whole = encoded([(b"k", b"v", [], 1)], 0)
    for cut in (1, 30, len(whole) - 1):
        assert [offset for offset, _ in decoded(whole + encoded([(b"k", b"v", [], 1)], 1)[:cut])] == [0]


def test_the_brokers_time_counts_for_a_whole_batch() -> None:
    batch = bytearray(encoded([(None, b"a", [], 1_000), (None, b"b", [], 2_000)]))
    batch[22] |= decoding.LOG_APPEND_TIME
    both = sealed(batch) + encoded([(None, b"c", [], 3_000)], 2)
    assert [cell["timestamp"] for _, cell in decoded(both)] == [2_000, 2_000, 3_000]


def test_a_changed_byte_is_noticed() -> None:
    batch = bytearray(encoded([(b"key", b"value", [], 1)]))
    batch[-4] ^= 1
    with pytest.raises(Corrupt, match="stored crc = "):
        decoded(bytes(batch))
    assert len(decoded(bytes(batch), check=False)) == 1
    batch[61] = 0x7E
    with pytest.raises(Corrupt, match="cannot be read"):
        decoded(bytes(batch), check=False)


def test_old_formats_are_left_to_others() -> None:
    batch = bytearray(encoded([(b"key", b"value", [], 1)]))
    batch[16] = 1
    with pytest.raises(OldFormat):
        decoded(bytes(batch))


@pytest.mark.parametrize("name", [name for name in CODES if name != "none"])
@pytest.mark.parametrize("data", [b"", b"x" * 300_000, bytes(range(256)) * 700], ids=["empty", "alike", "mixed"])
def test_what_is_compressed_comes_back(name: str, data: bytes) -> None:
    smaller = compressor(CODES[name])(data)
    assert bytes(decompress(CODES[name], memoryview(smaller))) == data


def test_snappy_in_javas_frames_is_read() -> None:
    blocks = [compressor(CODES["snappy"])(part) for part in (b"one " * 50, b"two " * 60)]
    framed = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
    framed += b"".join(struct.pack(">i", len(block)) + bytes(block) for block in blocks)
    assert bytes(decompress(CODES["snappy"], memoryview(framed))) == b"one " * 50 + b"two " * 60

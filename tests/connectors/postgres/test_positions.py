"""Positions in the log, what snapshots see, committed offsets, and offsets kept beside rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest

from penstock.api import Batch, ConfigError, PluginError, Record, SourceOffset, SourceOffsets, SourcePartition
from penstock.connectors.postgres import blocks
from penstock.connectors.postgres.blocks import Block, KeyRule, blocks_of
from penstock.connectors.postgres.lsn import Visibility, lsn_text, parse_lsn
from penstock.connectors.postgres.position import Position, State, TableProgress, check_partition
from penstock.connectors.postgres.written import Written


class Offsets(SourceOffsets):
    def __init__(self, pairs: Sequence[tuple[SourcePartition, SourceOffset]]) -> None:
        self._pairs = pairs

    def get(self, partition: SourcePartition) -> SourceOffset | None:
        return next((offset for at, offset in self._pairs if at == partition), None)

    def all(self) -> Sequence[tuple[SourcePartition, SourceOffset]]:
        return self._pairs


def test_positions_are_written_as_postgresql_writes_them() -> None:
    assert parse_lsn("1/16B3748") == (1 << 32) + 0x16B3748
    assert lsn_text(parse_lsn("1/16B3748")) == "1/16B3748"
    assert parse_lsn(24_023_128) == 24_023_128


@pytest.mark.parametrize("value", [None, "", "16B3748", "0/XYZ", -1, True, 1.5, "0/123456789"])
def test_what_is_no_position_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="not a position"):
        parse_lsn(value)


def test_a_snapshot_sees_what_ended_before_it() -> None:
    seen = Visibility.parse("100:105:101,103")
    assert [xid for xid in range(98, 108) if seen.sees(xid)] == [98, 99, 100, 102, 104]


def test_a_snapshot_after_a_wraparound_sees_transactions_by_their_low_bits() -> None:
    seen = Visibility.parse(f"{(3 << 32) - 2}:{(3 << 32) + 2}:")
    assert seen.sees((1 << 32) - 1)
    assert seen.sees(1)
    assert not seen.sees(2)
    assert seen.sees(1 << 31 | 5)


def test_offsets_are_read_as_they_were_written() -> None:
    position, table = Position(5, 9, 3), TableProgress("1:2:", 7, 3, 10, 4711, resumed=12)
    pairs = [({"server": "s"}, position.offset()), ({"server": "s", "table": "a.b"}, table.offset())]
    assert State.of(Offsets(pairs), "s") == State(position, {"a.b": table})
    assert State.of(Offsets(pairs), "other") == State(None, {})


def test_an_offset_nobody_wrote_names_the_way_out() -> None:
    with pytest.raises(PluginError, match="alter or reset its offsets"):
        State.of(Offsets([({"server": "s"}, {"lsn": "nonsense"})]), "s")


@pytest.mark.parametrize("partition", [None, {}, {"server": "x"}, {"server": "s", "other": 1}])
def test_partitions_of_others_are_refused(partition: Mapping[str, Any] | None) -> None:
    with pytest.raises(ConfigError):
        check_partition(partition, "s")


def block(first: int, last: int) -> Block:
    records = [Record({"id": n}, {"id": n}, "t", 0, offset=n) for n in range(first, last)]
    (found,) = blocks_of(records, KeyRule(), True, _unexpected)
    return found


def _unexpected(record: Record, error: Exception) -> None:
    raise error


def offsets_of(found: Block) -> list[int]:
    rows: list[int] = found.offsets.to_pylist()
    return rows


def test_a_batch_repeated_after_a_crash_is_recognised() -> None:
    written = Written({("t", 0): 8}, {"next": {"t": {"0": 5}}})
    assert offsets_of(written.rest(block(5, 10))) == [8, 9]
    assert written.state()["next"] == {"t": {"0": 10}}


def test_a_shorter_repetition_does_not_move_the_offset_back() -> None:
    written = Written({("t", 0): 8}, {"next": {"t": {"0": 5}}})
    assert offsets_of(written.rest(block(5, 7))) == []
    assert written.next == {("t", 0): 8}


def test_records_from_before_the_committed_offset_are_new() -> None:
    written = Written({("t", 0): 8}, {"next": {"t": {"0": 8}}})
    assert offsets_of(written.rest(block(0, 3))) == [0, 1, 2]
    assert written.next == {("t", 0): 3}


def test_the_first_call_after_a_start_keeps_what_the_runtime_knew() -> None:
    assert Written({("t", 0): 8}, {"next": {"t": {"0": 5}}}).state()["next"] == {"t": {"0": 5}}
    assert Written({("t", 0): 8}, None, "here").state() == {"next": {}, "place": "here"}


def test_offsets_of_another_database_say_nothing_about_repetitions() -> None:
    state = {"next": {"t": {"0": 5}}, "place": "there"}
    assert offsets_of(Written({("t", 0): 8}, state, "here").rest(block(5, 10))) == [5, 6, 7, 8, 9]
    assert offsets_of(Written({("t", 0): 8}, state, "there").rest(block(5, 10))) == [8, 9]


def test_deletes_come_from_missing_values_and_from_envelopes() -> None:
    envelope = {"before": {"id": 2, "v": None}, "after": None, "op": "d", "source": {}}
    records = [
        Record(None, {"id": 1}, "t", 0, offset=0),
        Record(envelope, {"id": 2}, "t", 0, offset=1),
        Record({**envelope, "after": {"id": 3, "v": "x"}, "op": "u"}, {"id": 3}, "t", 0, offset=2),
    ]
    found = list(blocks_of(records, KeyRule(), True, _unexpected))
    rows = [(part.columns["id"].array.to_pylist(), part.gone.to_pylist()) for part in found]
    assert rows == [([1], [True]), ([2, 3], [True, False])]
    assert found[1].columns["v"].array.to_pylist() == [None, "x"]


def test_a_record_without_a_key_is_reported_alone() -> None:
    failed: list[tuple[Record, str]] = []
    records = [Record({"id": n}, {"id": n} if n != 1 else None, "t", 0, offset=n) for n in range(3)]
    found = list(blocks_of(records, KeyRule(), True, lambda record, error: failed.append((record, str(error)))))
    assert [offset for part in found for offset in offsets_of(part)] == [0, 2]
    assert failed[0][0].offset == 1
    assert "primary.key.mode" in failed[0][1]


def test_rows_that_only_together_are_refused_are_told_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def clumsy(batch: Batch, rule: KeyRule, deletes: bool) -> Iterator[Block]:
        if len(batch) > 1:
            raise ValueError("too many at once")
        return made(batch, rule, deletes)

    made = blocks._blocks
    monkeypatch.setattr(blocks, "_blocks", clumsy)
    records = [Record({"id": n}, {"id": n}, "t", 0, offset=n) for n in range(3)]
    found = list(blocks_of(records, KeyRule(), True, _unexpected))
    assert [offset for part in found for offset in offsets_of(part)] == [0, 1, 2]
    (line,) = caplog.records
    assert line.getMessage() == f"3 records of t {blocks.TOLD}; please report this"
    assert "too many at once" in caplog.text


def test_rows_of_which_one_is_to_blame_are_an_error_of_that_one_alone(caplog: pytest.LogCaptureFixture) -> None:
    failed: list[Record] = []
    records = [Record({"id": n}, {"id": n} if n else None, "t", 0, offset=n) for n in range(3)]
    list(blocks_of(records, KeyRule(), True, lambda record, error: failed.append(record)))
    assert [record.offset for record in failed] == [0]
    assert caplog.records == []


def test_blocks_give_their_records_back() -> None:
    part = block(0, 4).take(pa.array([3, 1], pa.int64()))
    assert [part.record_at(row).offset for row in range(2)] == [3, 1]

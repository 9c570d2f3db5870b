"""Merging, retention, compaction and sweeping: what they take away, and that readers never notice."""

from __future__ import annotations

import logging
import os
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.topics import maintenance, manifest
from penstock.topics.interface import Range, SourceCommit, TopicPartition
from penstock.topics.merging import WORTHWHILE, choose_run
from penstock.topics.recovery import FOR_EVER
from penstock.topics.retention import expired
from penstock.topics.segments import Segment
from penstock.topics.settings import DAY_MS, TopicSettings
from tests.support.waiting import wait_until

from .world import World, numbered, read

T0 = TopicPartition("t", 0)
RULES = TopicSettings(retention_ms=-1, segment_bytes=1_000)


def segment(start: int, size: int, when: int = 0, explicit: bool = False) -> Segment:
    return Segment(start + 1, start, start + 1, 1, size, when, when, when, None, explicit)


def segments(*sizes: int) -> list[Segment]:
    return [segment(start, size) for start, size in enumerate(sizes)]


class TestChoice:
    def test_many_small_neighbours_are_merged(self) -> None:
        assert len(choose_run(segments(*[1] * WORTHWHILE), RULES)) == WORTHWHILE

    def test_few_small_neighbours_wait(self) -> None:
        assert choose_run(segments(*[1] * (WORTHWHILE - 1)), RULES) == []

    def test_neighbours_that_fill_half_a_segment_are_merged(self) -> None:
        assert len(choose_run(segments(*[50] * 10), RULES)) == 10

    def test_large_segments_are_left_alone(self) -> None:
        assert choose_run(segments(1000, 900, 1000), RULES) == []
        assert choose_run(segments(*[80] * WORTHWHILE), RULES) == []

    def test_a_large_segment_parts_its_small_neighbours(self) -> None:
        run = choose_run(segments(*[1] * 10, 80, *[1] * WORTHWHILE), RULES)
        assert [s.start for s in run] == list(range(11, 11 + WORTHWHILE))

    def test_a_big_old_segment_does_not_join_small_new_ones(self) -> None:
        run = choose_run(segments(400, *[1] * WORTHWHILE), RULES)
        assert [s.size for s in run] == [1] * WORTHWHILE

    def test_older_neighbours_are_merged_although_a_small_one_came_last(self) -> None:
        assert [s.size for s in choose_run(segments(*[60] * 10, 1), RULES)] == [60] * 10

    def test_compacted_segments_do_not_mix_with_others(self) -> None:
        mixed = [replace(s, explicit=s.start < 20) for s in segments(*[1] * (20 + WORTHWHILE))]
        assert [s.start for s in choose_run(mixed, RULES)] == list(range(20, 20 + WORTHWHILE))

    def test_a_merged_segment_spans_a_tenth_of_the_retention_at_most(self) -> None:
        rules = replace(RULES, retention_ms=1000)
        hundred = [segment(start, 1, when=start) for start in range(200)]
        run = choose_run(hundred, rules)
        assert run[-1].newest - run[0].oldest == 100

    def test_a_merged_segment_holds_a_tenth_of_the_retained_bytes_at_most(self) -> None:
        rules = replace(RULES, retention_bytes=400)
        assert len(choose_run(segments(*[1] * 100), rules)) == 40

    def test_merging_again_and_again_rewrites_a_record_a_few_times_only(self) -> None:
        rules, kept, rewritten, count = replace(RULES, segment_bytes=10**9), [], 0, 20_000
        for start in range(count):
            kept.append(segment(start, 1))
            while run := choose_run(kept[-200:], rules):
                rewritten += sum(s.size for s in run)
                at = kept.index(run[0])
                kept[at : at + len(run)] = [replace(run[0], size=sum(s.size for s in run), end=run[-1].end)]
        assert rewritten < 12 * count
        assert len(kept) < 10 * WORTHWHILE


class TestExpiry:
    def test_old_segments_at_the_head_go(self) -> None:
        given = [segment(0, 1, when=10), segment(1, 1, when=20), segment(2, 1, when=15)]
        assert expired(given, replace(RULES, retention_ms=100), now=116) == given[:1]
        assert expired(given, replace(RULES, retention_ms=-1), now=DAY_MS) == []

    def test_bytes_beyond_the_limit_go_but_never_below_it(self) -> None:
        given = segments(10, 10, 10)
        assert expired(given, replace(RULES, retention_bytes=15), now=0) == given[:1]
        assert expired(given, replace(RULES, retention_bytes=30), now=0) == []
        assert expired(given, replace(RULES, retention_bytes=0), now=0) == given

    def test_nothing_goes_under_compaction_alone(self) -> None:
        assert expired(segments(1), replace(RULES, retention_ms=0, delete=False, compact=True), now=DAY_MS) == []


def test_small_batches_become_one_blob_and_then_a_file(world: World) -> None:
    for number in range(WORTHWHILE):
        world.send(numbered(number, number + 1), position=number)
    before = world.records()
    assert world.topics.maintain().merged == WORTHWHILE
    assert world.files() == []
    assert len(world.topics.ranges({T0: None}, 10**6, 10**9)[0].pieces) == 1
    assert world.records() == before
    for number in range(WORTHWHILE, 40 * WORTHWHILE):
        world.send(numbered(number, number + 1))
        if number % WORTHWHILE == 0:
            world.topics.maintain()
    assert world.files() != []
    for _ in range(2):
        assert world.values() == list(range(40 * WORTHWHILE))
        world.reopen()


def test_small_files_become_one(world: World) -> None:
    for start in range(0, WORTHWHILE * 500, 500):
        world.send(numbered(start, start + 500, size=20))
    assert len(world.files()) == WORTHWHILE
    world.topics.maintain()
    assert len(world.files()) == 1
    assert len(world.files("~removed")) == WORTHWHILE
    assert world.values() == list(range(WORTHWHILE * 500))
    world.reopen()
    assert world.files("~removed") == []
    assert world.database.read(lambda connection: manifest.removed_files(connection, FOR_EVER)) == []
    assert world.values() == list(range(WORTHWHILE * 500))


def test_a_file_that_a_backup_caught_on_its_way_out_is_brought_back(world: World) -> None:
    world.send(numbered(0, 500, size=20))
    (path,) = world.files()
    world.close()
    path.rename(world.folder / "topics" / "~removed" / path.name.split("-", 1)[1])
    world.open()
    assert world.files() == [path]
    assert world.values() == list(range(500))


def test_what_a_crash_left_among_the_removed_files_is_deleted_at_the_next_start(world: World) -> None:
    world.send(numbered(0, 500, size=20))
    world.close()
    removed = world.folder / "topics" / "~removed"
    (removed / "left.parquet").write_bytes(b"")
    (removed / "note.txt").write_text("somebody's")
    world.open()
    assert [path.name for path in removed.iterdir()] == ["note.txt"]
    assert world.values() == list(range(500))


def test_a_start_deletes_what_a_crash_has_left_of_a_deleted_topic(world: World) -> None:
    world.send(numbered(0, 500, size=20))
    (path,) = world.files()
    content = path.read_bytes()
    world.topics.delete_topic("t").result()
    world.close()
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    world.open()
    assert not (world.folder / "topics" / "t").exists()
    assert world.files("~removed") == []


def test_a_start_tells_of_staged_files_that_were_never_committed(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    world.reopen()
    assert "Swept" not in caplog.text
    world.close()
    (world.topics.folders.staged / "left.parquet").write_bytes(b"")
    world.open()
    assert "Swept 1 staged files that were never committed" in caplog.text
    assert list(world.topics.folders.staged.iterdir()) == []


def test_files_that_somebody_else_deletes_meanwhile_do_not_keep_a_worker_from_starting(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.send(numbered(0, 3))
    world.close()
    listed = Path.glob
    monkeypatch.setattr(Path, "glob", lambda folder, pattern: [*listed(folder, pattern), folder / "gone.parquet"])
    world.open()
    assert world.values() == [0, 1, 2]


def test_a_range_handed_out_before_a_merge_can_be_read_after_it(world: World) -> None:
    for start in range(0, WORTHWHILE * 500, 500):
        world.send(numbered(start, start + 500, size=20))
    world.send(numbered(WORTHWHILE * 500, WORTHWHILE * 500 + 3))
    ranges = world.topics.ranges({T0: None}, 10**9, 10**9)
    assert world.topics.maintain().merged
    world.topics.delete_topic("t").result()
    assert [int(value or b"") for _, (_, value) in read(world.topics, ranges)] == list(range(WORTHWHILE * 500 + 3))


def test_readers_and_writers_go_on_while_segments_are_merged(world: World) -> None:
    ended = threading.Event()
    rounds: list[int] = []

    def keep_maintaining() -> None:
        while not ended.is_set():
            rounds.append(world.topics.maintain().merged)

    thread = threading.Thread(target=keep_maintaining)
    thread.start()
    position = sent = 0
    try:
        while sent < 6_000:
            width = 300 if sent % 7 == 0 else 1
            world.send(numbered(sent, sent + width, size=20))
            sent += width
            for rows in world.topics.ranges({T0: position}, 50, 10**9):
                for offset, (_, value) in read(world.topics, [rows]):
                    assert offset == position == int(value or b"")
                    position += 1
    finally:
        ended.set()
        thread.join()
    assert sum(rounds) > 0
    assert world.values() == list(range(sent))


def test_retention_by_size_moves_the_earliest_offset(world: World) -> None:
    world.topics.create_topic("t", settings={"retention.bytes": "30000"}).result()
    for start in range(0, 5000, 500):
        world.send(numbered(start, start + 500, size=20))
    assert world.topics.maintain().expired > 0
    first = world.topics.start_offsets("t")[0]
    assert 0 < first < 5000
    for _ in range(2):
        assert world.values() == list(range(first, 5000))
        assert world.topics.start_offsets("t") == [first]
        assert world.topics.end_offsets("t") == [5000]
        world.reopen()


def test_retention_by_time_counts_from_the_commit(world: World) -> None:
    world.topics.create_topic("t", settings={"retention.ms": str(DAY_MS)}).result()
    world.send(numbered(0, 500, size=20))
    assert world.topics.maintain().expired == 0, "the records say 2023, but were written just now"
    world.topics.alter_settings("t", {"retention.ms": "0"}).result()
    wait_until(lambda: world.topics.maintain().expired == 1, "the segment is too old")
    world.send(numbered(500, 501))
    assert [offset for offset, _ in world.records()] in ([500], [])
    assert world.topics.end_offsets("t") == [501]


def test_truncation_drops_records_before_an_offset(world: World) -> None:
    world.send(numbered(0, 500, size=20))
    world.send(numbered(500, 510))
    world.topics.truncate(T0, 505).result()
    for _ in range(2):
        assert world.values() == list(range(505, 510))
        assert world.files() == []
        world.reopen()
    world.topics.truncate(T0, 10**9).result()
    assert world.topics.start_offsets("t") == world.topics.end_offsets("t") == [510]
    world.topics.truncate(T0, 3).result()
    assert world.topics.start_offsets("t") == [510], "an earlier offset cannot come back"


@pytest.mark.parametrize("size", [1, 50])
def test_compaction_keeps_the_newest_record_of_each_key_at_its_offset(world: World, size: int) -> None:
    world.topics.create_topic("t", settings={"cleanup.policy": "compact"}).result()
    for batch in range(5):
        world.send([(b"k%d" % (n % 40), b"%d" % (100 * batch + n)) for n in range(100)])
    world.send([(None, b"x" * size), (b"k3", None), (None, b"y" * size)])
    newest = {key: (offset, value) for offset, (key, value) in world.records() if key is not None}
    keyless = [record for record in world.records() if record[1][0] is None]
    assert world.topics.maintain().compacted == 6
    for _ in range(2):
        found = world.records()
        assert {key: (offset, value) for offset, (key, value) in found if key is not None} == newest
        assert [record for record in found if record[1][0] is None] == keyless
        assert len(found) == 42
        assert [offset for offset, _ in found] == sorted(offset for offset, _ in found)
        assert world.topics.end_offsets("t") == [503]
        world.reopen()
    assert world.topics.maintain().compacted == 0, "nothing new"
    world.send([(b"k5", b"last")])
    assert world.records()[-1] == (503, (b"k5", b"last"))


def test_a_compacted_topic_can_be_read_in_small_steps(world: World) -> None:
    world.topics.create_topic("t", settings={"cleanup.policy": "compact", "segment.bytes": "3000"}).result()
    for batch in range(4):
        world.send([(b"%d" % n, b"%d" % batch * 20) for n in range(0, 300, 1 + batch)])
    world.topics.maintain()
    whole, position, steps = world.records(), 0, []
    while found := world.topics.ranges({T0: position}, 7, 10**9):
        steps += read(world.topics, found)
        assert found[0].end > position
        position = found[0].end
    assert steps == whole
    assert len(whole) == 300
    assert position == world.topics.end_offsets("t")[0]


def test_old_tombstones_are_compacted_away(world: World) -> None:
    settings = {"cleanup.policy": "compact", "delete.retention.ms": "1000", "min.cleanable.dirty.ratio": "0.1"}
    world.topics.create_topic("t", settings=settings).result()
    world.send([(b"a", b"1"), (b"b", b"2"), (b"a", None)])
    world.topics.maintain()
    assert world.records() == [(1, (b"b", b"2")), (2, (b"a", None))], "it was not there for long yet"
    world.send([(b"b", b"3"), (b"b", b"4")])
    world.topics.maintain()
    assert world.records() == [(4, (b"b", b"4"))]
    assert world.topics.end_offsets("t") == [5]


def test_compaction_waits_until_enough_is_new(world: World) -> None:
    world.topics.create_topic("t", settings={"cleanup.policy": "compact"}).result()
    world.send([(b"%d" % n, b"x" * 20) for n in range(200)])
    assert world.topics.maintain().compacted == 1
    world.send([(b"1", b"y")])
    assert world.topics.maintain().compacted == 0


class TestSweep:
    def test_a_batch_in_flight_is_never_touched(self, world: World) -> None:
        staged = world.stage(numbered(0, 500, size=20))
        world.topics.maintain()
        world.topics.commit_source(SourceCommit("c", [staged])).result()
        assert world.values() == list(range(500))

    def test_files_staged_for_a_worker_that_is_gone_are_deleted(self, world: World) -> None:
        world.stage(numbered(0, 500, size=20))
        stager = world.topics.stager()
        world.reopen()
        assert world.files("~staged") == []
        late = stager.write(T0, world.topics.reader().read(_range(world))[0][1])
        assert len(world.files("~staged")) == 1
        assert world.topics.maintain().swept == 1
        world.topics.stop()
        assert world.files("~staged") == []
        assert world.topics.commit_source(SourceCommit("c", [late])).exception() is not None

    def test_forgotten_attempts_are_deleted_after_an_hour(self, world: World) -> None:
        world.stage(numbered(0, 500, size=20))
        (path,) = world.files("~staged")
        an_hour_ago = time.time() - maintenance.STAGED_KEPT_SECONDS - 1
        os.utime(path, (an_hour_ago, an_hour_ago))
        assert world.topics.maintain().swept == 1
        world.topics.stop()
        assert not path.exists()

    def test_discarded_batches_leave_at_once(self, world: World) -> None:
        staged, committed = world.stage(numbered(0, 500, size=20)), world.stage(numbered(0, 500, size=20))
        world.topics.commit_source(SourceCommit("c", [committed])).result()
        world.topics.discard([staged, committed])
        world.topics.stop()
        assert world.files("~staged") == []
        assert world.values() == list(range(500))

    def test_removed_files_are_deleted_when_nobody_reads_them_any_more(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        world.send(numbered(0, 500, size=20))
        world.topics.truncate(T0, 500).result()
        world.topics.maintain()
        assert len(world.files("~removed")) == 1
        monkeypatch.setattr(maintenance, "REMOVED_KEPT_MS", 0)
        wait_until(lambda: world.topics.maintain().swept == 1, "the file is old enough")
        assert world.files("~removed") == []


def test_an_idle_round_writes_nothing(world: World) -> None:
    world.send(numbered(0, 500, size=20))
    world.topics.maintain()
    statements: list[str] = []
    world.database.write(lambda connection: connection.set_trace_callback(statements.append)).result()
    statements.clear()
    world.topics.maintain()
    assert statements == []


def _range(world: World) -> Range:
    world.send(numbered(0, 500, size=20), "source")
    return world.topics.ranges({TopicPartition("source", 0): None}, 10**6, 10**9)[0]

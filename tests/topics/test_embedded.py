"""The embedded home: commits that are all or nothing, positions, ranges, files that others can read."""

from __future__ import annotations

import pickle
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.api.errors import DataError
from penstock.topics.errors import TopicError, TopicExists, UnknownTopic
from penstock.topics.fetching import split_range
from penstock.topics.interface import RAW_SCHEMA, SinkCommit, SourceCommit, TopicPartition

from .world import World, numbered, read, table

T0 = TopicPartition("t", 0)


def test_a_commit_shows_records_and_offsets_and_survives_a_restart(world: World) -> None:
    world.send(numbered(0, 3), position=3)
    world.send(numbered(3, 200, size=50), position=200)
    world.send(numbered(200, 201), position=201)
    for _ in range(2):
        assert world.values() == list(range(201))
        assert [offset for offset, _ in world.records()] == list(range(201))
        assert world.topics.end_offsets("t") == [201]
        assert world.offsets.get("c", {"f": "x"}) == {"p": 201}
        world.reopen()


def test_few_records_make_no_file_and_many_make_one(world: World) -> None:
    world.send(numbered(0, 10))
    assert world.files() == []
    world.send(numbered(10, 1000, size=20))
    assert [path.name[:20] for path in world.files()] == [f"{10:020d}"]
    assert world.files("~staged") == []


def test_records_keep_headers_nulls_and_timestamps(world: World) -> None:
    headers = [{"key": "h", "value": b"1"}, {"key": "h", "value": None}]
    rows = [
        {"key": b"k", "value": None, "headers": headers, "timestamp": 5},
        {"key": None, "value": b"", "headers": None, "timestamp": 6},
    ]
    for copies in (1, 500):
        given = pa.Table.from_pylist(rows * copies, schema=RAW_SCHEMA)
        staged = world.topics.stager().write(TopicPartition(f"h{copies}", 0), given)
        world.topics.commit_source(SourceCommit("c", [staged])).result()
        assert (staged.path is None) == (copies == 1)
        (found,) = world.topics.ranges({TopicPartition(f"h{copies}", 0): None}, 10**6, 10**9)
        chunks = world.topics.reader().read(found)
        assert [row for _, chunk in chunks for row in chunk.to_pylist()] == rows * copies


def test_a_small_slice_of_a_large_table_makes_a_small_blob(world: World) -> None:
    large = pa.Table.from_pylist([{"value": b"x" * 10, "timestamp": 1}] * 50_000, schema=RAW_SCHEMA)
    nulls = pa.nulls(50_000, RAW_SCHEMA.field("headers").type)
    large = large.set_column(2, RAW_SCHEMA.field("headers"), nulls)
    staged = world.topics.stager().write(T0, large.slice(100, 2))
    assert staged.blob is not None
    assert len(staged.blob) < 2_000
    world.topics.commit_source(SourceCommit("c", [staged])).result()
    assert [value for _, (_, value) in world.records()] == [b"x" * 10] * 2


def test_many_tasks_committing_at_once_lose_and_mix_nothing(world: World) -> None:
    def commit(task: int) -> None:
        for batch in range(20):
            rows = [(b"%d" % task, b"%d" % batch)] * 3
            staged = [world.stage(rows), world.stage(rows, "own", 0)]
            offsets = [({"task": task}, {"batch": batch})]
            world.topics.commit_source(SourceCommit(f"c{task}", staged, offsets)).result()

    threads = [threading.Thread(target=commit, args=(task,)) for task in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    for topic in ("t", "own"):
        records = world.records(topic)
        assert [offset for offset, _ in records] == list(range(8 * 20 * 3))
        for task in range(8):
            batches = [int(value or b"") for _, (key, value) in records if key == b"%d" % task]
            assert batches == [batch for batch in range(20) for _ in range(3)]
    assert all(world.offsets.get(f"c{task}", {"task": task}) == {"batch": 19} for task in range(8))


def test_a_commit_that_fails_leaves_nothing(world: World) -> None:
    world.send(numbered(0, 3), position=3)
    good, bad = world.stage(numbered(3, 5)), world.stage(numbered(0, 2), partition=7)
    failed = world.topics.commit_source(SourceCommit("c", [good, bad], [({"f": "x"}, {"p": 5})]))
    with pytest.raises(TopicError, match="'t' has no partition 7"):
        failed.result()
    assert world.values() == [0, 1, 2]
    assert world.offsets.get("c", {"f": "x"}) == {"p": 3}
    new = world.topics.commit_source(SourceCommit("c", [world.stage(numbered(0, 2), "new"), bad]))
    assert isinstance(new.exception(), TopicError)
    assert world.topics.topics() == {"t": 1}


def test_offsets_that_are_no_primitives_fail_the_commit(world: World) -> None:
    failed = world.topics.commit_source(SourceCommit("c", [world.stage(numbered(0, 2))], [({"f": [1]}, {"p": 1})]))
    assert isinstance(failed.exception(), DataError)
    assert world.topics.topics() == {}


def test_a_staged_file_is_committed_once_only(world: World) -> None:
    staged = world.stage(numbered(0, 500, size=20))
    world.topics.commit_source(SourceCommit("c", [staged])).result()
    assert world.topics.commit_source(SourceCommit("c", [staged])).exception() is not None
    assert world.values() == list(range(500))


def test_a_commit_whose_staged_file_is_gone_is_refused(world: World) -> None:
    staged = world.stage(numbered(0, 500, size=20))
    world.topics.discard([staged])
    failed = world.topics.commit_source(SourceCommit("c", [staged]))
    with pytest.raises(TopicError, match="is gone, so its batch is not committed"):
        failed.result()


def test_new_topics_get_the_settings_of_the_commit(world: World) -> None:
    settings = {"partitions": "3", "replication.factor": "1", "cleanup.policy": "compact", "max.message.bytes": "7"}
    staged = [world.stage(numbered(0, 2), "n", partition=2)]
    world.topics.commit_source(SourceCommit("c", staged, topic_settings=lambda topic: settings)).result()
    for _ in range(2):
        assert world.topics.topics() == {"n": 3}
        assert world.topics.settings("n") == {"cleanup.policy": "compact", "max.message.bytes": "7"}
        assert world.topics.end_offsets("n") == [0, 0, 2]
        world.reopen()


@pytest.mark.parametrize(
    ("topic", "settings", "text"),
    [
        ("a b", {}, "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics"),
        ("..", {}, "Topic name is invalid: '..' is not allowed"),
        ("x" * 250, {}, "longer than the max allowed length 249"),
        ("x", {"retention.ms": "soon"}, "Invalid value soon for setting retention.ms of topic 'x': must be an integer"),
        ("x", {"cleanup.policy": "burn"}, "Invalid value burn for setting cleanup.policy of topic 'x'"),
        ("x", {"partitions": "0"}, "Invalid value 0 for setting partitions of topic 'x': must be at least 1"),
    ],
)
def test_wrong_topics_are_refused_with_the_reason(
    world: World, topic: str, settings: dict[str, str], text: str
) -> None:
    staged = [world.stage(numbered(0, 2), topic)]
    for future in (
        world.topics.commit_source(SourceCommit("c", staged, topic_settings=lambda _: settings)),
        world.topics.create_topic(topic, settings=settings),
    ):
        assert text in str(future.exception())
    assert world.topics.topics() == {}


def test_topics_can_be_created_altered_and_deleted(world: World) -> None:
    world.topics.create_topic("t", 2, {"retention.ms": "5"}).result()
    assert isinstance(world.topics.create_topic("t").exception(), TopicExists)
    world.topics.alter_settings("t", {"retention.ms": None, "segment.bytes": "100"}).result()
    assert world.topics.settings("t") == {"segment.bytes": "100"}
    world.send(numbered(0, 500, size=20), partition=1)
    world.topics.alter_positions("g", {TopicPartition("t", 1): 5, TopicPartition("other", 0): 1}).result()
    world.topics.delete_topic("t").result()
    for _ in range(2):
        assert world.topics.topics() == {}
        assert world.topics.positions("g") == {TopicPartition("other", 0): 1}
        assert not (world.folder / "topics" / "t").exists()
        world.reopen()
    assert isinstance(world.topics.delete_topic("t").exception(), UnknownTopic)
    world.send(numbered(0, 2))
    assert world.records()[0][0] == 0, "a new topic of the same name begins anew"


def test_of_a_deleted_topic_only_its_files_are_still_known_until_they_are_deleted(world: World) -> None:
    world.send(numbered(0, 500, size=20))
    world.send(numbered(0, 1), topic="other")
    world.topics.delete_topic("t").result()

    def left(connection: sqlite3.Connection) -> tuple[list[Any], list[Any], list[Any]]:
        partitions, segments = (
            connection.execute(f"SELECT count(*) FROM {table}").fetchone() for table in ("topic_partitions", "segments")
        )
        return partitions, segments, connection.execute("SELECT topic, partition, first FROM removed_files").fetchall()

    assert world.database.read(left) == ((1,), (1,), [("t", 0, 0)])


def test_sink_commits_keep_positions_state_and_dead_letters_together(world: World) -> None:
    world.send(numbered(0, 10))
    letters = [world.stage([(b"k", b"7")], "dlq")]
    world.topics.commit_sink(SinkCommit("g", {T0: 10}, 1, {"file": "f", "size": 3}, letters)).result()
    world.topics.commit_sink(SinkCommit("g", {TopicPartition("u", 1): 4}, 0)).result()
    for _ in range(2):
        assert world.topics.positions("g") == {T0: 10, TopicPartition("u", 1): 4}
        assert world.topics.sink_state("g", 1) == {"file": "f", "size": 3}
        assert world.topics.sink_state("g", 0) is None
        assert world.values("dlq") == [7]
        world.reopen()
    bad = SinkCommit("g", {T0: 99}, 1, {"file": "g"}, [world.stage(numbered(0, 1), "dlq", partition=9)])
    assert isinstance(world.topics.commit_sink(bad).exception(), TopicError)
    assert world.topics.positions("g")[T0] == 10
    assert world.topics.sink_state("g", 1) == {"file": "f", "size": 3}


def test_positions_can_be_altered_and_groups_deleted(world: World) -> None:
    world.topics.alter_positions("g", {T0: 5, TopicPartition("t", 1): 6}).result()
    world.topics.alter_positions("g", {T0: None, TopicPartition("t", 1): 7}).result()
    assert world.topics.positions("g") == {TopicPartition("t", 1): 7}
    world.topics.commit_sink(SinkCommit("h", {T0: 1}, 0, {"x": 1})).result()
    world.topics.delete_group("h").result()
    for _ in range(2):
        assert world.topics.positions("h") == {}
        assert world.topics.sink_state("h", 0) is None
        assert world.topics.positions("g") == {TopicPartition("t", 1): 7}
        assert world.topics.positions("unknown") == {}
        world.reopen()


def test_listeners_hear_of_the_topics_once_they_can_be_read(world: World) -> None:
    heard: list[tuple[set[str], int]] = []
    world.topics.listen(lambda topics: heard.append((topics, len(world.values()))))
    world.send(numbered(0, 3))
    world.topics.commit_source(SourceCommit("c", [world.stage(numbered(3, 4)), world.stage([], "u")])).result()
    world.topics.commit_source(SourceCommit("c", [], [({"f": 1}, {"p": 1})])).result()
    assert heard == [({"t"}, 3), ({"t"}, 4)]


def test_ranges_walk_through_blobs_and_files_within_their_limits(world: World) -> None:
    for start in range(0, 1000, 100):
        world.send(numbered(start, start + 100, size=5 if start % 200 else 50))
    position, seen = 0, []
    while found := world.topics.ranges({T0: position}, 70, 10**9):
        (rows,) = found
        records = read(world.topics, found)
        assert 0 < len(records) <= 70
        assert (rows.start, rows.end) == (position, position + len(records))
        seen += records
        position = rows.end
    assert [(offset, int(value or b"")) for offset, (_, value) in seen] == [(n, n) for n in range(1000)]


def test_ranges_respect_the_byte_limit_but_always_give_something(world: World) -> None:
    world.send(numbered(0, 100, size=1000))
    (rows,) = world.topics.ranges({T0: 0}, 10**9, 10_000)
    assert 1 <= rows.end - rows.start <= 10
    (rows,) = world.topics.ranges({T0: 0}, 10**9, 1)
    assert rows.end - rows.start == 1


def test_ranges_share_the_limits_among_partitions(world: World) -> None:
    world.topics.create_topic("t", 3).result()
    for partition, count in enumerate((5, 1000, 1000)):
        world.send(numbered(0, count), partition=partition)
    wanted = {TopicPartition("t", partition): None for partition in range(3)}
    lengths = {rows.partition: rows.end - rows.start for rows in world.topics.ranges(wanted, 205, 10**9)}
    assert lengths == {0: 5, 1: 100, 2: 100}


def test_ranges_of_nothing_are_empty(world: World) -> None:
    assert world.topics.ranges({T0: None}, 10, 10) == []
    world.send(numbered(0, 3))
    assert world.topics.ranges({T0: 3, TopicPartition("t", 5): None}, 10, 10**6) == []


def test_a_position_outside_of_the_topic_goes_to_the_earliest(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.send(numbered(0, 10))
    world.topics.truncate(T0, 4).result()
    for position in (2, 99):
        (rows,) = world.topics.ranges({T0: position}, 100, 10**6)
        assert (rows.start, rows.end) == (4, 10)
        assert f"Offset {position} of t-0" in caplog.text


def test_a_range_splits_into_parts_that_make_the_whole(world: World) -> None:
    for start in range(0, 300, 100):
        world.send(numbered(start, start + 100, size=20 if start else 1))
    whole = world.topics.ranges({T0: 7}, 10**6, 10**9)[0]
    parts = split_range(whole, 4)
    assert len(parts) == 4
    assert read(world.topics, parts) == read(world.topics, [whole])
    assert len(split_range(whole, 10_000)) == 293


@pytest.mark.integration
def test_stager_and_reader_work_in_another_process(world: World, tmp_path: Path) -> None:
    world.send(numbered(0, 500, size=20))
    world.send(numbered(500, 505))
    job = {
        "stager": world.topics.stager(),
        "reader": world.topics.reader(),
        "ranges": world.topics.ranges({T0: None}, 10**6, 10**9),
        "tables": [table(numbered(505, 510)), table(numbered(510, 1000, size=20))],
    }
    (tmp_path / "job").write_bytes(pickle.dumps(job))
    script = (
        "import pickle, sys; from penstock.topics.interface import TopicPartition\n"
        "job = pickle.load(open(sys.argv[1], 'rb'))\n"
        "rows = sum(c.num_rows for r in job['ranges'] for _, c in job['reader'].read(r))\n"
        "staged = [job['stager'].write(TopicPartition('t', 0), t) for t in job['tables']]\n"
        "pickle.dump((rows, staged), open(sys.argv[1], 'wb'))\n"
    )
    environment = {"PYTHONPATH": ":".join(sys.path)}
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "job")], env=environment, check=True)
    rows, staged = pickle.loads((tmp_path / "job").read_bytes())
    assert rows == 505
    world.topics.commit_source(SourceCommit("c", staged)).result()
    assert world.values() == list(range(1000))


def test_segments_are_plain_parquet_that_others_can_read(world: World) -> None:
    world.topics.create_topic("t", 2).result()
    world.send(numbered(0, 500, size=20), partition=0)
    world.send(numbered(500, 1000, size=20), partition=1)
    found = pq.read_table(world.folder / "topics" / "t").to_pylist()
    assert {(row["partition"], int(row["value"])) for row in found} == {(n // 500, n) for n in range(1000)}


def test_an_export_has_the_newest_tail_and_offsets(world: World, tmp_path: Path) -> None:
    world.topics.create_topic("t", 2).result()
    world.send(numbered(0, 500, size=20))
    world.send(numbered(500, 503))
    world.send(numbered(0, 2), partition=1)
    assert world.topics.export("t", tmp_path / "out") == 505
    found = pq.read_table(tmp_path / "out").to_pylist()
    mine = [(row["offset"], int(row["value"])) for row in found if row["partition"] == 0]
    assert sorted(mine) == [(n, n) for n in range(503)]
    with pytest.raises(TopicError, match="not an empty folder"):
        world.topics.export("t", tmp_path / "out")
    with pytest.raises(UnknownTopic):
        world.topics.export("nothing", tmp_path / "other")


def test_a_missing_file_is_named_with_the_way_out(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.send(numbered(0, 500, size=20))
    world.files()[0].unlink()
    with pytest.raises(TopicError, match=r"offsets 0 to 499 of topic 't' is gone\. Restore it from a backup"):
        world.records()
    world.reopen()
    assert "Topic 't' lacks the file" in caplog.text


def test_files_of_others_in_the_folder_are_left_alone(world: World) -> None:
    world.send(numbered(0, 500, size=20))
    foreign = world.folder / "topics" / "t" / "partition=0" / "mine.parquet"
    foreign.write_bytes(b"x")
    lost = world.folder / "topics" / "gone" / "partition=0" / f"{0:020d}-abc.parquet"
    lost.parent.mkdir(parents=True)
    lost.write_bytes(b"a segment whose manifest was lost")
    world.reopen()
    world.topics.maintain()
    assert foreign.exists()
    assert lost.exists()

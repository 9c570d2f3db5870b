"""What goes through the home comes out of Kafka the same, and the other way round."""

from __future__ import annotations

import logging

import pytest
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import NewPartitions  # type: ignore[attr-defined]

from penstock.api.errors import RetriableError
from penstock.storage.errors import PassingStorageError
from penstock.topics.errors import MissingTopics, TopicError, TopicExists, UnknownTopic
from penstock.topics.interface import SinkCommit, SourceCommit, TopicPartition
from penstock.topics.kafka import positions
from penstock.topics.kafka.creation import CreationFailed
from penstock.topics.kafka.offset_deletion import delete_positions
from penstock.topics.kafka.positions import OffsetOutOfRange
from tests.support.waiting import wait_until

from .world import KafkaWorld, row, table


def test_a_plain_consumer_sees_every_part_of_a_record(world: KafkaWorld) -> None:
    home, topic = world.connector(), f"{world.name}-fidelity"
    rows = [
        row(b"v1", b"k1", 1_600_000_000_001, h=b"x"),
        row(None, b"tombstone", 1_600_000_000_002),
        row(b"\x00\xff", None, 1_600_000_000_003),
        row(b"", b"", 1_600_000_000_004),
    ]
    world.write(home, topic, rows)
    found = world.consume(topic, 4)
    assert [(m.key(), m.value(), m.timestamp()[1]) for m in found] == [
        (r["key"], r["value"], r["timestamp"]) for r in rows
    ]
    assert [m.headers() for m in found] == [[("h", b"x")], None, None, None]


def test_the_reader_gives_back_every_part_of_a_record(world: KafkaWorld) -> None:
    topic = world.make(f"{world.name}-read")
    producer = Producer({"bootstrap.servers": world.bootstrap, "compression.type": "zstd"})
    producer.produce(topic, b"v", b"k", 0, timestamp=1_600_000_000_001, headers=[("a", b"1"), ("a", None)])
    producer.produce(topic, None, b"gone", 0, timestamp=1_600_000_000_002)
    producer.flush(30)
    home = world.connector()
    at = TopicPartition(topic, 0)
    ranges = wait_until(lambda: home.ranges({at: None}, 100, 1 << 20), "something to read")
    [(first, found)] = home.reader().read(ranges[0])
    assert first == 0
    assert found.to_pylist() == [
        {
            "key": b"k",
            "value": b"v",
            "headers": [{"key": "a", "value": b"1"}, {"key": "a", "value": None}],
            "timestamp": 1_600_000_000_001,
        },
        {"key": b"gone", "value": None, "headers": None, "timestamp": 1_600_000_000_002},
    ]


def test_a_stager_asks_for_topics_before_it_writes_anything(world: KafkaWorld) -> None:
    home = world.connector()
    with pytest.raises(MissingTopics) as missing:
        home.stager().prepare(["one", "two"])
    assert missing.value.topics == ["one", "two"]


def test_topics_are_made_as_the_connector_says(world: KafkaWorld) -> None:
    home, topic = world.connector(), f"{world.name}-made"
    wanted = {"partitions": "3", "replication.factor": "1", "cleanup.policy": "compact"}
    home.ensure([topic], lambda _: wanted).result(30)
    assert world.home.topics()[topic] == 3
    assert world.home.settings(topic) == {"cleanup.policy": "compact"}
    assert home.partition_counts(1) == {topic: 3}
    home.stager().prepare([topic])


def test_a_topic_that_cannot_be_made_fails_with_kafka_connects_text(world: KafkaWorld) -> None:
    home, topic = world.connector(), f"{world.name}-many"
    with pytest.raises(CreationFailed) as failed:
        home.ensure([topic], lambda _: {"partitions": "1", "replication.factor": "5"}).result(30)
    assert str(failed.value).startswith(
        f"Task failed to create new topic {topic}. Ensure that the task is authorized to create topics or that the "
        "topic exists and restart the task"
    )


def test_without_settings_of_its_own_a_topic_is_left_to_the_broker(world: KafkaWorld) -> None:
    home, topic = world.connector(may_create=False), f"{world.name}-auto"
    home.ensure([topic], lambda _: {"partitions": "7"}).result(30)
    assert world.home.topics()[topic] == 1


def test_settings_are_altered_and_topics_deleted(world: KafkaWorld) -> None:
    topic = f"{world.name}-life"
    world.home.create_topic(topic, 2, {"retention.ms": "1000", "replication.factor": "1"}).result(30)
    with pytest.raises(TopicExists):
        world.home.create_topic(topic).result(30)
    world.home.alter_settings(topic, {"retention.ms": None, "segment.ms": "60000"}).result(30)
    wait_until(lambda: world.home.settings(topic) == {"segment.ms": "60000"}, "the new settings")
    world.home.delete_topic(topic).result(60)
    with pytest.raises(UnknownTopic):
        world.home.settings(topic)


def test_listeners_hear_of_records_others_wrote_and_of_new_partitions(world: KafkaWorld) -> None:
    topic = world.make(f"{world.name}-heard")
    home = world.connector(metadata_max_age_ms="200")
    wait_until(lambda: home.topics().get(topic), "the topic is known")
    wait_until(lambda: list(home.end_offsets(topic)) == [0], "its end is known")
    world.news.clear()
    world.produce(topic, [b"x"])
    wait_until(lambda: any(topic in news for news in world.news), "news of the record")
    assert list(home.end_offsets(topic)) == [1]
    from confluent_kafka.admin import NewPartitions  # type: ignore[attr-defined]

    world.admin.create_partitions([NewPartitions(topic, 3)])[topic].result(30)
    wait_until(lambda: home.topics().get(topic) == 3, "the new partitions are known")


def test_gaps_of_transactions_do_not_stop_a_reader(world: KafkaWorld) -> None:
    topic = world.make(f"{world.name}-gaps")
    producer = Producer({"bootstrap.servers": world.bootstrap, "transactional.id": world.name})
    producer.init_transactions(30)
    for number in range(6):
        producer.begin_transaction()
        producer.produce(topic, b"%d" % number, partition=0)
        producer.flush(30)
        producer.commit_transaction(30) if number % 2 == 0 else producer.abort_transaction(30)
    home = world.connector()
    assert world.read(home, {TopicPartition(topic, 0): None}) == [(0, b"0"), (4, b"2"), (8, b"4")]
    uncommitted = world.connector(isolation_level="read_uncommitted")
    assert [value for _, value in world.read(uncommitted, {TopicPartition(topic, 0): 0})] == [
        b"%d" % number for number in range(6)
    ]


def test_an_open_transaction_is_waited_for(world: KafkaWorld) -> None:
    topic = world.make(f"{world.name}-open")
    world.produce(topic, [b"before"])
    producer = Producer({"bootstrap.servers": world.bootstrap, "transactional.id": world.name})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"within", partition=0)
    producer.flush(30)
    world.produce(topic, [b"after"])
    home = world.connector()
    at = TopicPartition(topic, 0)
    assert world.read(home, {at: None}) == [(0, b"before")]
    producer.commit_transaction(30)
    assert world.read(home, {at: 1}) == [(1, b"within"), (2, b"after")]


def test_ranges_are_shared_out_fairly_and_read_in_order(world: KafkaWorld) -> None:
    topic = world.make(f"{world.name}-fair", 3)
    for partition in range(3):
        world.produce(topic, [b"%d" % n for n in range(500 * (partition + 1))], partition)
    home = world.connector()
    places = {TopicPartition(topic, partition): None for partition in range(3)}
    wait_until(lambda: len(home.ranges(places, 900, 1 << 30)) == 3, "all partitions are known")
    ranges = home.ranges(places, 900, 1 << 30)
    assert [rows.end - rows.start for rows in ranges] == [300, 300, 300]
    reader = home.reader()
    reader.prepare(ranges)
    for rows in ranges:
        [(first, found)] = reader.read(rows)
        assert found.column("value").to_pylist() == [b"%d" % n for n in range(first, first + 300)]
    home.observe(ranges, 900, 900 * 100)
    assert sum(rows.end - rows.start for rows in home.ranges(places, 10**6, 30_000)) == 300


@pytest.mark.parametrize(("policy", "chosen"), [("earliest", [b"3", b"4"]), ("latest", [])])
def test_a_truncated_range_goes_on_where_the_policy_says_and_is_logged(
    world: KafkaWorld, policy: str, chosen: list[bytes], caplog: pytest.LogCaptureFixture
) -> None:
    topic = world.make(f"{world.name}-cut-{policy}")
    world.produce(topic, [b"%d" % n for n in range(5)])
    [deleted] = world.admin.delete_records([Place(topic, 0, 3)]).values()
    deleted.result(30)
    home = world.connector("cut", auto_offset_reset=policy)
    at = TopicPartition(topic, 0)
    with caplog.at_level(logging.WARNING):
        wait_until(lambda: home.ranges({at: 1}, 9, 1 << 20) or caplog.records, "the position was looked at")
        found = [value for rows in home.ranges({at: 1}, 9, 1 << 30) for _, chunk in home.reader().read(rows)
                 for value in chunk.column("value").to_pylist()]  # fmt: skip
    assert found == chosen
    assert f"cut: offset 1 of {topic}-0 is out of range: the partition holds 3 to 5" in caplog.text


@pytest.mark.parametrize(("policy", "chosen"), [("earliest", [0]), ("latest", [])])
def test_positions_in_a_topic_that_was_made_anew_mean_nothing_and_that_is_logged(
    world: KafkaWorld, policy: str, chosen: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    topic = world.make(f"{world.name}-anew-{policy}")
    world.produce(topic, [b"old"] * 5)
    home = world.connector("anew", auto_offset_reset=policy, metadata_max_age_ms="200")
    at = TopicPartition(topic, 0)
    wait_until(lambda: home.ranges({at: 4}, 9, 1 << 20), "the fifth record is there")
    world.admin.delete_topics([topic])[topic].result(30)
    wait_until(lambda: topic not in world.admin.list_topics(timeout=10).topics, "it is gone")
    world.make(topic)
    world.produce(topic, [b"new"] * 7)
    with caplog.at_level(logging.WARNING):
        wait_until(lambda: (home.ranges({at: 5}, 9, 1 << 20), "made anew" in caplog.text)[1], "it is noticed")
    assert f"anew: offset 5 of {topic}-0 is of a topic that was deleted and made anew" in caplog.text
    wait_until(lambda: [rows.start for rows in home.ranges({at: 5}, 9, 1 << 20)] == chosen, f"it begins at {chosen}")
    home.commit_sink(SinkCommit("connect-anew", {at: 5})).result(30)
    wait_until(
        lambda: [rows.start for rows in home.ranges({at: 5}, 9, 1 << 20)] == [5], "a position of the new topic counts"
    )


def test_without_a_policy_a_lost_position_is_an_error(world: KafkaWorld) -> None:
    topic = world.make(f"{world.name}-none")
    world.produce(topic, [b"%d" % n for n in range(5)])
    [deleted] = world.admin.delete_records([Place(topic, 0, 3)]).values()
    deleted.result(30)
    home = world.connector("none", auto_offset_reset="none")
    at = TopicPartition(topic, 0)
    wait_until(lambda: home.end_offsets(topic), "the end is known")
    with pytest.raises(OffsetOutOfRange, match=r"auto\.offset\.reset=none"):
        wait_until_raises(lambda: home.ranges({at: 1}, 9, 1 << 20))
    with pytest.raises(OffsetOutOfRange, match="Undefined offset with no reset policy"):
        home.ranges({at: None}, 9, 1 << 20)


def wait_until_raises(ask: object) -> None:
    """Ask until it raises something else than nothing."""
    caught: list[BaseException] = []

    def look() -> bool:
        try:
            ask()  # type: ignore[operator]
        except TopicError as error:
            caught.append(error)
        return bool(caught)

    wait_until(look, "an error")
    raise caught[0]


def test_latest_is_pinned_at_first_sight(world: KafkaWorld) -> None:
    topic = world.make(f"{world.name}-late")
    world.produce(topic, [b"old"])
    home = world.connector("late", auto_offset_reset="latest")
    at = TopicPartition(topic, 0)
    wait_until(
        lambda: not home.ranges({at: None}, 9, 1 << 20) and home.positions("connect-late").get(at) == 1,
        "the position is committed",
    )
    world.produce(topic, [b"new"])
    assert world.read(home, {at: None}) == [(1, b"new")]


def test_reading_what_is_gone_is_tried_again(world: KafkaWorld) -> None:
    topic = world.make(f"{world.name}-gone")
    world.produce(topic, [b"%d" % n for n in range(5)])
    home = world.connector()
    at = TopicPartition(topic, 0)
    [rows] = wait_until(lambda: home.ranges({at: 0}, 2, 1 << 20), "something to read")
    [deleted] = world.admin.delete_records([Place(topic, 0, 5)]).values()
    deleted.result(30)
    with pytest.raises(RetriableError, match="not kept any more"):
        home.reader().read(rows)


def test_a_source_commit_writes_offsets_and_tells_listeners(world: KafkaWorld) -> None:
    home, topic = world.connector(), f"{world.name}-source"
    home.ensure([topic], lambda _: {"partitions": "1"}).result(30)
    stager = home.stager()
    staged = stager.write(TopicPartition(topic, 0), table([row(b"x")]))
    stager.finish()
    assert (staged.count, staged.topic) == (1, topic)
    home.commit_source(SourceCommit("c", [staged], [({"f": "a"}, {"n": 1})])).result(30)
    assert world.offsets.get("c", {"f": "a"}) == {"n": 1}


def test_positions_and_states_of_a_sink_survive_together(world: KafkaWorld) -> None:
    topic, group = world.make(f"{world.name}-group", 2), f"connect-{world.name}"
    home = world.connector(world.name)
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    assert home.positions(group) == {}
    home.commit_sink(SinkCommit(group, {first: 3}, 0, {"length": 10})).result(30)
    home.commit_sink(SinkCommit(group, {second: 4}, 0, {"length": 20})).result(30)
    home.commit_sink(SinkCommit(group, {first: 5}, 0)).result(30)
    again = world.connector(world.name)
    assert again.positions(group) == {first: 5, second: 4}
    assert again.sink_state(group, 0) == {"length": 20}
    assert again.sink_state(group, 1) is None


def test_altered_positions_keep_the_state_and_forgotten_ones_are_gone(world: KafkaWorld) -> None:
    topic, group = world.make(f"{world.name}-alter", 2), f"connect-{world.name}"
    home = world.connector(world.name)
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    home.commit_sink(SinkCommit(group, {first: 3, second: 4}, 0, {"length": 10})).result(30)
    home.alter_positions(group, {first: 1, second: None}).result(60)
    assert home.positions(group) == {first: 1}
    assert home.sink_state(group, 0) == {"length": 10}
    home.delete_group(group).result(60)
    assert home.positions(group) == {}
    home.delete_group(group).result(60)


def test_a_partition_that_is_gone_when_positions_are_written_is_told_as_such(world: KafkaWorld) -> None:
    topic, group = world.make(f"{world.name}-gone"), f"connect-{world.name}"
    home = world.connector(world.name)
    home.commit_sink(SinkCommit(group, {TopicPartition(topic, 0): 3}, 0)).result(30)
    changes = {TopicPartition(topic, 0): 1, TopicPartition(topic, 1): 1}
    error = home.alter_positions(group, changes).exception(60)
    assert isinstance(error, TopicError)
    assert f"Not all offsets of group {group} were written, for one of the partitions is not there" in str(error)


def test_a_large_state_is_packed(world: KafkaWorld) -> None:
    topic, group = world.make(f"{world.name}-large"), f"connect-{world.name}"
    home = world.connector(world.name)
    state = {"replayed": [[n, n + 1] for n in range(0, 800, 2)]}
    home.commit_sink(SinkCommit(group, {TopicPartition(topic, 0): 3}, 0, state)).result(30)
    again = world.connector(world.name)
    again.positions(group)
    assert again.sink_state(group, 0) == state


def test_a_task_never_writes_positions_of_another(world: KafkaWorld) -> None:
    """As after a change of ``tasks.max``: the first task had both partitions when the group was read."""
    topic, group = world.make(f"{world.name}-shared", 2), f"connect-{world.name}"
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    before = world.connector(world.name)
    before.commit_sink(SinkCommit(group, {first: 3, second: 4}, 0, {"length": 10})).result(30)
    home = world.connector(world.name)
    home.positions(group)
    home.commit_sink(SinkCommit(group, {second: 9}, 1, {"length": 1})).result(30)
    home.commit_sink(SinkCommit(group, {first: 5}, 0, {"length": 20})).result(30)
    again = world.connector(world.name)
    assert again.positions(group) == {first: 5, second: 9}
    assert (again.sink_state(group, 0), again.sink_state(group, 1)) == ({"length": 20}, {"length": 1})


def test_each_position_of_a_task_carries_its_newest_state(world: KafkaWorld) -> None:
    topic, group = world.make(f"{world.name}-carried", 2), f"connect-{world.name}"
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    home = world.connector(world.name)
    home.commit_sink(SinkCommit(group, {first: 3}, 0, {"length": 10})).result(30)
    home.commit_sink(SinkCommit(group, {second: 4}, 0, {"length": 20}, unchanged={first: 3})).result(30)
    delete_positions(home._cluster.settings, group, [second])
    again = world.connector(world.name)
    assert again.positions(group) == {first: 3}
    assert again.sink_state(group, 0) == {"length": 20}


def test_a_commit_does_not_wait_for_a_topic_that_was_deleted(world: KafkaWorld) -> None:
    stays, goes = world.make(f"{world.name}-stays"), world.make(f"{world.name}-goes")
    group, home = f"connect-{world.name}", world.connector(world.name)
    first, second = TopicPartition(stays, 0), TopicPartition(goes, 0)
    home.commit_sink(SinkCommit(group, {first: 1, second: 1}, 0, {"length": 10})).result(30)
    home.delete_topic(goes).result(60)
    written = home.commit_sink(SinkCommit(group, {first: 2}, 0, {"length": 20}, unchanged={second: 1}))
    written.result(120)
    assert home.positions(group) == {first: 2}
    assert home.sink_state(group, 0) == {"length": 20}


def test_a_state_that_could_not_be_committed_is_not_remembered(world: KafkaWorld) -> None:
    topic, group = world.make(f"{world.name}-refused"), f"connect-{world.name}"
    at, home = TopicPartition(topic, 0), world.connector(world.name)
    home.commit_sink(SinkCommit(group, {at: 1}, 0, {"length": 10})).result(30)
    refused = SinkCommit(group, {at: 2}, 0, {"length": 20}, is_allowed=lambda: False)
    with pytest.raises(PassingStorageError, match="other workers may run its tasks"):
        home.commit_sink(refused).result(30)
    assert home.sink_state(group, 0) == {"length": 10}
    assert home.positions(group) == {at: 1}


def test_topics_that_nobody_can_name_yet_are_found(world: KafkaWorld) -> None:
    home = world.connector("patient", metadata_max_age_ms="200")
    home.want_new()
    wait_until(lambda: home._cluster.is_known, "topics were listed")
    topic = world.make(f"{world.name}-new")
    wait_until(lambda: any(topic in news for news in world.news), "the new topic is told of")


def test_an_end_that_was_behind_for_a_moment_is_not_held_against_a_position(
    world: KafkaWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(positions, "CERTAIN_SECONDS", 0.0)
    topic = world.make(f"{world.name}-moment")
    world.produce(topic, [b"a", b"b"])
    home, at = world.connector(), TopicPartition(topic, 0)
    wait_until(lambda: home.ranges({at: 0}, 9, 1 << 20), "something to read")
    assert not home.ranges({at: 5}, 9, 1 << 20)
    assert home.ranges({at: 1}, 9, 1 << 20)
    assert not home.ranges({at: 5}, 9, 1 << 20), "it was beyond the end for the first time since then"


def test_records_that_go_before_the_first_commit_are_told_of(
    world: KafkaWorld, caplog: pytest.LogCaptureFixture
) -> None:
    topic = world.make(f"{world.name}-slow-sink")
    world.produce(topic, [b"%d" % n for n in range(5)])
    home, at = world.connector(), TopicPartition(topic, 0)
    assert wait_until(lambda: home.ranges({at: None}, 9, 1 << 20), "something to read")[0].start == 0
    [deleted] = world.admin.delete_records([Place(topic, 0, 4)]).values()
    deleted.result(30)
    with caplog.at_level(logging.WARNING):
        wait_until(lambda: home.ranges({at: None}, 9, 1 << 20)[0].start == 4, "the earliest record")
    assert "4 offsets were skipped" in caplog.text


def test_a_topic_that_was_deleted_under_its_source_is_asked_for_again(world: KafkaWorld) -> None:
    home, topic = world.connector(metadata_max_age_ms="200"), f"{world.name}-lost"
    world.write(home, topic, [row(b"x")])
    home.stager().prepare([topic])
    world.admin.delete_topics([topic])[topic].result(30)

    def is_missing() -> bool:
        try:
            home.stager().prepare([topic])
        except MissingTopics:
            return True
        return False

    wait_until(is_missing, "the stager misses the topic")
    world.write(home, topic, [row(b"y")])


def test_new_partitions_of_a_topic_get_records_of_its_source(world: KafkaWorld) -> None:
    home, topic = world.connector(metadata_max_age_ms="200"), f"{world.name}-wider"
    world.write(home, topic, [row(b"x")])
    assert home.partition_counts(1) == {}
    world.admin.create_partitions([NewPartitions(topic, 3)])[topic].result(30)
    wait_until(lambda: home.partition_counts(1) == {topic: 3}, "three partitions")

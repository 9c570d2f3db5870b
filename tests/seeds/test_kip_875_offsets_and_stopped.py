"""KIP-875: offsets are the user's to see, alter and reset; connectors can be STOPPED."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest

from tests.seeds.conftest import MakeProbe, skip_on_cluster, standalone_only
from tests.support.probes import SETTINGS, Probe, message, wait_for_spark
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PARTITIONS = 5
FIVE_PARTITIONS = {
    "topic.creation.default.partitions": str(PARTITIONS),
    "topic.creation.default.replication.factor": "1",
}
RESET = "reset"
ALTER = "alter"


def success(verb: str) -> str:
    return f"The offsets for this connector have been {verb} successfully"


def possible_success(verb: str) -> str:
    return (
        f"The Connect framework-managed offsets for this connector have been {verb} successfully. However, if this "
        f"connector manages offsets externally, they will need to be manually {verb} in the system that the connector "
        "uses."
    )


def must_be_stopped(name: str) -> str:
    return (
        "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the "
        f"specified connector by issuing a 'PUT' request to the '/connectors/{name}/stop' endpoint"
    )


def at(topic: str, partition: int) -> dict[str, Any]:
    return {"kafka_topic": topic, "kafka_partition": partition}


def next_of(source: Probe) -> dict[int, int]:
    """The offsets of a probe source: task → next number."""
    return {entry["partition"]["task"]: entry["offset"]["next"] for entry in source.offsets()}


def positions_of(sink: Probe) -> dict[int, int]:
    """The offsets of a probe sink: partition of its topic → offset."""
    for entry in sink.offsets():
        assert entry["partition"]["kafka_topic"] == sink.topic
    return {entry["partition"]["kafka_partition"]: entry["offset"]["kafka_offset"] for entry in sink.offsets()}


def modify(probe: Probe, how: str) -> Any:
    """Alter something, or reset."""
    if how == RESET:
        return probe.request("DELETE", "/offsets")
    if "topics" in probe.config:
        return probe.alter((at(probe.topic, 0), {"kafka_offset": 1}))
    return probe.alter(({"task": 0}, {"next": 1}))


def caught_up(source: Probe, sink: Probe, count: int) -> None:
    """Wait until a sink has committed all ``count`` records of a topic."""
    wait_until(lambda: sum(positions_of(sink).values()) == count, f"{sink.name} is at the end of {source.topic}")


@pytest.fixture
def source(probe: MakeProbe) -> Probe:
    """A source with one task that has made thirty records."""
    made = probe().create_running({"count": "30"})
    wait_until(lambda: next_of(made) == {0: 30}, "thirty records")
    return made


@pytest.fixture
def sink(probe: MakeProbe) -> Probe:
    """A sink that has put fifty records out of five partitions."""
    feeder = probe().create_running({"count": "50", **FIVE_PARTITIONS})
    made = probe("ProbeSink", feeder.topic).create_running()
    caught_up(feeder, made, 50)
    return made


def sink_of_a_topic(probe: MakeProbe) -> Probe:
    """A sink, not yet created, whose topic exists with five partitions, as Kafka demands for positions in it."""
    feeder = probe().create_running({"count": "10", **FIVE_PARTITIONS})
    wait_until(feeder.offsets, "its topic is there")
    return probe("ProbeSink", feeder.topic)


# -- reading offsets


def test_cannot_view_the_offsets_of_a_nonexistent_connector(probe: MakeProbe) -> None:
    unknown = probe()
    assert message(unknown.request("GET", "/offsets"), 404) == f"Connector {unknown.name} not found"


def test_can_view_the_offsets_of_a_running_source_connector(probe: MakeProbe) -> None:
    source = probe().create({"count": "20", "tasks.max": "3", "tasks.made": "3"})
    wait_until(lambda: next_of(source) == {0: 20, 1: 20, 2: 20}, "every task has come to its end")
    source.request("PATCH", "/config", {"count": "40"})
    wait_until(lambda: next_of(source) == {0: 40, 1: 40, 2: 40}, "offsets go on with the records")
    assert {tuple(entry) for entry in source.offsets()} == {("partition", "offset")}


def test_can_view_the_offsets_of_a_running_sink_connector(probe: MakeProbe) -> None:
    feeder = probe().create({"count": "50", **FIVE_PARTITIONS})
    sink = probe("ProbeSink", feeder.topic).create_running()
    caught_up(feeder, sink, 50)
    assert sorted(positions_of(sink)) == list(range(PARTITIONS))
    feeder.request("PATCH", "/config", {"count": "100"})
    caught_up(feeder, sink, 100)


def test_a_connector_without_progress_has_no_offsets(probe: MakeProbe) -> None:
    assert probe().create_running().offsets() == []
    assert probe("ProbeSink").create_running().offsets() == []


@pytest.mark.parametrize(("verb", "state"), [("pause", "PAUSED"), ("stop", "STOPPED")])
def test_can_view_the_offsets_of_a_paused_or_stopped_connector(source: Probe, verb: str, state: str) -> None:
    source.ask(verb)
    source.wait(state, tasks=None)
    assert next_of(source) == {0: 30}


# -- the connector's own say


OUTCOMES = ["false", "true", "unsupported", "raise"]


@pytest.mark.parametrize("kind", ["source", "sink"])
@pytest.mark.parametrize("how", [ALTER, RESET])
@pytest.mark.parametrize("answer", OUTCOMES)
def test_the_answer_depends_on_the_connectors_alter_offsets(probe: MakeProbe, kind: str, how: str, answer: str) -> None:
    made = sink_of_a_topic(probe) if kind == "sink" else probe()
    made.create({"alter.offsets": "true"}, initial_state="STOPPED")
    made.wait("STOPPED", tasks=0)
    assert modify(made, ALTER).json() == {"message": success("altered")}
    before = made.offsets()
    assert len(before) == 1
    made.request("PATCH", "/config", {"alter.offsets": answer})

    done = modify(made, how)
    verb = "altered" if how == ALTER else "reset"
    if answer in ("true", "false"):
        assert done.status_code == 200
        assert done.json() == {"message": (success if answer == "true" else possible_success)(verb)}
        assert made.offsets() == ([] if how == RESET else before)
    elif answer == "unsupported":
        assert message(done, 400) == (
            f"Failed to modify offsets for connector {made.name} because it doesn't support external modification of "
            "offsets"
        )
        assert made.offsets() == before
    else:
        refused = f"Failed to modify offsets for {kind} connector {made.name}: these offsets are refused"
        assert message(done, 400) == refused
        assert made.offsets() == before


def test_a_connector_that_does_not_implement_alter_offsets_gets_the_careful_message(probe: MakeProbe) -> None:
    plain = probe("PlainSource").create(initial_state="STOPPED")
    assert modify(plain, ALTER).json() == {"message": possible_success("altered")}
    assert modify(plain, RESET).json() == {"message": possible_success("reset")}


def test_alter_offsets_is_called_before_the_connector_is_started_and_sees_what_is_altered(source: Probe) -> None:
    source.stop()
    wait_until(lambda: source.count("task.stop") == source.count("task.start"), "its task has ended")
    before = source.counts()
    assert source.alter(({"task": 0}, {"next": 7}), ({"task": 5}, None)).status_code == 200
    call = source.calls("alter_offsets")[-1]
    assert call["offsets"] == [[{"task": 0}, {"next": 7}], [{"task": 5}, None]]
    source.wait_counts(before)


def test_a_reset_shows_alter_offsets_every_known_source_partition_with_null(probe: MakeProbe) -> None:
    source = probe().create({"count": "10", "tasks.max": "2", "tasks.made": "2"})
    wait_until(lambda: next_of(source) == {0: 10, 1: 10}, "both tasks are done")
    source.stop()
    assert modify(source, RESET).status_code == 200
    shown = source.calls("alter_offsets")[-1]["offsets"]
    assert sorted(shown, key=str) == [[{"task": 0}, None], [{"task": 1}, None]]


def test_a_reset_shows_alter_offsets_every_known_topic_partition_with_null(sink: Probe) -> None:
    sink.stop()
    assert modify(sink, RESET).status_code == 200
    shown = sink.calls("alter_offsets")[-1]["offsets"]
    assert sorted(shown) == [[[sink.topic, partition], None] for partition in range(PARTITIONS)]


def test_offsets_that_are_read_once_it_is_stopped_do_not_change_any_more(probe: MakeProbe) -> None:
    feeder = probe().create_running({"count": "50", **FIVE_PARTITIONS})
    wait_until(lambda: next_of(feeder) == {0: 50}, "the topic is filled")
    sink = probe("ProbeSink", feeder.topic).create_running({"slow": "task.put"})
    wait_until(lambda: sink.count("task.put"), "it puts")
    sink.stop()
    seen = sink.offsets()
    wait_until(lambda: sink.count("task.stop") == sink.count("task.start"), "its task has ended")
    assert sink.offsets() == seen


# -- who may not be altered or reset, and the order of the checks


@pytest.mark.parametrize("how", [ALTER, RESET])
def test_cannot_modify_the_offsets_of_a_nonexistent_connector(probe: MakeProbe, how: str) -> None:
    unknown = probe()
    assert message(modify(unknown, how), 404) == f"Connector {unknown.name} not found"


@pytest.mark.parametrize("how", [ALTER, RESET])
def test_cannot_modify_the_offsets_of_a_running_connector(source: Probe, how: str) -> None:
    assert message(modify(source, how), 400) == must_be_stopped(source.name)
    assert next_of(source) == {0: 30}
    assert source.count("alter_offsets") == 0


@pytest.mark.parametrize("how", [ALTER, RESET])
def test_cannot_modify_the_offsets_of_a_paused_connector(source: Probe, how: str) -> None:
    source.ask("pause")
    source.wait("PAUSED")
    assert message(modify(source, how), 400) == must_be_stopped(source.name)
    assert next_of(source) == {0: 30}


@pytest.mark.parametrize("how", [ALTER, RESET])
def test_cannot_modify_the_offsets_of_a_failed_connector(probe: MakeProbe, how: str) -> None:
    failed = probe().create_with_trouble({"fail": "start"})
    failed.wait_states("FAILED")
    assert message(modify(failed, how), 400) == must_be_stopped(failed.name)


NOTHING_GIVEN = "Partitions / offsets need to be provided for an alter offsets request"


def test_an_empty_request_is_refused_before_the_connector_is_looked_for(probe: MakeProbe, source: Probe) -> None:
    for connector in (probe(), source):
        assert message(connector.alter(), 400) == NOTHING_GIVEN


def test_the_state_is_checked_before_the_entries(sink: Probe) -> None:
    assert message(sink.alter((None, None)), 400) == must_be_stopped(sink.name)


def test_the_entries_are_checked_before_the_connector_is_asked(probe: MakeProbe) -> None:
    sink = probe("ProbeSink").create({"alter.offsets": "raise"}, initial_state="STOPPED")
    assert "kafka_partition" in message(sink.alter(({"kafka_topic": "t"}, None)), 400)
    assert sink.count("alter_offsets") == 0


def test_a_connector_may_be_altered_at_once_after_the_request_to_stop_it(probe: MakeProbe) -> None:
    source = probe().create_running({"count": "30", "slow": "task.stop,stop"})
    source.ask("stop")
    assert source.alter(({"task": 0}, {"next": 3})).status_code == 200
    assert next_of(source) == {0: 3}


# -- altering


def test_can_alter_the_offsets_of_a_stopped_source_connector_which_uses_them_when_resumed(
    probe: MakeProbe, source: Probe
) -> None:
    reader = probe("ProbeSink", source.topic).create_running()
    assert len(reader.wait_out(30)) == 30
    source.stop()
    assert source.alter(({"task": 0}, {"next": 25})).json() == {"message": possible_success("altered")}
    assert next_of(source) == {0: 25}
    assert source.request("PATCH", "/config", {"alter.offsets": "true"}).status_code == 200
    assert source.alter(({"task": 0}, {"next": 27})).json() == {"message": success("altered")}
    assert next_of(source) == {0: 27}

    source.ask("resume")
    source.wait("RUNNING")
    wait_until(lambda: next_of(source) == {0: 30}, "the source went on from there")
    assert [value for _, _, value in reader.wait_out(33)[30:]] == ["0:27", "0:28", "0:29"]


def test_can_alter_the_offsets_of_a_stopped_sink_connector_which_uses_them_when_resumed(sink: Probe) -> None:
    ends = positions_of(sink)
    sink.stop()
    changes = [(at(sink.topic, p), {"kafka_offset": ends[p] - 1}) for p in range(1, PARTITIONS)]
    answer = sink.alter((at(sink.topic, 0), None), *changes)
    assert answer.json() == {"message": possible_success("altered")}
    altered = {p: ends[p] - 1 for p in range(1, PARTITIONS)}
    assert positions_of(sink) == altered, "the partition that was reset is gone, the others show their new offset"
    sink.request("PATCH", "/config", {"alter.offsets": "true"})
    assert sink.alter((at(sink.topic, 1), {"kafka_offset": ends[1]})).json() == {"message": success("altered")}

    sink.ask("resume")
    wait_until(lambda: positions_of(sink) == ends, "the sink has caught up again")
    again = sorted((partition, offset) for partition, offset, _ in sink.out()[50:])
    assert again == [*((0, offset) for offset in range(ends[0])), *((p, ends[p] - 1) for p in range(2, PARTITIONS))]


def test_altering_only_augments(source: Probe) -> None:
    source.stop()
    source.alter(({"task": 8}, {"next": 8}))
    assert next_of(source) == {0: 30, 8: 8}
    source.alter(({"task": 8}, {"next": 9}), ({"task": 9}, {"next": 1}))
    assert next_of(source) == {0: 30, 8: 9, 9: 1}


def test_a_null_offset_resets_one_source_partition(source: Probe) -> None:
    source.stop()
    source.alter(({"task": 8}, {"next": 8}))
    assert source.alter(({"task": 0}, None), ({"task": 77}, None)).status_code == 200
    assert next_of(source) == {8: 8}


def test_the_answer_to_reading_can_be_sent_back_to_alter(sink: Probe) -> None:
    sink.stop()
    body = sink.request("GET", "/offsets").json()
    sink.request("DELETE", "/offsets")
    assert sink.request("PATCH", "/offsets", body).status_code == 200
    assert sink.request("GET", "/offsets").json() == body


def test_a_record_that_makes_a_sink_fail_can_be_skipped(probe: MakeProbe) -> None:
    feeder = probe().create_running({"count": "30"})
    sink = probe("ProbeSink", feeder.topic).create({"poison": "0:25"})
    wait_until(lambda: sink.states() == ["RUNNING", "FAILED"], "the sink has met the record")
    wait_until(lambda: next_of(feeder) == {0: 30}, "all records are there")
    sink.stop()
    sink.alter((at(sink.topic, 0), {"kafka_offset": 26}))
    sink.ask("resume")
    sink.wait("RUNNING")
    after = ["0:26", "0:27", "0:28", "0:29"]
    wait_until(lambda: [value for _, _, value in sink.out()][-4:] == after, "the records after it are put")
    assert "0:25" not in [value for _, _, value in sink.out()]


def test_numbers_as_text_extra_keys_and_repeated_partitions_are_taken_as_kafka_connect_does(
    probe: MakeProbe,
) -> None:
    sink = sink_of_a_topic(probe).create(initial_state="STOPPED")
    first = {"kafka_topic": sink.topic, "kafka_partition": "3", "more": True}
    answer = sink.alter((first, {"kafka_offset": "5"}), (at(sink.topic, 3), {"kafka_offset": 6, "more": 1}))
    assert answer.status_code == 200, answer.text
    assert positions_of(sink) == {3: 6}


@pytest.mark.parametrize("offset", [{"kafka_offset": 1}, None])
def test_a_partition_that_does_not_exist_is_named_and_nothing_is_altered(
    probe: MakeProbe, offset: dict[str, int] | None
) -> None:
    sink = sink_of_a_topic(probe).create(initial_state="STOPPED")
    assert sink.alter((at(sink.topic, 0), {"kafka_offset": 5})).status_code == 200
    before = sink.count("alter_offsets")
    good = (at(sink.topic, 0), {"kafka_offset": 6})
    refused = sink.alter(good, (at(sink.topic, 5), offset), (at("nowhere", 7), offset))
    assert f"no partition 5 of topic {sink.topic} (it has partitions 0 to 4)" in message(refused, 400)
    assert "no partition 7 of topic nowhere (there is no such topic)" in message(refused, 400)
    assert (positions_of(sink), sink.count("alter_offsets")) == ({0: 5}, before)


SINK_PARTITION = "Failed to parse the following Kafka partition value in the provided offsets: '{}'. " + (
    "Partition values for sink connectors need to be integers."
)
SINK_OFFSET = "Failed to parse the following Kafka offset value in the provided offsets: '{}'. " + (
    "Offset values for sink connectors need to be integers."
)
BOTH_KEYS = "The partition for a sink connector offset must contain the keys 'kafka_topic' and 'kafka_partition'"
NO_PARTITION = "The partition for a sink connector offset cannot be null or missing"
NO_OFFSET = "The offset for a sink connector should either be null or contain the key 'kafka_offset'"
T0 = {"kafka_topic": "t", "kafka_partition": 0}

SINK_BODIES: list[tuple[Any, str]] = [
    ({}, NOTHING_GIVEN),
    ({"offsets": []}, NOTHING_GIVEN),
    ({"offsets": None}, NOTHING_GIVEN),
    ({"offsets": [{}]}, NO_PARTITION),
    ({"offsets": [{"partition": None, "offset": None}]}, NO_PARTITION),
    ({"offsets": [{"partition": {}, "offset": None}]}, BOTH_KEYS),
    ({"offsets": [{"partition": {"kafka_topic": "t"}, "offset": None}]}, BOTH_KEYS),
    ({"offsets": [{"partition": {"kafka_topic": None, "kafka_partition": 0}}]}, "Kafka topic names must be valid "),
    ({"offsets": [{"partition": {"kafka_topic": "t", "kafka_partition": None}}]}, "Kafka partitions must be valid "),
    ({"offsets": [{"partition": {"kafka_topic": "t", "kafka_partition": "x"}}]}, SINK_PARTITION.format("x")),
    ({"offsets": [{"partition": {"kafka_topic": "t", "kafka_partition": 1.5}}]}, SINK_PARTITION.format("1.5")),
    ({"offsets": [{"partition": T0, "offset": {}}]}, NO_OFFSET),
    ({"offsets": [{"partition": T0, "offset": {"kafka_offset": None}}]}, NO_OFFSET),
    ({"offsets": [{"partition": T0, "offset": {"kafka_offset": "not a number"}}]}, SINK_OFFSET.format("not a number")),
    ({"offsets": [{"partition": T0, "offset": {"kafka_offset": -1}}]}, "-1"),
    ({"offsets": [{"partition": {**T0, "kafka_partition": -1}, "offset": {"kafka_offset": 1}}]}, "-1"),
]

SOURCE_BODIES: list[tuple[Any, str]] = [
    ([], "Cannot deserialize value"),
    ({}, NOTHING_GIVEN),
    ({"key": []}, "Unrecognized field"),
    ({"offsets": []}, NOTHING_GIVEN),
    ({"offsets": {}}, "Cannot deserialize value"),
    ({"offsets": [123]}, "Cannot construct instance"),
    ({"offsets": [{"key": "val"}]}, "Unrecognized field"),
    ({"offsets": [{"partition": {"p": 1}, "offset": {"o": 1}, "more": 1}]}, "Unrecognized field"),
    ({"offsets": [{"partition": [], "offset": {}}]}, "Cannot deserialize value"),
    ({"offsets": [{"partition": None, "offset": {"o": 1}}]}, "cannot be null or missing"),
    ({"offsets": [{"partition": {"p": 1}, "offset": {"o": {}}}]}, "Offsets may only contain primitive types as values"),
    ({"offsets": [{"partition": {"p": [1]}, "offset": {"o": 1}}]}, "Offsets may only contain primitive types"),
]


def test_a_sink_body_that_makes_no_sense_is_refused_with_kafka_connects_words(probe: MakeProbe) -> None:
    sink = probe("ProbeSink").create({"alter.offsets": "true"}, initial_state="STOPPED")
    for body, text in SINK_BODIES:
        assert text in message(sink.request("PATCH", "/offsets", body), 400), body
    assert sink.offsets() == []
    assert sink.count("alter_offsets") == 0


def test_a_source_body_that_makes_no_sense_is_refused_with_kafka_connects_words(probe: MakeProbe) -> None:
    source = probe().create({"alter.offsets": "true"}, initial_state="STOPPED")
    for body, text in SOURCE_BODIES:
        assert text in message(source.request("PATCH", "/offsets", body), 400), body
    assert source.offsets() == []
    assert source.count("alter_offsets") == 0


def test_one_bad_entry_leaves_all_offsets_as_they_were(sink: Probe) -> None:
    before = positions_of(sink)
    sink.stop()
    bad = sink.alter((at(sink.topic, 0), {"kafka_offset": 0}), (at(sink.topic, 1), {"kafka_offset": "x"}))
    assert bad.status_code == 400
    assert positions_of(sink) == before


# -- resetting


def test_can_reset_the_offsets_of_a_stopped_source_connector(probe: MakeProbe, source: Probe) -> None:
    reader = probe("ProbeSink", source.topic).create_running()
    source.stop()
    for _ in range(2):
        assert modify(source, RESET).json() == {"message": possible_success("reset")}
        assert source.offsets() == []
    source.ask("resume")
    wait_until(lambda: next_of(source) == {0: 30}, "everything was read again")
    assert [value for _, _, value in reader.wait_out(60)] == [f"0:{number}" for number in range(30)] * 2


def test_can_reset_the_offsets_of_a_stopped_sink_connector(sink: Probe) -> None:
    ends = positions_of(sink)
    sink.stop()
    for _ in range(2):
        assert modify(sink, RESET).json() == {"message": possible_success("reset")}
        assert sink.offsets() == []
    sink.ask("resume")
    wait_until(lambda: positions_of(sink) == ends, "everything was put again")
    assert sorted(sink.wait_out(100)[50:]) == sorted(sink.out()[:50])


def test_a_file_sink_writes_again_what_its_altered_offsets_ask_for(probe: MakeProbe, source: Probe) -> None:
    sink = probe("ProbeSink", source.topic)
    config = {"connector.class": "FileStreamSink", "topics": source.topic, "file": str(sink.file)}
    sink.worker.create(sink.name, config)
    wait_until(lambda: len(sink.file.read_text().splitlines()) == 30, "all lines are written")
    sink.stop()
    assert sink.alter((at(source.topic, 0), {"kafka_offset": 28})).json() == {"message": success("altered")}
    sink.ask("resume")
    wait_until(lambda: sink.file.read_text().splitlines()[30:] == ["0:28", "0:29"], "two lines came again")
    sink.stop()
    assert modify(sink, RESET).json() == {"message": success("reset")}
    sink.ask("resume")
    wait_until(lambda: len(sink.file.read_text().splitlines()) == 62, "all lines came again")


# -- a consumer group of the user's choice


def test_can_view_alter_and_reset_the_offsets_of_a_sink_with_an_overridden_consumer_group_id(
    probe: MakeProbe,
) -> None:
    feeder = probe().create_running({"count": "30"})
    sink = probe("ProbeSink", feeder.topic)
    group = f"group-of-{sink.name}"
    sink.create_running({"consumer.override.group.id": group})
    caught_up(feeder, sink, 30)
    observer = probe("ProbeSink", feeder.topic).create({"consumer.override.group.id": group}, initial_state="STOPPED")
    assert positions_of(observer) == {0: 30}, "the group is the one that was named"

    sink.stop()
    assert sink.alter((at(sink.topic, 0), {"kafka_offset": 20})).status_code == 200
    assert positions_of(sink) == positions_of(observer) == {0: 20}
    sink.ask("resume")
    assert [offset for _, offset, _ in sink.wait_out(40)[30:]] == list(range(20, 30))
    sink.stop()
    assert modify(sink, RESET).status_code == 200
    assert sink.offsets() == observer.offsets() == []
    sink.ask("resume")
    assert len(sink.wait_out(70)) == 70

    sink.stop()
    sink.request("PATCH", "/config", {"consumer.override.group.id": None})
    assert sink.offsets() == [], "the group connect-<name> was never used"


# -- STOPPED


def assert_stopped(made: Probe) -> None:
    """STOPPED everywhere, without a trace of tasks."""
    status = made.wait("STOPPED", tasks=0)
    assert "trace" not in status["connector"]
    assert made.tasks() == []
    info = made.request("GET").json()
    assert info["tasks"] == []
    assert made.request("GET", "/tasks/0/status").status_code == 404


def test_can_stop_a_running_connector(probe: MakeProbe) -> None:
    source = probe().create_running(tasks=3)
    source.ask("stop")
    assert_stopped(source)
    source.wait_counts({"start": 1, "stop": 1, "task.start": 3, "task.stop": 3})


def test_can_stop_a_paused_connector(probe: MakeProbe) -> None:
    source = probe().create_running()
    source.ask("pause")
    source.wait("PAUSED")
    source.ask("stop")
    assert_stopped(source)
    source.wait_counts({"start": 1, "stop": 1, "task.start": 1, "task.stop": 1})


def test_can_stop_a_stopped_connector(probe: MakeProbe) -> None:
    source = probe().create_running()
    for _ in range(3):
        source.ask("stop")
        assert_stopped(source)
    source.wait_counts({"start": 1, "stop": 1, "task.start": 1, "task.stop": 1})


def test_can_delete_a_stopped_connector(probe: MakeProbe) -> None:
    source = probe().create_running()
    source.stop()
    assert source.request("DELETE").status_code == 204
    assert source.request("GET").status_code == 404
    wait_until(lambda: source.request("GET", "/status").status_code == 404, "its status is gone")
    source.wait_counts({"start": 1, "stop": 1, "task.start": 1, "task.stop": 1})


def test_cannot_see_tasks_of_a_stopped_connector_but_its_configuration(probe: MakeProbe) -> None:
    source = probe().create_running(tasks=2)
    source.stop()
    assert_stopped(source)
    assert source.request("GET", "/config").json() == {**source.config, "name": source.name}
    expanded = source.worker.http.get("/connectors?expand=status&expand=info").json()[source.name]
    assert expanded["status"]["tasks"] == expanded["info"]["tasks"] == []
    assert message(source.request("POST", "/tasks/0/restart"), 404) == f"Unknown task: {source.name}-0"


def test_can_resume_a_stopped_connector(probe: MakeProbe) -> None:
    source = probe().create_running(tasks=2)
    source.stop()
    source.ask("resume")
    source.wait("RUNNING", tasks=2)
    source.wait_counts({"start": 2, "stop": 1, "task.start": 4, "task.stop": 2})


def test_can_pause_a_stopped_connector_which_then_has_no_tasks(probe: MakeProbe) -> None:
    source = probe().create_running(tasks=2)
    source.stop()
    source.ask("pause")
    source.wait("PAUSED", tasks=0)
    assert source.tasks() == []
    source.ask("resume")
    source.wait("RUNNING", tasks=2)


STATES = {"pause": "PAUSED", "resume": "RUNNING", "stop": "STOPPED"}


def test_all_six_transitions_each_asked_for_twice(probe: MakeProbe) -> None:
    source = probe().create_running(tasks=2)
    tasks, walk = 2, ["resume", "pause", "resume", "stop", "pause", "stop", "resume"]
    assert set(itertools.pairwise(walk)) == set(itertools.permutations(STATES, 2)), "every transition is walked"
    for before, verb in itertools.pairwise(walk):
        tasks = 0 if verb == "stop" or (before, verb) == ("stop", "pause") else 2
        for _ in range(2):
            source.ask(verb)
            source.wait(STATES[verb], tasks=tasks)
            assert len(source.tasks()) == tasks, (before, verb)


def test_stopping_a_failed_connector_updates_its_state_to_stopped(probe: MakeProbe) -> None:
    source = probe().create_with_trouble({"fail": "start"})
    source.wait_states("FAILED")
    source.ask("stop")
    assert_stopped(source)
    source.heal()
    source.ask("resume")
    source.wait("RUNNING")


def test_stopping_a_connector_with_failed_tasks_forgets_them(probe: MakeProbe) -> None:
    source = probe().create_with_trouble({"fail": "task.start"}, tasks=2)
    source.wait_states("RUNNING", "FAILED", "FAILED")
    source.ask("stop")
    assert_stopped(source)
    source.heal()
    source.ask("resume")
    source.wait("RUNNING", tasks=2)


def test_a_connector_that_fails_while_it_is_stopped_is_stopped(probe: MakeProbe) -> None:
    source = probe().create_running({"fail": "stop,task.stop"})
    source.ask("stop")
    assert_stopped(source)
    assert source.counts()["stop"] == 1


def test_can_resume_a_connector_that_failed_before_and_during_its_stop(probe: MakeProbe) -> None:
    source = probe().create_with_trouble({"fail": "task_configs,stop"})
    source.wait_states("FAILED")
    source.ask("stop")
    assert_stopped(source)
    source.heal()
    source.ask("resume")
    source.wait("RUNNING")


def test_a_stopped_connector_cannot_make_new_tasks(probe: MakeProbe) -> None:
    source = probe().create_running({"reconfigure": "stop"})
    asked = source.count("task_configs")
    source.ask("stop")
    assert_stopped(source)
    probe().create_running()
    assert_stopped(source)
    assert source.count("task_configs") == asked


def test_a_stopped_connector_that_is_reconfigured_stays_stopped_and_comes_back_with_the_new_configuration(
    probe: MakeProbe,
) -> None:
    source = probe().create_running()
    source.stop()
    new = {**source.config, "name": source.name, "tasks.max": "2", "tasks.made": "2"}
    assert source.request("PUT", "/config", new).status_code == 200
    assert_stopped(source)
    assert source.count("start") == 1
    source.ask("resume")
    source.wait("RUNNING", tasks=2)


@standalone_only("it looks into the SQLite store; tests/distributed/test_cluster.py looks into the config topic")
def test_the_stopped_state_is_recorded_so_that_older_workers_pause(probe: MakeProbe) -> None:
    source = probe().create_running()
    source.ask("stop")
    path = source.worker.data_dir / "penstock.db"
    query = "SELECT key, value FROM log_records WHERE log = 'configs' ORDER BY position DESC LIMIT 2"
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        newest = {bytes(key).decode(): json.loads(value) for key, value in database.execute(query)}
    assert newest == {
        f"target-state-{source.name}": {"state": "PAUSED", "state.v2": "STOPPED"},
        f"commit-{source.name}": {"tasks": 0},
    }


# -- all of it survives kill -9


@pytest.fixture(scope="module")
def survivors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Probe]]:
    """Connectors of a worker that was killed right after its last answer, and started again."""
    skip_on_cluster("its only worker is killed; tests/distributed/test_faults.py kills workers of a cluster")
    folder = tmp_path_factory.mktemp("killed")
    with PenstockProcess(folder / "worker", SETTINGS) as worker:
        wait_for_spark(worker, folder)
        feeder = Probe(worker, folder).create_running({"count": "30"})
        made = {"source": Probe(worker, folder).create_running({"count": "30"}, tasks=1)}
        made["sink"] = Probe(worker, folder, "ProbeSink", feeder.topic).create_running()
        wait_until(lambda: next_of(made["source"]) == {0: 30}, "the source is done")
        caught_up(feeder, made["sink"], 30)
        made["source"].ask("stop")
        made["sink"].ask("stop")
        assert made["source"].alter(({"task": 0}, {"next": 10})).status_code == 200
        assert made["sink"].alter((at(feeder.topic, 0), {"kafka_offset": 25})).status_code == 200
        made["stopping"] = Probe(worker, folder).create_running({"slow": "stop,task.stop"})
        made["stopping"].ask("stop")
        worker.restart()
        wait_for_spark(worker, folder)
        yield made


def test_a_stopped_connector_is_stopped_after_kill_9(survivors: dict[str, Probe]) -> None:
    assert_stopped(survivors["source"])
    assert survivors["source"].count("start") == 1


def test_a_connector_that_was_still_stopping_is_stopped_after_kill_9(survivors: dict[str, Probe]) -> None:
    assert_stopped(survivors["stopping"])
    assert survivors["stopping"].counts()["start"] == 1


def test_altered_offsets_survive_kill_9_and_are_used(survivors: dict[str, Probe]) -> None:
    source, sink = survivors["source"], survivors["sink"]
    assert (next_of(source), positions_of(sink)) == ({0: 10}, {0: 25})
    sink.ask("resume")
    assert [offset for _, offset, _ in sink.wait_out(35)[30:]] == [25, 26, 27, 28, 29]
    source.ask("resume")
    wait_until(lambda: next_of(source) == {0: 30}, "the source went on from its altered offset")

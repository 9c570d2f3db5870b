"""A standalone worker whose topics are in Kafka: the same connectors, nothing else changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.kafka import KafkaBroker
from tests.support.kafka_clients import KafkaClients
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

STRINGS = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
}


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    with KafkaBroker() as broker:
        yield broker


@pytest.fixture(scope="module")
def kafka(broker: KafkaBroker) -> KafkaClients:
    return KafkaClients(broker.bootstrap)


@pytest.fixture(scope="module")
def worker(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    settings = {"bootstrap.servers": broker.bootstrap, "consumer.metadata.max.age.ms": "500", **STRINGS}
    with PenstockProcess(tmp_path_factory.mktemp("worker"), settings) as worker:
        yield worker


def lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def wait_lines(file: Path, wanted: list[str], seconds: float = 120.0) -> None:
    wait_until(lambda: len(lines(file)) >= len(wanted), f"{len(wanted)} lines in {file}", seconds)
    assert lines(file) == wanted


def test_a_file_goes_through_kafka_into_another(worker: PenstockProcess, kafka: KafkaClients, tmp_path: Path) -> None:
    wanted = [f"line {n}" for n in range(5000)]
    (tmp_path / "in").write_text("\n".join(wanted) + "\n")
    worker.create("in", {"connector.class": "FileStreamSource", "file": str(tmp_path / "in"), "topic": "story"})
    worker.create("out", {"connector.class": "FileStreamSink", "file": str(tmp_path / "out"), "topics": "story"})
    wait_lines(tmp_path / "out", wanted)
    assert kafka.values("story", 5000) == [line.encode() for line in wanted]
    wait_until(lambda: kafka.positions("connect-out") == {("story", 0): 5000}, "the group's position")
    assert kafka.group_state("connect-out") == "EMPTY"
    assert worker.http.get("/connectors/out/offsets").json() == {
        "offsets": [{"partition": {"kafka_topic": "story", "kafka_partition": 0}, "offset": {"kafka_offset": 5000}}]
    }
    assert worker.http.get("/connectors/in/topics").json() == {"in": {"topics": ["story"]}}
    assert worker.http.get("/connectors/out/topics").json() == {"out": {"topics": ["story"]}}


def test_new_topics_and_partitions_are_found_while_running(
    worker: PenstockProcess, kafka: KafkaClients, tmp_path: Path
) -> None:
    kafka.produce(kafka.make("found-a"), [b"a0"])
    config = {"connector.class": "FileStreamSink", "file": str(tmp_path / "out"), "topics.regex": "found-.*"}
    worker.create("regex", config)
    wait_lines(tmp_path / "out", ["a0"])
    kafka.produce(kafka.make("found-b"), [b"b0"])
    wait_lines(tmp_path / "out", ["a0", "b0"])
    kafka.grow("found-a", 3)
    wait_until(lambda: kafka.topics()["found-a"] == 3, "the new partitions")
    kafka.produce("found-a", [b"a2"], partition=2)
    wait_lines(tmp_path / "out", ["a0", "b0", "a2"])
    worker.http.delete("/connectors/regex")


def test_a_pattern_that_fits_no_topic_at_first_finds_those_that_come(broker: KafkaBroker, tmp_path: Path) -> None:
    kafka, out = KafkaClients(broker.bootstrap), tmp_path / "out"
    settings = {"bootstrap.servers": broker.bootstrap, "consumer.metadata.max.age.ms": "500", **STRINGS}
    with PenstockProcess(tmp_path / "worker", settings) as alone:
        alone.create("hopes", {"connector.class": "FileStreamSink", "file": str(out), "topics.regex": "hoped-for-.*"})
        alone.wait_state("hopes", "RUNNING", 1)
        kafka.produce(kafka.make("hoped-for-a"), [b"a0"])
        wait_lines(out, ["a0"])


def test_records_deleted_before_a_sink_has_read_them_are_told_in_the_log(
    worker: PenstockProcess, kafka: KafkaClients, tmp_path: Path
) -> None:
    kafka.produce(kafka.make("kept-for-a-while"), [b"0", b"1"])
    config = {"connector.class": "FileStreamSink", "file": str(tmp_path / "out"), "topics": "kept-for-a-while"}
    worker.create("late", config)
    wait_lines(tmp_path / "out", ["0", "1"])
    wait_until(lambda: kafka.positions("connect-late").get(("kept-for-a-while", 0)) == 2, "the group's position")
    assert worker.http.put("/connectors/late/stop").status_code == 204
    worker.wait_state("late", "STOPPED", 0)
    kafka.produce("kept-for-a-while", [b"2", b"3", b"4"])
    kafka.delete_records("kept-for-a-while", 4)
    worker.http.put("/connectors/late/resume")
    wait_lines(tmp_path / "out", ["0", "1", "4"])
    log = worker.output.read_text()
    assert "late: offset 2 of kept-for-a-while-0 is out of range: the partition holds 4 to 5" in log
    assert "2 offsets were skipped" in log
    worker.wait_state("late", "RUNNING")
    worker.http.delete("/connectors/late")


def test_the_lag_of_a_sink_that_has_not_begun_counts_the_records_it_would_read(
    worker: PenstockProcess, kafka: KafkaClients, tmp_path: Path
) -> None:
    kafka.produce(kafka.make("untouched"), [b"0", b"1", b"2", b"3", b"4"])
    kafka.delete_records("untouched", 2)
    config = {"connector.class": "FileStreamSink", "file": str(tmp_path / "out"), "topics": "untouched"}
    latest = {**config, "consumer.override.auto.offset.reset": "latest"}
    for name, wanted in (("idle", config), ("idle-at-the-end", latest)):
        worker.http.post("/connectors", json={"name": name, "config": wanted, "initial_state": "STOPPED"})
    shown = worker.http.get("/metrics").text
    assert 'penstock_sink_record_lag{connector="idle",topic="untouched",partition="0"} 3\n' in shown
    assert 'penstock_sink_record_lag{connector="idle-at-the-end",topic="untouched",partition="0"} 0\n' in shown
    assert kafka.positions("connect-idle-at-the-end") == {}
    for name in ("idle", "idle-at-the-end"):
        worker.http.delete(f"/connectors/{name}")


def test_a_topic_made_anew_under_a_running_sink_is_read_from_its_beginning(
    worker: PenstockProcess, kafka: KafkaClients, tmp_path: Path
) -> None:
    kafka.produce(kafka.make("anew"), [b"old 0", b"old 1"])
    config = {"connector.class": "FileStreamSink", "file": str(tmp_path / "out"), "topics": "anew"}
    worker.create("anew", config)
    wait_lines(tmp_path / "out", ["old 0", "old 1"])
    wait_until(lambda: kafka.positions("connect-anew").get(("anew", 0)) == 2, "the group's position")
    kafka.delete("anew")
    kafka.produce(kafka.make("anew"), [b"new 0", b"new 1", b"new 2", b"new 3"])
    wait_until(lambda: {"new 0", "new 1", "new 2", "new 3"} <= set(lines(tmp_path / "out")), "all of the new ones")
    assert "of anew-0 is of a topic that was deleted and made anew" in worker.output.read_text()
    worker.wait_state("anew", "RUNNING")
    worker.http.delete("/connectors/anew")


def test_offsets_of_a_group_of_ones_own_are_altered_and_reset(
    worker: PenstockProcess, kafka: KafkaClients, tmp_path: Path
) -> None:
    kafka.produce(kafka.make("altered", 2), [b"0", b"1", b"2"])
    config = {
        "connector.class": "FileStreamSink",
        "file": str(tmp_path / "out"),
        "topics": "altered",
        "consumer.override.group.id": "my-group",
    }
    worker.create("own", config)
    wait_lines(tmp_path / "out", ["0", "1", "2"])
    wait_until(lambda: kafka.positions("my-group").get(("altered", 0)) == 3, "the group's position")
    place = {"kafka_topic": "altered", "kafka_partition": 0}
    refused = worker.http.patch("/connectors/own/offsets", json={"offsets": [{"partition": place, "offset": None}]})
    assert refused.status_code == 400
    assert worker.http.put("/connectors/own/stop").status_code == 204
    worker.wait_state("own", "STOPPED", 0)
    change = {"offsets": [{"partition": place, "offset": {"kafka_offset": 1}}]}
    altered = worker.http.patch("/connectors/own/offsets", json=change)
    assert (altered.status_code, altered.json()["message"]) == (
        200,
        "The offsets for this connector have been altered successfully",
    )
    assert kafka.positions("my-group") == {("altered", 0): 1}
    worker.http.put("/connectors/own/resume")
    wait_lines(tmp_path / "out", ["0", "1", "2", "1", "2"])
    worker.http.put("/connectors/own/stop")
    worker.wait_state("own", "STOPPED", 0)
    assert worker.http.delete("/connectors/own/offsets").status_code == 200
    assert kafka.positions("my-group") == {}
    assert worker.http.get("/connectors/own/offsets").json() == {"offsets": []}


def test_a_setting_that_kafkas_consumer_refuses_fails_the_task_alone(worker: PenstockProcess, tmp_path: Path) -> None:
    config = {"connector.class": "FileStreamSink", "file": str(tmp_path / "out"), "topics": "story"}
    worker.create("few", {**config, "consumer.override.max.poll.records": "-5"})

    def states() -> list[str]:
        status = worker.status("few")
        return [status["connector"]["state"], *(task["state"] for task in status["tasks"])]

    wait_until(lambda: states() == ["RUNNING", "FAILED"], "the task has failed")
    text = "Invalid value -5 for configuration max.poll.records: Value must be at least 1"
    assert text in worker.status("few")["tasks"][0]["trace"]
    refused = worker.http.get("/connectors/few/offsets")
    assert (refused.status_code, refused.json()["message"]) == (400, text)
    assert worker.http.delete("/connectors/few").status_code == 204


def test_bad_records_go_to_a_dead_letter_topic(worker: PenstockProcess, kafka: KafkaClients, tmp_path: Path) -> None:
    kafka.produce(kafka.make("mixed"), [b'{"a":1}', b"not json", b'{"a":2}'])
    config = {
        "connector.class": "FileStreamSink",
        "file": str(tmp_path / "out"),
        "topics": "mixed",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": "dead",
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }
    worker.create("careful", config)
    wait_lines(tmp_path / "out", ["{a=1}", "{a=2}"])
    [letter] = kafka.messages("dead", 1)
    assert letter.value() == b"not json"
    assert dict(letter.headers())["__connect.errors.topic"] == b"mixed"
    assert kafka.topics()["dead"] == 1
    [shown] = worker.http.get("/connectors/careful/dead-letters").json()["dead_letters"]
    assert (shown["id"], shown["replayed"]) == ("0-0", False)
    mended = {"dead_letters": [{"id": "0-0", "value": {"text": '{"a":3}'}}]}
    replayed = worker.http.post("/connectors/careful/dead-letters/replay", json=mended)
    assert replayed.json() == {"replayed": 1, "failed": 0}
    wait_lines(tmp_path / "out", ["{a=1}", "{a=2}", "{a=3}"])
    [shown] = worker.http.get("/connectors/careful/dead-letters").json()["dead_letters"]
    assert shown["replayed"]


def test_topics_are_created_as_the_connectors_groups_say(
    worker: PenstockProcess, kafka: KafkaClients, tmp_path: Path
) -> None:
    (tmp_path / "in").write_text("x\n")
    config = {
        "connector.class": "FileStreamSource",
        "file": str(tmp_path / "in"),
        "topic": "grouped-one",
        "topic.creation.groups": "grouped",
        "topic.creation.default.partitions": "1",
        "topic.creation.default.replication.factor": "1",
        "topic.creation.grouped.include": "grouped-.*",
        "topic.creation.grouped.partitions": "4",
    }
    worker.create("grouped", config)
    wait_until(lambda: kafka.topics().get("grouped-one") == 4, "the topic with four partitions")
    failing = {**config, "topic": "wide", "topic.creation.default.replication.factor": "3"}
    worker.create("failing", failing)
    wait_until(lambda: worker.status("failing")["tasks"][0]["state"] == "FAILED", "the task failed")
    assert "Task failed to create new topic wide. Ensure that" in worker.status("failing")["tasks"][0]["trace"]


@pytest.mark.parametrize("names_admin", [True, False], ids=["for all clients", "not for the admin client"])
def test_a_connector_can_have_a_cluster_of_its_own(
    worker: PenstockProcess, kafka: KafkaClients, tmp_path: Path, names_admin: bool
) -> None:
    wanted = [f"line {n}" for n in range(1000)]
    (tmp_path / "in").write_text("\n".join(wanted) + "\n")
    with KafkaBroker() as other:
        elsewhere = KafkaClients(other.bootstrap)
        admin = {"admin.override.bootstrap.servers": other.bootstrap} if names_admin else {}
        source = {
            "connector.class": "FileStreamSource",
            "file": str(tmp_path / "in"),
            "topic": "away",
            "producer.override.bootstrap.servers": other.bootstrap,
            **admin,
        }
        sink = {
            "connector.class": "FileStreamSink",
            "file": str(tmp_path / "out"),
            "topics": "away",
            "consumer.override.bootstrap.servers": other.bootstrap,
            **admin,
        }
        worker.create("away-in", source)
        worker.create("away-out", sink)
        wait_lines(tmp_path / "out", wanted)
        assert elsewhere.values("away", 1000) == [line.encode() for line in wanted]
        wait_until(lambda: elsewhere.positions("connect-away-out") == {("away", 0): 1000}, "its position there")
        assert "away" not in kafka.topics()
        for name in ("away-in", "away-out"):
            assert worker.http.delete(f"/connectors/{name}").status_code == 204


def test_a_broker_that_dies_and_comes_back_costs_nothing(
    broker: KafkaBroker, worker: PenstockProcess, kafka: KafkaClients, tmp_path: Path
) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    with source.open("w") as file:
        worker.create("load-in", {"connector.class": "FileStreamSource", "file": str(source), "topic": "load"})
        worker.create("load-out", {"connector.class": "FileStreamSink", "file": str(out), "topics": "load"})
        written = 0
        for part in range(30):
            if part == 10:
                wait_until(lambda: len(lines(out)) >= 2000, "records flow")
                broker.kill()
            if part == 20:
                broker.start()
            for _ in range(1000):
                file.write(f"line {written}\n")
                written += 1
            file.flush()
    wanted = [f"line {n}" for n in range(written)]
    wait_until(lambda: lines(out)[-1:] == wanted[-1:], "the last line", 120)
    assert lines(out) == wanted
    worker.wait_state("load-in", "RUNNING")
    worker.wait_state("load-out", "RUNNING")


def test_a_killed_worker_loses_nothing(
    broker: KafkaBroker, worker: PenstockProcess, kafka: KafkaClients, tmp_path: Path
) -> None:
    wanted = [f"{n:090d}" for n in range(200_000)]
    (tmp_path / "in").write_text("\n".join(wanted) + "\n")
    worker.create("kill-in", {"connector.class": "FileStreamSource", "file": str(tmp_path / "in"), "topic": "kill"})
    worker.create("kill-out", {"connector.class": "FileStreamSink", "file": str(tmp_path / "out"), "topics": "kill"})
    wait_until(lambda: (tmp_path / "out").exists() and (tmp_path / "out").stat().st_size > 100_000, "records flow")
    worker.restart()
    wait_until(lambda: lines(tmp_path / "out")[-1:] == wanted[-1:], "the last line", 120)
    found = lines(tmp_path / "out")
    assert set(found) == set(wanted)
    records = [int(value) for value in kafka.values("kill", len(found))]
    assert list(dict.fromkeys(records)) == list(range(200_000)), "in order, though some may be there twice"
    wait_until(
        lambda: worker.http.get("/connectors/kill-out/offsets").json()["offsets"][0]["offset"]["kafka_offset"]
        == len(found),
        "each record of the topic is in the file once",
    )

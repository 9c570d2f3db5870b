"""KIP-980: connectors created PAUSED or STOPPED, with offsets of their own, from requests and from files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.seeds.conftest import MakeProbe, skip_on_cluster, standalone_only
from tests.support.probes import SETTINGS, Probe, message, wait_for_spark
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

NEVER_STARTED = {"start": 0, "stop": 0, "task.start": 0, "task.stop": 0}


def next_of(source: Probe) -> dict[int, int]:
    """The offsets of a probe source: task → next number."""
    return {entry["partition"]["task"]: entry["offset"]["next"] for entry in source.offsets()}


def created_with(made: Probe, **fields: Any) -> Any:
    """The answer to ``POST /connectors`` with these fields beside name and configuration."""
    return made.worker.http.post("/connectors", json={"name": made.name, "config": made.config, **fields})


def assert_not_there(made: Probe) -> None:
    assert made.request("GET").status_code == 404
    assert made.request("GET", "/offsets").status_code == 404
    assert made.name not in made.worker.http.get("/connectors").json()


# -- initial_state


@pytest.mark.parametrize("state", ["PAUSED", "STOPPED"])
def test_can_create_a_connector_in_this_state_and_no_tasks_are_spawned(probe: MakeProbe, state: str) -> None:
    source = probe().create({"count": "10"}, initial_state=state)
    source.wait(state, tasks=0)
    probe().create_running()
    assert source.states() == [state]
    assert source.tasks() == []
    source.wait_counts(NEVER_STARTED)


def test_creating_a_connector_without_a_state_results_in_a_running_one(probe: MakeProbe) -> None:
    probe().create().wait("RUNNING")


def test_a_connector_can_be_created_running_or_with_a_null_state(probe: MakeProbe) -> None:
    probe().create(initial_state="RUNNING").wait("RUNNING")
    probe().create(initial_state=None).wait("RUNNING")


@pytest.mark.parametrize(("written", "state"), [("paused", "PAUSED"), ("Stopped", "STOPPED"), ("rUNNING", "RUNNING")])
def test_the_state_may_be_written_in_any_case(probe: MakeProbe, written: str, state: str) -> None:
    probe().create(initial_state=written).wait(state, tasks=None)


@pytest.mark.parametrize(
    "state", ["STARTED", "FAILED", "DESTROYED", "", "RUNNING ", 1, ["PAUSED"], {"state": "PAUSED"}]
)
def test_an_invalid_state_is_a_bad_request_that_creates_nothing(probe: MakeProbe, state: Any) -> None:
    source = probe()
    assert message(created_with(source, initial_state=state), 400)
    assert_not_there(source)


@pytest.mark.parametrize("state", ["PAUSED", "STOPPED"])
def test_can_resume_a_connector_created_in_this_state(probe: MakeProbe, state: str) -> None:
    source = probe().create({"tasks.max": "2", "tasks.made": "2"}, initial_state=state)
    source.wait(state, tasks=0)
    source.ask("resume")
    source.wait("RUNNING", tasks=2)
    source.wait_counts({"start": 1, "stop": 0, "task.start": 2, "task.stop": 0})


@pytest.mark.parametrize("state", ["PAUSED", "STOPPED"])
def test_can_delete_a_connector_created_in_this_state(probe: MakeProbe, state: str) -> None:
    source = probe().create(initial_state=state)
    source.wait(state, tasks=0)
    assert source.request("DELETE").status_code == 204
    assert_not_there(source)
    wait_until(lambda: source.request("GET", "/status").status_code == 404, "its status is gone")
    source.wait_counts(NEVER_STARTED)


def test_a_state_of_a_deleted_connector_is_not_inherited_by_the_next_of_its_name(probe: MakeProbe) -> None:
    source = probe().create(initial_state="STOPPED")
    source.request("DELETE")
    source.create()
    source.wait("RUNNING")


@pytest.mark.parametrize("fields", [{}, {"initial_state": "STOPPED"}])
def test_a_second_connector_of_the_same_name_is_a_conflict_that_changes_nothing(
    probe: MakeProbe, fields: dict[str, str]
) -> None:
    source = probe().create_running()
    assert message(created_with(source, **fields), 409) == f"Connector {source.name} already exists"
    assert source.states() == ["RUNNING", "RUNNING"]


def test_can_modify_the_offsets_of_a_source_connector_created_stopped(probe: MakeProbe) -> None:
    source = probe().create({"count": "10"}, initial_state="STOPPED")
    assert source.alter(({"task": 0}, {"next": 5})).status_code == 200
    reader = probe("ProbeSink", source.topic).create_running()
    source.ask("resume")
    assert [value for _, _, value in reader.wait_out(5)] == ["0:5", "0:6", "0:7", "0:8", "0:9"]
    wait_until(lambda: next_of(source) == {0: 10}, "the source is done")
    assert len(reader.out()) == 5


def test_can_modify_the_offsets_of_a_sink_connector_created_stopped(probe: MakeProbe) -> None:
    feeder = probe().create_running({"count": "10"})
    wait_until(lambda: next_of(feeder) == {0: 10}, "ten records")
    sink = probe("ProbeSink", feeder.topic).create(initial_state="STOPPED")
    assert sink.alter(({"kafka_topic": feeder.topic, "kafka_partition": 0}, {"kafka_offset": 5})).status_code == 200
    sink.ask("resume")
    assert [offset for _, offset, _ in sink.wait_out(5)] == [5, 6, 7, 8, 9]


@pytest.mark.parametrize(
    "how", [lambda p: p.alter(({"task": 0}, {"next": 5})), lambda p: p.request("DELETE", "/offsets")]
)
def test_cannot_modify_the_offsets_of_a_connector_created_paused(probe: MakeProbe, how: Any) -> None:
    source = probe().create(initial_state="PAUSED")
    assert "must be in the STOPPED state" in message(how(source), 400)


def test_a_connector_can_be_migrated_with_its_offsets(probe: MakeProbe) -> None:
    old = probe().create_running({"count": "10"})
    wait_until(lambda: next_of(old) == {0: 10}, "the old connector has done its part")
    old.stop()
    offsets = old.request("GET", "/offsets").json()
    new = probe(topic=old.topic).create({"count": "20"}, initial_state="STOPPED")
    assert new.request("PATCH", "/offsets", offsets).status_code == 200
    reader = probe("ProbeSink", old.topic).create_running()
    new.ask("resume")
    assert old.request("DELETE").status_code == 204
    assert [value for _, _, value in reader.wait_out(20)] == [f"0:{number}" for number in range(20)]


def test_put_config_knows_no_initial_state(probe: MakeProbe) -> None:
    source = probe()
    config = {**source.config, "initial_state": "STOPPED"}
    assert source.request("PUT", "/config", config).status_code == 201
    source.wait("RUNNING")


# -- offsets in the creation request


def test_offsets_given_at_creation_are_applied_before_the_first_start_of_a_source(probe: MakeProbe) -> None:
    source = probe()
    source.create({"count": "10"}, offsets=[{"partition": {"task": 0}, "offset": {"next": 7}}])
    reader = probe("ProbeSink", source.topic).create_running()
    assert [value for _, _, value in reader.wait_out(3)] == ["0:7", "0:8", "0:9"]
    assert source.calls("alter_offsets")[0]["offsets"] == [[{"task": 0}, {"next": 7}]]
    lines = source.journal.read_text().splitlines()
    calls = [json.loads(line)["call"] for line in lines]
    assert calls.index("alter_offsets") < calls.index("start")


def test_offsets_given_at_creation_are_applied_before_the_first_start_of_a_sink(probe: MakeProbe) -> None:
    feeder = probe().create_running({"count": "10"})
    wait_until(lambda: next_of(feeder) == {0: 10}, "ten records")
    partition = {"kafka_topic": feeder.topic, "kafka_partition": 0}
    sink = probe("ProbeSink", feeder.topic).create(offsets=[{"partition": partition, "offset": {"kafka_offset": 8}}])
    assert [offset for _, offset, _ in sink.wait_out(2)] == [8, 9]


def test_offsets_and_a_state_can_be_given_together(probe: MakeProbe) -> None:
    entry = {"partition": {"task": 0}, "offset": {"next": 7}}
    source = probe().create({"count": "10"}, initial_state="STOPPED", offsets=[entry])
    source.wait("STOPPED", tasks=0)
    assert source.offsets() == [entry]
    source.ask("resume")
    wait_until(lambda: next_of(source) == {0: 10}, "the source went on from there")


ALTERED = "The offsets for this connector have been altered successfully"
MANAGED = (
    "The Connect framework-managed offsets for this connector have been altered successfully. However, if this "
    "connector manages offsets externally, they will need to be manually altered in the system that the connector uses."
)


@pytest.mark.parametrize(
    ("field", "checks", "text"), [("initial_offsets", "true", ALTERED), ("offsets", "false", MANAGED)]
)
def test_initial_offsets_take_the_place_of_those_of_an_earlier_connector(
    probe: MakeProbe, field: str, checks: str, text: str
) -> None:
    """KIP-995."""
    source = probe().create_running({"count": "10", "alter.offsets": checks}, tasks=2)
    wait_until(lambda: next_of(source) == {0: 10, 1: 10}, "both tasks have come to their end")
    assert source.request("DELETE").status_code == 204
    entry = {"partition": {"task": 0}, "offset": {"next": 7}}
    answer = created_with(source, initial_state="STOPPED", **{field: [entry]})
    assert answer.status_code == 201, answer.text
    assert answer.json()["offsets_status"] == text
    assert source.offsets() == [entry]
    assert "offsets_status" not in source.request("GET").json()
    assert source.calls("alter_offsets")[-1]["offsets"] == [[{"task": 1}, None], [{"task": 0}, {"next": 7}]]


def test_initial_offsets_take_the_place_of_those_of_an_earlier_sink(probe: MakeProbe) -> None:
    """KIP-995."""
    partitions = {"topic.creation.default.partitions": "2", "topic.creation.default.replication.factor": "1"}
    feeder = probe().create_running({"count": "10", **partitions}, tasks=2)
    wait_until(lambda: next_of(feeder) == {0: 10, 1: 10}, "twenty records")
    sink = probe("ProbeSink", feeder.topic).create()
    sink.wait_out(20)
    assert sink.request("DELETE").status_code == 204
    entry = {"partition": {"kafka_topic": feeder.topic, "kafka_partition": 1}, "offset": {"kafka_offset": 0}}
    assert created_with(sink, initial_state="STOPPED", initial_offsets=[entry]).status_code == 201
    assert sink.offsets() == [entry]


def test_offsets_given_at_creation_are_not_overwritten_by_an_earlier_connector_that_still_ends(
    probe: MakeProbe,
) -> None:
    feeder = probe().create_running({"count": "10"})
    wait_until(lambda: next_of(feeder) == {0: 10}, "ten records")
    sink = probe("ProbeSink", feeder.topic).create({"slow": "task.put"})
    wait_until(lambda: sink.count("task.put") == 1, "the first batch is on its way")
    assert sink.request("DELETE").status_code == 204
    partition = {"kafka_topic": feeder.topic, "kafka_partition": 0}
    sink.create({"slow": ""}, offsets=[{"partition": partition, "offset": {"kafka_offset": 8}}])
    assert [offset for _, offset, _ in sink.wait_out(12)] == [*range(10), 8, 9]


GOOD = {"partition": {"task": 0}, "offset": {"next": 7}}


@pytest.mark.parametrize(
    ("offsets", "text"),
    [
        ([], "Partitions / offsets need to be provided"),
        ({}, "Cannot deserialize value"),
        ([GOOD, 1], "Cannot construct instance"),
        ([GOOD, {"partition": None, "offset": {"next": 1}}], "cannot be null or missing"),
        ([GOOD, {"partition": {"task": 1}, "offset": {"next": [1]}}], "Offsets may only contain primitive types"),
        ([GOOD, {"partition": {"task": 1}, "offset": {"next": 1}, "more": 1}], "Unrecognized field"),
    ],
)
def test_an_invalid_offset_creates_nothing(probe: MakeProbe, offsets: Any, text: str) -> None:
    source = probe()
    assert text in message(created_with(source, offsets=offsets), 400)
    assert_nothing_was_left_by(source)


def test_an_invalid_sink_offset_creates_nothing(probe: MakeProbe) -> None:
    sink = probe("ProbeSink")
    good = {"partition": {"kafka_topic": "t", "kafka_partition": 0}, "offset": {"kafka_offset": 8}}
    bad = {"partition": {"kafka_topic": "t", "kafka_partition": 1}, "offset": {"kafka_offset": "x"}}
    assert "need to be integers" in message(created_with(sink, offsets=[good, bad]), 400)
    assert_nothing_was_left_by(sink)


@pytest.mark.parametrize(
    ("answer", "text"),
    [("unsupported", "doesn't support external modification"), ("raise", "these offsets are refused")],
)
def test_offsets_that_the_connector_refuses_create_nothing(probe: MakeProbe, answer: str, text: str) -> None:
    source = probe()
    source.config["alter.offsets"] = answer
    assert text in message(created_with(source, offsets=[GOOD]), 400)
    assert_nothing_was_left_by(source)


def test_an_invalid_configuration_leaves_no_offsets(probe: MakeProbe) -> None:
    source = probe()
    broken = {**source.config, "tasks.max": "none"}
    answer = source.worker.http.post("/connectors", json={"name": source.name, "config": broken, "offsets": [GOOD]})
    assert message(answer, 400)
    assert_nothing_was_left_by(source)


def test_offsets_for_a_name_that_exists_change_nothing(probe: MakeProbe) -> None:
    source = probe().create_running({"count": "10"})
    wait_until(lambda: next_of(source) == {0: 10}, "ten records")
    assert created_with(source, offsets=[GOOD]).status_code == 409
    assert next_of(source) == {0: 10}


def assert_nothing_was_left_by(made: Probe) -> None:
    """Neither a connector nor offsets that the next connector of this name would find."""
    assert_not_there(made)
    made.config["alter.offsets"] = "true"
    made.create(initial_state="STOPPED")
    assert made.offsets() == []


# -- delete with offsets


def test_deleting_a_connector_keeps_its_offsets(probe: MakeProbe) -> None:
    source = probe().create_running({"count": "10"})
    wait_until(lambda: next_of(source) == {0: 10}, "ten records")
    assert source.request("DELETE").status_code == 204
    source.create(initial_state="STOPPED")
    assert next_of(source) == {0: 10}


@pytest.mark.parametrize("before", [None, "pause", "stop"])
def test_deleting_a_source_with_its_offsets_forgets_them(probe: MakeProbe, before: str | None) -> None:
    source = probe().create_running({"count": "10"})
    wait_until(lambda: next_of(source) == {0: 10}, "ten records")
    if before:
        source.ask(before)
    answer = source.request("DELETE", "?includeOffsets=true")
    assert (answer.status_code, answer.content) == (204, b"")
    assert_not_there(source)
    assert source.calls("alter_offsets")[-1]["offsets"] == [[{"task": 0}, None]]
    source.create(initial_state="STOPPED")
    assert source.offsets() == []


def test_deleting_a_sink_with_its_offsets_forgets_them(probe: MakeProbe) -> None:
    feeder = probe().create_running({"count": "10"})
    sink = probe("ProbeSink", feeder.topic).create_running()
    sink.wait_out(10)
    assert sink.request("DELETE", "?includeOffsets=true").status_code == 204
    sink.create()
    assert [offset for _, offset, _ in sink.wait_out(20)] == [*range(10), *range(10)]


@pytest.mark.parametrize(("verb", "state", "tasks"), [("resume", "RUNNING", 1), ("pause", "PAUSED", 1)])
def test_a_connector_that_refuses_to_forget_its_offsets_stays_as_it_was(
    probe: MakeProbe, verb: str, state: str, tasks: int
) -> None:
    source = probe().create_running({"count": "10", "alter.offsets": "raise"})
    wait_until(lambda: next_of(source) == {0: 10}, "ten records")
    source.ask(verb)
    source.wait(state, tasks=tasks)
    assert "these offsets are refused" in message(source.request("DELETE", "?includeOffsets=true"), 400)
    assert next_of(source) == {0: 10}
    source.wait(state, tasks=None)
    source.ask("resume")
    source.wait("RUNNING")
    assert source.request("DELETE").status_code == 204


def test_deleting_an_unknown_connector_with_its_offsets_is_not_found(probe: MakeProbe) -> None:
    unknown = probe()
    answer = unknown.request("DELETE", "?includeOffsets=true")
    assert message(answer, 404) == f"Connector {unknown.name} not found"


# -- connector files, and what a standalone worker remembers


class Files:
    """Connector files of every shape, each with a probe that watches its connector."""

    def __init__(self, worker: PenstockProcess, folder: Path) -> None:
        self.folder = folder
        self.flat, self.nested, self.stopped, self.properties, self.offsets = (Probe(worker, folder) for _ in range(5))
        for probe in (self.flat, self.nested, self.stopped, self.properties, self.offsets):
            probe.config |= {"count": "10"}

    def write(self) -> list[Path]:
        """Write them all, under names that say nothing, or lie."""
        offsets = [{"partition": {"task": 0}, "offset": {"next": 6}}]
        return [
            self._file("flat.properties", json.dumps({"name": self.flat.name, **self.flat.config})),
            self._file("nested", self._request(self.nested)),
            self._file("stopped.txt", self._request(self.stopped, initial_state="stopped", ignored={"x": 1})),
            self._file("properties.json", self._properties(self.properties)),
            self._file("offsets.json", self._request(self.offsets, offsets=offsets, initial_state="PAUSED")),
        ]

    def _request(self, probe: Probe, **more: Any) -> str:
        return json.dumps({"name": probe.name, "config": probe.config, **more}, indent=2)

    def _properties(self, probe: Probe) -> str:
        lines = [f"{key} = {value}" for key, value in {"name": probe.name, **probe.config}.items()]
        return "# a comment\n" + "\n".join(lines) + "\n"

    def _file(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Files]:
    """A worker that was started with connector files."""
    skip_on_cluster("workers of a cluster take no connector files")
    folder = tmp_path_factory.mktemp("files")
    worker = PenstockProcess(folder / "worker", SETTINGS)
    made = Files(worker, folder)
    worker.files = made.write()
    with worker:
        wait_for_spark(worker, folder)
        yield made


def test_can_use_json_files_with_connector_key_value_configurations(files: Files) -> None:
    files.flat.wait("RUNNING")
    assert files.flat.request("GET", "/config").json() == {"name": files.flat.name, **files.flat.config}


def test_can_use_json_files_in_the_format_of_the_creation_request(files: Files) -> None:
    files.nested.wait("RUNNING")
    assert files.nested.request("GET", "/config").json() == {"name": files.nested.name, **files.nested.config}


def test_can_use_json_files_with_an_initial_state(files: Files) -> None:
    files.stopped.wait("STOPPED", tasks=0)
    assert files.stopped.counts() == NEVER_STARTED


def test_can_still_use_properties_files(files: Files) -> None:
    files.properties.wait("RUNNING")
    assert files.properties.request("GET", "/config").json() == {
        "name": files.properties.name,
        **files.properties.config,
    }


def test_can_use_json_files_with_offsets(files: Files) -> None:
    files.offsets.wait("PAUSED", tasks=0)
    assert next_of(files.offsets) == {0: 6}


def test_standalone_remembers_connectors_states_offsets_and_topics_and_a_file_given_again_updates(
    files: Files,
) -> None:
    worker = files.flat.worker
    wait_until(lambda: next_of(files.flat) == next_of(files.nested) == {0: 10}, "records have moved")
    files.flat.ask("stop")
    files.stopped.ask("resume")
    wait_until(lambda: next_of(files.stopped) == {0: 10}, "what was stopped moves")
    by_request = Probe(worker, files.folder).create(initial_state="PAUSED")
    for probe in (files.flat, files.stopped):
        wait_until(lambda: topics_of(probe) == [probe.topic], "its topic is known")  # noqa: B023
    files.nested.config["count"] = "20"
    files.write()
    assert worker.stop() == 0

    worker.start()
    wait_for_spark(worker, files.folder)
    everyone = [files.flat, files.nested, files.stopped, files.properties, files.offsets, by_request]
    assert sorted(worker.http.get("/connectors").json()) == sorted(probe.name for probe in everyone)
    files.flat.wait("STOPPED", tasks=0)
    by_request.wait("PAUSED", tasks=0)
    files.offsets.wait("PAUSED", tasks=0)
    files.stopped.wait("RUNNING")
    assert next_of(files.flat) == next_of(files.stopped) == {0: 10}
    assert next_of(files.offsets) == {0: 6}
    assert topics_of(files.flat) == [files.flat.topic]
    assert files.nested.request("GET", "/config").json()["count"] == "20"
    wait_until(lambda: next_of(files.nested) == {0: 20}, "the updated connector goes on from its offsets")


def topics_of(probe: Probe) -> list[str]:
    """What ``GET topics`` shows."""
    found: list[str] = probe.request("GET", "/topics").json()[probe.name]["topics"]
    return found


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"connector.class": "ProbeSource"}', "is missing the mandatory 'name' configuration"),
        ('{"name": "a", "config": {"name": "b", "connector.class": "ProbeSource"}}', "doesn't match the one specified"),
        ('{"name": "a", "config": {"connector.class": "ProbeSource"}, "initial_state": "ASLEEP"}', "initial_state"),
        ("connector.class = ProbeSource\n", "is missing the mandatory 'name' configuration"),
    ],
)
@standalone_only("workers of a cluster take no connector files")
def test_a_connector_file_that_makes_no_sense_ends_the_start_with_a_word_on_it(
    tmp_path: Path, text: str, complaint: str
) -> None:
    file = tmp_path / "connector.json"
    file.write_text(text)
    worker = PenstockProcess(tmp_path / "worker", SETTINGS, files=[file])
    try:
        worker.start(wait=False)
        assert worker.wait_for_exit() == 3
        assert complaint in worker.tail()
        assert str(file) in worker.tail().replace("\n", "")
    finally:
        worker.kill()

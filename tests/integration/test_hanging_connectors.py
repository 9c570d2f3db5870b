"""Connectors and tasks that hang: they fail or are abandoned by themselves, and nobody else notices."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import httpx2
import pytest

from tests.support.probes import SETTINGS, Probe, make_topic, message, wait_for_spark
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

LIMIT_SECONDS = 5.0
STOP_SECONDS = 2.0
FAST_SECONDS = 30.0
"""What any request of others may take at the very most on a busy machine."""
LATE_SECONDS = 120.0
"""When a limit has certainly passed on a busy machine."""

LIMITS = {
    **SETTINGS,
    "connector.call.timeout.ms": str(int(LIMIT_SECONDS * 1000)),
    "lifecycle.hook.timeout.ms": str(int(LIMIT_SECONDS * 1000)),
    "task.shutdown.graceful.timeout.ms": str(int(STOP_SECONDS * 1000)),
}

MakeProbe = Callable[..., Probe]
P = ParamSpec("P")
T = TypeVar("T")


@pytest.fixture(scope="module")
def limited_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    """A worker with small limits on which records have moved already."""
    folder = tmp_path_factory.mktemp("limited")
    with PenstockProcess(folder / "worker", LIMITS) as worker:
        wait_for_spark(worker, folder)
        make_topic(worker, "t")
        yield worker


@pytest.fixture
def probe(limited_worker: PenstockProcess, tmp_path: Path) -> Iterator[MakeProbe]:
    """Makes probes; those that were created are deleted after the test, whatever they hang in."""
    made: list[Probe] = []

    def make(kind: str = "ProbeSource", topic: str = "") -> Probe:
        made.append(Probe(limited_worker, tmp_path, kind, topic))
        return made[-1]

    yield make
    for one in made:
        one.request("DELETE")


@contextmanager
def quickly(what: str, seconds: float = FAST_SECONDS) -> Iterator[None]:
    """Fails when the block takes longer."""
    began = time.monotonic()
    yield
    took = time.monotonic() - began
    assert took < seconds, f"{what} took {took:.1f} s"


def assert_others_are_fast(probe: MakeProbe) -> None:
    """Another connector is made, moves records, is paused, resumed and deleted, and the API answers."""
    other = probe()
    http = other.worker.http
    with quickly("the work of another connector"):
        assert http.get("/health").status_code == 200
        other.create_running({"count": "10"})
        wait_until(other.offsets, "another connector moves records")
        other.ask("pause")
        other.wait("PAUSED")
        other.ask("resume")
        other.wait("RUNNING")
        assert other.request("DELETE").status_code == 204
        assert other.name not in http.get("/connectors").json()


def in_background(request: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> Future[T]:
    """Begin a request that will take long."""
    pool = ThreadPoolExecutor(1)
    done = pool.submit(request, *arguments, **named)
    pool.shutdown(wait=False)
    return done


def hanging(made: Probe, call: str, **more: str) -> Probe:
    """Create a probe that hangs in this call."""
    return made.create_with_trouble({"hang": call, "count": "10", **more})


def assert_can_be_deleted(made: Probe) -> None:
    with quickly("the deletion"):
        assert made.request("DELETE").status_code == 204
    with quickly("the end", LATE_SECONDS):
        wait_until(lambda: made.request("GET", "/status").status_code == 404, "its status is gone")


# -- requests that wait for user code


def post(made: Probe) -> httpx2.Response:
    return httpx2.post(
        f"{made.worker.url}/connectors", json={"name": made.name, "config": made.config}, timeout=LATE_SECONDS
    )


def test_connectors_that_hang_while_they_are_validated_are_not_created(probe: MakeProbe) -> None:
    asked, unmade = probe(), probe("StuckSource")
    asked.config["hang"] = "validate"
    path = "/connector-plugins/ProbeSource/config/validate"
    config = {**asked.config, "name": asked.name}
    answers = [
        in_background(post, asked),
        in_background(post, unmade),
        in_background(httpx2.put, asked.worker.url + path, json=config, timeout=LATE_SECONDS),
    ]
    assert_others_are_fast(probe)
    for answer in answers:
        text = message(answer.result(LATE_SECONDS), 500)
        assert "validate()" in text
        assert f"did not return within {LIMIT_SECONDS:g} s" in text
    assert asked.request("GET").status_code == unmade.request("GET").status_code == 404


def test_a_connector_whose_new_configuration_hangs_in_validate_goes_on_and_obeys(probe: MakeProbe) -> None:
    sources = {method: probe().create_running() for method in ("PUT", "PATCH")}
    answers = [in_background(reconfigure, source, method) for method, source in sources.items()]
    for source, answer in zip(sources.values(), answers, strict=True):
        wait_until(lambda: source.count("validate") == 2, "the validation hangs")  # noqa: B023
        with quickly("a pause of the same connector", 2.0):
            source.ask("pause")
            source.wait("PAUSED")
        assert not answer.done()
    for source, answer in zip(sources.values(), answers, strict=True):
        assert "validate()" in message(answer.result(LATE_SECONDS), 500)
        assert "hang" not in source.request("GET", "/config").json()


def reconfigure(source: Probe, method: str) -> httpx2.Response:
    """Give it a configuration whose validation hangs."""
    url = f"{source.worker.url}/connectors/{source.name}/config"
    body = {**source.config, "name": source.name, "hang": "validate"}
    return httpx2.request(method, url, json=body, timeout=LATE_SECONDS)


def test_a_connector_that_hangs_in_alter_offsets_keeps_its_offsets(probe: MakeProbe) -> None:
    requests: list[Callable[[Probe], httpx2.Response]] = [
        set_an_offset,
        lambda stuck: stuck.request("DELETE", "/offsets"),
        lambda stuck: stuck.request("DELETE", "?includeOffsets=true"),
    ]
    stuck = {probe(kind): request for kind in ("ProbeSource", "ProbeSink") for request in requests}
    for one in stuck:
        one.create(initial_state="STOPPED")
        assert set_an_offset(one).status_code == 200
        one.request("PATCH", "/config", {"hang": "alter_offsets"})
    answers = {one: in_background(request, one) for one, request in stuck.items()}
    assert_others_are_fast(probe)
    for one, answer in answers.items():
        kind = "sink" if "topics" in one.config else "source"
        timed_out = f"Timed out while calling the 'alterOffsets' method for {kind} connector {one.name}"
        assert message(answer.result(LATE_SECONDS), 500) == timed_out
        assert len(one.offsets()) == 1
        assert_can_be_deleted(one)


def set_an_offset(made: Probe) -> httpx2.Response:
    if "topics" in made.config:
        return made.alter(({"kafka_topic": "t", "kafka_partition": 0}, {"kafka_offset": 3}))
    return made.alter(({"task": 0}, {"next": 3}))


# -- connectors


@pytest.mark.parametrize("call", ["start", "task_configs"])
def test_a_connector_that_hangs_in_this_call_is_failed_after_the_limit(probe: MakeProbe, call: str) -> None:
    with quickly("the creation"):
        stuck = hanging(probe(), call)
    assert_others_are_fast(probe)
    trace = stuck.wait_states("FAILED", seconds=LATE_SECONDS)["connector"]["trace"]
    assert f"{stuck.name}: {call}() did not return within {LIMIT_SECONDS:g} s and was abandoned" in trace
    stuck.heal()
    assert stuck.request("POST", "/restart").status_code == 204
    stuck.wait("RUNNING")


@pytest.mark.parametrize("call", ["start", "task_configs"])
def test_a_connector_that_hangs_in_this_call_can_be_deleted_and_made_again(probe: MakeProbe, call: str) -> None:
    stuck = hanging(probe(), call)
    wait_until(lambda: stuck.count(call) == 1, "it hangs")
    assert_can_be_deleted(stuck)
    stuck.heal()
    stuck.create()
    stuck.wait("RUNNING")


def test_a_connector_that_hangs_in_start_can_be_stopped_and_resumed(probe: MakeProbe) -> None:
    stuck = hanging(probe(), "start")
    wait_until(lambda: stuck.count("start") == 1, "it hangs")
    with quickly("the answer to stop"):
        stuck.ask("stop")
    stuck.wait_states("STOPPED", seconds=LATE_SECONDS)
    stuck.heal()
    stuck.ask("resume")
    stuck.wait("RUNNING")


def test_a_connector_that_hangs_in_start_can_be_reconfigured(probe: MakeProbe) -> None:
    stuck = hanging(probe(), "start")
    wait_until(lambda: stuck.count("start") == 1, "it hangs")
    with quickly("the answer to a new configuration"):
        assert stuck.request("PATCH", "/config", {"hang": ""}).status_code == 200
    with quickly("the new start", LATE_SECONDS):
        stuck.wait("RUNNING")


def test_a_connector_that_starts_after_it_was_given_up_is_stopped_again(probe: MakeProbe) -> None:
    late = probe().create_with_trouble({"hang.until.healed": "start"})
    late.wait_states("FAILED", seconds=LATE_SECONDS)
    late.heal()
    wait_until(lambda: late.count("stop") == 1, "what was started too late is stopped")
    assert late.states() == ["FAILED"]


@pytest.mark.parametrize(
    ("verb", "state"), [("stop", ["STOPPED"]), ("pause", ["FAILED", "PAUSED"]), ("restart", ["RUNNING", "RUNNING"])]
)
def test_a_connector_that_hangs_in_stop_is_abandoned(probe: MakeProbe, verb: str, state: list[str]) -> None:
    stuck = hanging(probe(), "stop")
    stuck.wait("RUNNING")
    if verb == "restart":
        restarted = in_background(stuck.request, "POST", "/restart")
    else:
        with quickly(f"the answer to {verb}"):
            stuck.ask(verb)
    assert_others_are_fast(probe)
    if verb == "restart":
        assert restarted.result(LATE_SECONDS).status_code == 204
    status = stuck.wait_states(*state, seconds=LATE_SECONDS)
    if state[0] == "FAILED":
        assert f"{stuck.name}: stop() did not return within 2 s" in status["connector"]["trace"]
    assert_can_be_deleted(stuck)


@pytest.mark.parametrize("call", ["on_created", "on_updated"])
def test_a_connector_that_hangs_in_a_hook_is_failed_after_the_limit(probe: MakeProbe, call: str) -> None:
    stuck = hanging(probe(), call)
    if call == "on_updated":
        stuck.wait("RUNNING")
        stuck.request("PATCH", "/config", {"count": "20"})
    assert_others_are_fast(probe)
    status = wait_until(lambda: failed(stuck), "it is FAILED", LATE_SECONDS)
    assert f"{call}() did not return within {LIMIT_SECONDS:g} s" in status["connector"]["trace"]
    stuck.heal()
    assert_can_be_deleted(stuck)


def failed(stuck: Probe) -> Any:
    status = stuck.worker.status(stuck.name)
    return status if status["connector"]["state"] == "FAILED" else None


# -- tasks


@pytest.mark.parametrize("call", ["start", "plan"])
def test_a_task_that_hangs_in_this_call_is_failed_after_the_limit(probe: MakeProbe, call: str) -> None:
    stuck = hanging(probe(), f"task.{call}")
    assert_others_are_fast(probe)
    trace = stuck.wait_states("RUNNING", "FAILED", seconds=LATE_SECONDS)["tasks"][0]["trace"]
    assert f"{stuck.name}-0: {call}() did not return within {LIMIT_SECONDS:g} s and was abandoned" in trace
    stuck.heal()
    with quickly("the restart of the task"):
        assert stuck.request("POST", "/tasks/0/restart").status_code == 204
    stuck.wait("RUNNING")
    wait_until(stuck.offsets, "it moves records now")


def test_a_task_that_cannot_be_made_is_failed_after_the_limit(probe: MakeProbe) -> None:
    stuck = probe("StuckTaskSource").create()
    assert_others_are_fast(probe)
    trace = stuck.wait_states("RUNNING", "FAILED", seconds=LATE_SECONDS)["tasks"][0]["trace"]
    assert f"{stuck.name}-0: " in trace
    assert f"did not return within {LIMIT_SECONDS:g} s and was abandoned" in trace
    assert_can_be_deleted(stuck)


@pytest.mark.parametrize("call", ["start", "plan", "read"])
def test_a_source_task_that_hangs_in_this_call_lets_its_connector_be_stopped(probe: MakeProbe, call: str) -> None:
    stuck = hanging(probe(), f"task.{call}")
    wait_until(lambda: stuck.tasks(), "its task is made")
    assert_others_are_fast(probe)
    with quickly("the answer to stop"):
        stuck.ask("stop")
    stuck.wait_states("STOPPED", seconds=LATE_SECONDS)
    assert stuck.alter(({"task": 0}, {"next": 5})).status_code == 200
    stuck.heal()
    stuck.ask("resume")
    stuck.wait("RUNNING")
    wait_until(lambda: stuck.offsets()[0]["offset"] == {"next": 10}, "it moves records from where it was set")
    reader = probe("ProbeSink", stuck.topic).create_running()
    assert [value for _, _, value in reader.wait_out(5)] == [f"0:{number}" for number in range(5, 10)]


def test_a_task_that_starts_after_it_was_given_up_is_stopped_again(probe: MakeProbe) -> None:
    late = probe().create_with_trouble({"hang.until.healed": "task.start"})
    late.wait_states("RUNNING", "FAILED", seconds=LATE_SECONDS)
    late.heal()
    wait_until(lambda: late.count("task.stop") == 1, "what was started too late is stopped")
    assert late.states() == ["RUNNING", "FAILED"]


def test_a_task_that_hangs_in_stop_is_abandoned(probe: MakeProbe) -> None:
    stuck = hanging(probe(), "task.stop")
    stuck.wait("RUNNING")
    restarted = in_background(stuck.request, "POST", "/tasks/0/restart")
    assert_others_are_fast(probe)
    assert restarted.result(LATE_SECONDS).status_code == 204
    stuck.wait("RUNNING")
    with quickly("the answer to stop"):
        stuck.ask("stop")
    stuck.wait_states("STOPPED", seconds=LATE_SECONDS)
    assert f"{stuck.name}-0: stop() did not return within 2 s" in stuck.worker.output.read_text()
    assert_can_be_deleted(stuck)


def test_a_sink_task_that_hangs_in_put_is_abandoned_when_it_is_stopped(probe: MakeProbe) -> None:
    feeder = probe().create_running({"count": "10"})
    stuck = probe("ProbeSink", feeder.topic).create_with_trouble({"hang": "task.put"})
    wait_until(lambda: stuck.count("task.put") == 1, "the put hangs")
    assert_others_are_fast(probe)
    with quickly("the answer to stop"):
        stuck.ask("stop")
    stuck.wait_states("STOPPED", seconds=LATE_SECONDS)
    assert f"task {stuck.name}-0 did not stop within 2 s and is abandoned" in stuck.worker.output.read_text()
    partition = {"kafka_topic": feeder.topic, "kafka_partition": 0}
    assert stuck.alter((partition, {"kafka_offset": 5})).status_code == 200
    stuck.heal()
    stuck.ask("resume")
    assert [offset for _, offset, _ in stuck.wait_out(5)] == [5, 6, 7, 8, 9]


@pytest.mark.parametrize("call", ["read", "put"])
def test_a_task_that_hangs_on_an_executor_can_be_deleted(probe: MakeProbe, call: str) -> None:
    feeder = probe().create_running({"count": "10"})
    stuck = probe("ProbeSink", feeder.topic) if call == "put" else probe()
    hanging(stuck, f"task.{call}")
    stuck.wait("RUNNING")
    assert_others_are_fast(probe)
    assert_can_be_deleted(stuck)


def test_more_hanging_tasks_than_spark_has_room_for_leave_room_for_others(probe: MakeProbe) -> None:
    stuck = [hanging(probe(), "task.read") for _ in range(12)]
    for one in stuck:
        one.wait("RUNNING")
    other = probe().create_running({"count": "10"})
    wait_until(other.offsets, "room is made")
    assert_others_are_fast(probe)
    for one in stuck:
        assert_can_be_deleted(one)


def test_a_crowd_of_connectors_that_hang_at_once_leaves_the_rest_fast(probe: MakeProbe) -> None:
    calls = ["start", "task_configs", "task.start", "task.plan"]
    crowd = [hanging(probe(), calls[number % len(calls)]) for number in range(40)]
    assert_others_are_fast(probe)
    for one in crowd:
        wait_until(lambda: "FAILED" in one.states(), "it is FAILED", LATE_SECONDS)  # noqa: B023


# -- the worker


def test_plugins_that_are_slow_to_import_cost_no_call_its_limit(tmp_path: Path) -> None:
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / "slow.py").write_text("import time\n\ntime.sleep(3)\n")
    settings = {**LIMITS, "plugin.path": str(plugins), "connector.call.timeout.ms": "1500"}
    with PenstockProcess(tmp_path / "worker", settings) as worker:
        config = {"connector.class": "FileStreamSource", "topic": "lines", "file": str(tmp_path / "in.txt")}
        began = time.monotonic()
        answer = worker.http.put("/connector-plugins/FileStreamSource/config/validate", json=config)
        assert answer.status_code == 200, answer.text
        assert time.monotonic() - began > 1.5


def test_a_worker_full_of_hanging_connectors_stops_and_starts_within_its_limits(tmp_path: Path) -> None:
    with PenstockProcess(tmp_path / "worker", LIMITS) as worker:
        wait_for_spark(worker, tmp_path)
        fine = Probe(worker, tmp_path).create_running({"count": "10"})
        stuck = []
        for call in ("stop", "task.stop", "task.read", "on_deleted", "start", "task_configs", "task.plan"):
            stuck.append(hanging(Probe(worker, tmp_path), call))
        sink = Probe(worker, tmp_path, "ProbeSink", fine.topic).create_with_trouble({"hang": "task.put"})
        wait_until(lambda: sink.count("task.put") == 1, "the put hangs")
        stuck[3].request("DELETE")
        with quickly("the stop", 20.0):
            assert worker.stop(60.0) == 0
        assert "Stopped" in worker.tail()

        with quickly("the next start", LATE_SECONDS):
            worker.start()
        fine.wait("RUNNING")
        assert sorted(worker.http.get("/connectors").json()) == sorted(
            [fine.name, sink.name, *(one.name for one in stuck if one is not stuck[3])]
        )

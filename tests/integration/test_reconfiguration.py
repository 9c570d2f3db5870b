"""Connectors whose configuration changes while they run: tasks come and go with it, mistakes can be repaired."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cli.client.conftest import Client
from tests.support.probes import SETTINGS, Probe
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

MakeProbe = Callable[[], Probe]
TOO_MANY = "The connector {} has generated 3 tasks, which is greater than 2, the maximum number of tasks"


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that configurations may refer to; not written yet."""
    return tmp_path_factory.mktemp("secrets") / "secret"


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory, secret: Path) -> Iterator[PenstockProcess]:
    settings = {
        **SETTINGS,
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    }
    with PenstockProcess(tmp_path_factory.mktemp("worker"), settings) as process:
        yield process


@pytest.fixture
def probe(worker: PenstockProcess, tmp_path: Path) -> MakeProbe:
    return lambda: Probe(worker, tmp_path)


def patch(made: Probe, **changes: str | None) -> None:
    """Change keys; underscores stand for dots."""
    body = {key.replace("_", "."): value for key, value in changes.items()}
    answer = made.request("PATCH", "/config", body)
    assert answer.status_code == 200, answer.text


def test_the_status_shows_exactly_the_tasks_that_are_configured(probe: MakeProbe) -> None:
    source = probe().create_running(tasks=1)
    for tasks in (5, 3):
        patch(source, tasks_max=str(tasks), tasks_made=str(tasks))
        wait_until(lambda: source.states() == ["RUNNING"] * (1 + tasks), f"{tasks} tasks")  # noqa: B023
        assert [task["id"]["task"] for task in source.tasks()] == list(range(tasks))
    assert source.request("GET", "/tasks/3/status").status_code == 404


def test_a_patch_changes_adds_and_removes_keys_and_leaves_the_rest(probe: MakeProbe) -> None:
    source = probe().create_running({"count": "1", "secret": "x"})
    patch(source, count="2", secret=None, poison="new")
    config = source.request("GET", "/config").json()
    assert config == {**{k: v for k, v in source.config.items() if k != "secret"}, "name": source.name} | {
        "count": "2",
        "poison": "new",
    }


def test_patches_at_once_are_all_kept(probe: MakeProbe) -> None:
    source = probe().create_running()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: patch(source, **{f"key_{number}": "1"}), range(16)))
    config = source.request("GET", "/config").json()
    assert {key for key in config if key.startswith("key.")} == {f"key.{number}" for number in range(16)}


def test_a_change_that_only_the_framework_reads_restarts_the_tasks(probe: MakeProbe) -> None:
    source = probe().create_running(tasks=2)
    patch(source, value_converter="org.apache.kafka.connect.json.JsonConverter")
    wait_until(lambda: source.count("task.start") == 4, "the tasks run with the new converter")
    source.wait("RUNNING", tasks=2)


def test_too_many_tasks_fail_the_connector_until_they_are_allowed(probe: MakeProbe) -> None:
    source = probe().create({"tasks.max": "2", "tasks.made": "3"})
    status = source.wait_states("FAILED")
    assert TOO_MANY.format(source.name) in status["connector"]["trace"]
    patch(source, tasks_max_enforce="false")
    source.wait("RUNNING", tasks=3)


def test_a_connector_whose_task_configs_fail_can_be_repaired_by_a_new_configuration(probe: MakeProbe) -> None:
    source = probe().create({"fail": "task_configs"})
    assert "task_configs was told to fail" in source.wait_states("FAILED")["connector"]["trace"]
    patch(source, fail="")
    source.wait("RUNNING")
    assert source.counts()["stop"] == 1, "what was started before it failed is stopped"


def test_a_missing_secret_is_told_and_can_be_provided(probe: MakeProbe, secret: Path) -> None:
    source = probe()
    source.config["secret"] = f"${{file:{secret}:password}}"
    answer = source.worker.http.post("/connectors", json={"name": source.name, "config": source.config})
    assert answer.status_code == 400
    assert str(secret) in answer.json()["message"]
    secret.write_text("password=hidden\n")
    source.create()
    source.wait("RUNNING")
    assert "hidden" not in source.request("GET", "/tasks").text


def test_a_connector_that_is_deleted_and_made_again_at_once_starts_afresh(probe: MakeProbe) -> None:
    source = probe().create_with_trouble({"fail": "start", "slow": "stop,task.stop"})
    source.wait_states("FAILED")
    source.heal()
    for _ in range(3):
        assert source.request("DELETE").status_code == 204
        source.create()
    source.wait("RUNNING")
    counts = source.counts()
    assert counts["task.start"] - counts["task.stop"] == 1
    assert len(source.tasks()) == 1


def test_the_same_configuration_again_revives_a_failed_connector(probe: MakeProbe, tmp_path: Path) -> None:
    trouble = tmp_path / "trouble"
    trouble.touch()
    source = probe().create({"fail": "start", "trouble.file": str(trouble)})
    wait_until(lambda: source.states()[:1] == ["FAILED"], "the connector is FAILED")
    trouble.unlink()
    config = source.request("GET", "/config").json()
    assert source.request("PUT", "/config", config).status_code == 200
    wait_until(lambda: source.states() == ["RUNNING", "RUNNING"], "the connector runs")


def test_the_lifecycle_tells_whether_the_newest_configuration_is_in_force(probe: MakeProbe) -> None:
    source = probe().create_running()
    assert source.request("GET", "/lifecycle").json()["applied"] is True
    source.stop()
    patch(source, count="5")
    assert source.request("GET", "/lifecycle").json()["applied"] is False
    source.ask("resume")
    source.wait("RUNNING")
    assert source.request("GET", "/lifecycle").json()["applied"] is True


def test_waiting_for_a_changed_connector_is_waiting_for_its_new_tasks(probe: MakeProbe, tmp_path: Path) -> None:
    source = probe().create_running({"slow": "start,task.start", "tasks.max": "2"})
    client = Client(tmp_path, source.worker.url)
    client.ok("patch", source.name, "--set", "tasks.made=2", "--wait")
    assert source.states() == ["RUNNING"] * 3
    assert source.count("task.start") == 3

"""The test plans of KIP-52, 745, 875 and 980 in a cluster: the tests of ``tests/seeds``, asked of one of its workers.

``make test`` asks for each verb in its main ways, once the leader and once a worker that does not lead
(``OF_EACH_VERB``). ``make test-full`` asks a worker that does not lead all of them, but for those about a worker on its
own: connector files, the SQLite store, the death of the only worker (``standalone_only`` and ``skip_on_cluster`` there
give the reasons). ``PENSTOCK_TEST_CLUSTER=3 pytest tests/seeds`` runs the plans alone, each with a cluster of its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from penstock.rest.table import ROUTES
from tests.seeds import (
    test_kip_052_pause_resume_restart,
    test_kip_745_restart,
    test_kip_875_offsets_and_stopped,
    test_kip_980_initial_state_and_files,
)
from tests.seeds.conftest import ABOUT_STANDALONE
from tests.seeds.test_kip_875_offsets_and_stopped import sink, source
from tests.support.cluster import Cluster
from tests.support.probes import Probe
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

__all__ = ["probe", "sink", "source"]

PLANS = (
    test_kip_052_pause_resume_restart,
    test_kip_745_restart,
    test_kip_875_offsets_and_stopped,
    test_kip_980_initial_state_and_files,
)
THEIR_OWN_WORKER = {"files", "survivors"}
ALSO_STANDALONE = {"test_restart_takes_the_forward_parameter"}

OF_EACH_VERB = {
    "POST /connectors": [
        "test_kip_980_can_create_a_connector_in_this_state_and_no_tasks_are_spawned",
        "test_kip_980_a_second_connector_of_the_same_name_is_a_conflict_that_changes_nothing",
        "test_kip_980_offsets_and_a_state_can_be_given_together",
        "test_kip_980_offsets_that_the_connector_refuses_create_nothing",
        "test_kip_980_initial_offsets_take_the_place_of_those_of_an_earlier_connector",
        "test_kip_980_initial_offsets_take_the_place_of_those_of_an_earlier_sink",
    ],
    "DELETE /connectors/{connector}": [
        "test_kip_875_can_delete_a_stopped_connector",
        "test_kip_980_deleting_a_sink_with_its_offsets_forgets_them",
        "test_kip_980_a_connector_that_refuses_to_forget_its_offsets_stays_as_it_was",
    ],
    "PUT /connectors/{connector}/config": [
        "test_kip_052_a_paused_connector_that_is_reconfigured_stays_paused",
        "test_kip_980_put_config_knows_no_initial_state",
    ],
    "PUT /connectors/{connector}/pause": [
        "test_kip_052_pause_suspends_the_connector_and_its_tasks",
        "test_kip_052_an_unknown_connector_is_not_found",
    ],
    "PUT /connectors/{connector}/resume": [
        "test_kip_052_resume_starts_the_connector_again_and_lets_tasks_go_on",
        "test_kip_980_can_resume_a_connector_created_in_this_state",
    ],
    "PUT /connectors/{connector}/stop": [
        "test_kip_875_can_stop_a_running_connector",
        "test_kip_875_all_six_transitions_each_asked_for_twice",
        "test_kip_875_cannot_see_tasks_of_a_stopped_connector_but_its_configuration",
    ],
    "POST /connectors/{connector}/restart": [
        "test_kip_745_without_flags_a_running_connector_restarts_alone",
        "test_kip_745_with_tasks_included_a_running_connector_and_each_task_restart_once",
        "test_kip_745_of_several_tasks_only_the_failed_one_restarts",
        "test_kip_745_only_failed_does_nothing_where_all_runs",
        "test_kip_745_the_body_of_202_is_the_status_with_restarting_and_without_traces",
    ],
    "POST /connectors/{connector}/tasks/{task}/restart": [
        "test_kip_052_restart_of_a_task_stops_and_starts_only_that_task",
        "test_kip_052_restart_of_an_unknown_task_is_not_found",
    ],
    "GET /connectors/{connector}/offsets": [
        "test_kip_875_can_view_the_offsets_of_a_running_source_connector",
        "test_kip_875_can_view_the_offsets_of_a_running_sink_connector",
    ],
    "PATCH /connectors/{connector}/offsets": [
        "test_kip_875_can_alter_the_offsets_of_a_stopped_source_connector_which_uses_them_when_resumed",
        "test_kip_875_can_alter_the_offsets_of_a_stopped_sink_connector_which_uses_them_when_resumed",
        "test_kip_875_cannot_modify_the_offsets_of_a_running_connector",
        "test_kip_875_a_partition_that_does_not_exist_is_named_and_nothing_is_altered",
    ],
    "DELETE /connectors/{connector}/offsets": [
        "test_kip_875_can_reset_the_offsets_of_a_stopped_source_connector",
        "test_kip_875_can_reset_the_offsets_of_a_stopped_sink_connector",
    ],
}
"""The tests that are asked of the leader, too, by the verb that they are about."""

ELSEWHERE = {
    "PATCH /connectors/{connector}/config": "test_cluster.py",
    "PUT /connectors/{connector}/topics/reset": "test_conformance.py",
    "POST /connectors/{connector}/dead-letters/replay": "test_cluster_health.py",
    "POST /connectors/{connector}/tasks": "test_cluster.py, workers ask each other",
    "PUT /connectors/{connector}/fence": "test_fencing.py, workers ask each other",
    "POST /connectors/{connector}/offsets/restore": "test_restored_offsets.py",
}
"""Verbs that no plan is about, and the test of this folder that asks for them in a cluster."""


@pytest.fixture
def asked(cluster: Cluster, request: pytest.FixtureRequest) -> PenstockProcess:
    """The worker that a test makes its requests of."""
    for worker in cluster.workers:
        if not worker.running:
            worker.start()
    return cluster.leader() if request.param == "leader" else cluster.follower()


@pytest.fixture
def probe(asked: PenstockProcess, tmp_path: Path) -> Callable[..., Probe]:
    """As the seeds' own fixture."""

    def make(kind: str = "ProbeSource", topic: str = "") -> Probe:
        return Probe(asked, tmp_path, kind, topic)

    return make


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "asked" not in metafunc.fixturenames:
        return
    both = any(metafunc.definition.originalname in names for names in OF_EACH_VERB.values())
    workers = ["leader", "follower"] if both else [pytest.param("follower", marks=pytest.mark.full)]
    metafunc.parametrize("asked", workers, indirect=True)


def _tests(plan: ModuleType) -> Iterator[tuple[str, Callable[..., None]]]:
    """The tests of a plan, each with the plan's number before its name."""
    number = plan.__name__.rpartition(".")[2][: len("test_kip_000")]
    for name, function in vars(plan).items():
        if name.startswith("test_") and inspect.isfunction(function) and not _is_standalone(name, function):
            yield f"{number}_{name.removeprefix('test_')}", function


def _is_standalone(name: str, function: Callable[..., None]) -> bool:
    marks = getattr(function, "pytestmark", [])
    marked = any(str(mark.kwargs.get("reason", "")).startswith(ABOUT_STANDALONE) for mark in marks)
    return marked or name in ALSO_STANDALONE or bool(THEIR_OWN_WORKER & set(inspect.signature(function).parameters))


for _plan in PLANS:
    globals().update(_tests(_plan))


def test_every_verb_of_the_plans_is_asked_of_leader_and_follower() -> None:
    made = {name for plan in PLANS for name, _ in _tests(plan)}
    assert [name for names in OF_EACH_VERB.values() for name in names if name not in made] == []
    verbs = {f"{route.method} {route.path}" for route in ROUTES if route.path.startswith("/connectors")}
    assert set(OF_EACH_VERB) <= verbs
    changing = {verb for verb in verbs if not verb.startswith("GET")}
    assert changing - set(OF_EACH_VERB) == set(ELSEWHERE)

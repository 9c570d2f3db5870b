"""The test plans of KIP-52, 745, 875 and 980 on a worker of a cluster that does not lead.

These are the same tests as in ``tests/seeds``, but for those about a worker on its own: connector files, the SQLite
store, the death of the only worker (``standalone_only`` and ``skip_on_cluster`` there give the reasons).
``PENSTOCK_TEST_CLUSTER=3 pytest tests/seeds`` runs the plans alone, each with a cluster of its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

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


@pytest.fixture
def probe(cluster: Cluster, tmp_path: Path) -> Callable[..., Probe]:
    """As the seeds' own fixture, on a worker that does not lead."""
    for worker in cluster.workers:
        if not worker.running:
            worker.start()
    worker = cluster.follower()

    def make(kind: str = "ProbeSource", topic: str = "") -> Probe:
        return Probe(worker, tmp_path, kind, topic)

    return make


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

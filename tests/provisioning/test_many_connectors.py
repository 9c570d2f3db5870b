"""Two hundred connectors: a plan is quick, and one changed key touches one connector."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.provisioning.declared import DeclaredProbe, Files, pipeline
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.slow]

COUNT = 200


def test_a_plan_of_200_connectors_is_quick_and_one_key_restarts_one(files: Files, tmp_path: Path) -> None:
    probes = [DeclaredProbe(tmp_path) for _ in range(COUNT)]

    def declare(changed: str) -> None:
        for start in range(0, COUNT, 10):
            part = [
                probe.entry({"count": changed} if probe is probes[77] else {}) for probe in probes[start : start + 10]
            ]
            files.declare(f"{start}.yaml", pipeline(f"many-{start}", *part))

    declare("0")
    assert len(files.plan()["changes"]) == COUNT
    files.apply()
    wait_until(lambda: all(probe.hooks() == ["on_created"] for probe in probes), "all were created", 120)
    wait_until(lambda: all(_running(files, probe) for probe in probes), "all run", 120)

    unchanged = _seconds(files, lambda plan: plan == (0, COUNT))
    declare("1")
    one = _seconds(files, lambda plan: plan == (1, COUNT - 1))
    print(f"plan of {COUNT} connectors: {unchanged:.3f} s unchanged, {one:.3f} s with one change")

    files.apply()
    probes[77].wait_hooks("on_created", "on_updated")
    wait_until(lambda: len(probes[77].calls("start")) == 2, "it was restarted")
    files.worker.wait_state(probes[77].name, "RUNNING")
    for probe in probes:
        assert len(probe.calls("start")) == (2 if probe is probes[77] else 1)
        assert len(probe.hooks()) == (2 if probe is probes[77] else 1)
    assert len(files.apply()) == 0
    for file in list(files.documents):
        files.declare(file)
    assert len(files.apply(delete_many=True)) == COUNT
    wait_until(lambda: all(probe.hooks()[-1] == "on_deleted" for probe in probes), "all were cleaned up", 120)


def _running(files: Files, probe: DeclaredProbe) -> bool:
    return str(files.worker.status(probe.name)["connector"]["state"]) == "RUNNING"


def _seconds(files: Files, right: object) -> float:
    begin = time.perf_counter()
    plan = files.plan()
    seconds = time.perf_counter() - begin
    assert callable(right)
    assert right((len(plan["changes"]), plan["unchanged"]))
    return seconds

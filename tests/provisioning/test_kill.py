"""A worker that is killed while it applies files: the next apply reaches the goal, and no hook is left out."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from tests.provisioning.declared import Files
from tests.provisioning.test_apply import Fleet
from tests.support.probes import SETTINGS
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

FIRST = 6
"""Actions of the apply that sets the scene."""
POINTS = [
    *(f"apply-before-action:{FIRST + visit}" for visit in (1, 8)),
    *(f"apply-after-action:{FIRST + visit}" for visit in (2, 4, 6)),
    "apply-before-release:2",
    "apply-before-undo:1",
    "apply-before-undo:4",
]


@pytest.mark.parametrize("point", POINTS)
def test_the_next_apply_reaches_the_goal(point: str, tmp_path: Path) -> None:
    with PenstockProcess(tmp_path / "worker", SETTINGS, {"PENSTOCK_FAULT": point}) as worker:
        files = Files(worker, "/pipelines")
        fleet = Fleet(files, tmp_path)
        fleet.set_up()
        files.declare("a.yaml", *fleet.second("raise" if "undo" in point else "true"))
        with pytest.raises(httpx2.HTTPError):
            files.post()
        worker.wait_for_exit()

        worker.start(PENSTOCK_FAULT="")
        files.declare("a.yaml", *fleet.second("true")).apply()
        again = files.plan()
        assert (again["changes"], again["problems"]) == ([], [])
        for probe, hooks in (
            (fleet.kept, ["on_created"]),
            (fleet.changed, ["on_created", "on_updated"]),
            (fleet.stopped, ["on_created"]),
            (fleet.deleted, ["on_created", "on_deleted"]),
            (fleet.idle, []),
            (fleet.new, ["on_created"]),
            (fleet.refused, ["on_created"]),
        ):
            probe.wait_hooks(*hooks)
        for probe in (fleet.kept, fleet.changed, fleet.new, fleet.refused):
            worker.wait_state(probe.name, "RUNNING", tasks=1)
        worker.wait_state(fleet.stopped.name, "STOPPED", tasks=0)
        assert worker.http.get("/lifecycle/cleanups").json() == []

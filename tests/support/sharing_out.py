"""How ``make test`` shares out the tests among processes: what stays together, what goes first, and how much of what is
heavy runs at a time. A pytest plugin."""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

TOGETHER = {
    "cluster": (
        "tests/distributed/test_cluster.py",
        "tests/distributed/test_cluster_health.py",
        "tests/distributed/test_faults.py",
        "tests/distributed/test_kip_plans.py",
        "tests/distributed/test_overtaking_requests.py",
        "tests/distributed/test_own_offsets.py",
        "tests/distributed/test_sinks_under_faults.py",
        "tests/distributed/test_target_states.py",
    ),
    # A browser drops what it is loading whenever a network comes or goes on its machine: one after the other.
    "page": ("tests/ui/", "tests/docs/test_first_connector.py", "tests/distributed/test_network_cut.py"),
    "pipelines": ("tests/provisioning/",),
    "client": ("tests/cli/client/",),
    "Kafka": ("tests/topics/kafka/",),
}
"""Files whose tests share a cluster, a broker, a browser or a worker, which one process starts once, or that would
disturb each other."""

APART = ("tests/docs/test_commands.py",)
"""Files of long tests that share little: any process may take one of their tests."""

FIRST = (
    "tests/distributed/",
    "tests/docs/",
    "tests/ui/",
    "tests/integration/",
    "tests/faults/",
    "tests/seeds/",
    "tests/provisioning/",
    "tests/cli/",
    "tests/topics/kafka/",
    "tests/spark/",
    "tests/conformance/",
    "tests/rest/",
    "tests/connectors/",
    "tests/bench/",
    "tests/testing/",
)
"""What takes longest: begun last, it would keep one process busy when the others have nothing left to do."""

AT_A_TIME = {"tests/distributed/": 2, "tests/ui/": 1}
"""How many units of a folder run side by side while there is something else to do: each needs a machine's worth of
processes, and would only make the others wait."""


class Sharing(LoadFileScheduling):
    """A process gets a file at a time, or one of the units that stay together."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        if file in APART:
            return nodeid
        return next((unit for unit, files in TOGETHER.items() if file.startswith(files)), file)

    def _reschedule(self, node: Any) -> None:
        """Called when a process has finished a test. It gets its next unit when it has one test left.

        It cannot begin that last one without knowing the next: earlier is too early, the unit would wait for it.
        """
        if self._pending_of(self.assigned_work[node]) <= 1 or not self.workqueue:
            super()._reschedule(node)

    def _assign_work_unit(self, node: Any) -> None:
        self.workqueue.move_to_end(self._next_unit(), last=False)
        super()._assign_work_unit(node)

    def _next_unit(self) -> str:
        """The first unit that waits and is of no folder of which enough runs already; the first if there is none."""
        running: list[str] = []
        for units in self.assigned_work.values():
            running += [_folder(tests) for tests in units.values() if not all(tests.values())]
        for unit, tests in self.workqueue.items():
            folder = _folder(tests)
            if folder not in AT_A_TIME or running.count(folder) < AT_A_TIME[folder]:
                return str(unit)
        return str(next(iter(self.workqueue)))

    def remove_node(self, node: Any) -> str | None:
        """A process is gone. The test that it died in has failed, and does not get the next process to die in."""
        left = ((unit, test) for unit in self.assigned_work[node].values() for test, done in unit.items() if not done)
        unit, test = next(left, ({}, None))
        if test is not None:
            unit[test] = True
        super().remove_node(node)
        return test


def _folder(tests: dict[str, bool]) -> str:
    """The folder in ``AT_A_TIME`` that a unit's tests are of, or nothing."""
    first = next(iter(tests))
    return next((folder for folder in AT_A_TIME if first.startswith(folder)), "")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Sharing:
    return Sharing(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: _turn(item.nodeid))


def _turn(test: str) -> int:
    return next((turn for turn, folder in enumerate(FIRST) if test.startswith(folder)), len(FIRST))

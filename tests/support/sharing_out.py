"""How ``make test`` shares out the tests among processes: what stays together, and what goes first. A pytest plugin."""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

TOGETHER = (
    "tests/distributed/",
    "tests/docs/",
    "tests/ui/",
    "tests/provisioning/",
    "tests/cli/client/",
    "tests/topics/kafka/",
)
"""Folders whose files share a cluster, a broker, a browser or a worker, which one process starts once."""

FIRST = (
    "tests/distributed/",
    "tests/docs/",
    "tests/seeds/",
    "tests/integration/",
    "tests/faults/",
    "tests/ui/",
    "tests/provisioning/",
    "tests/conformance/",
    "tests/cli/",
    "tests/topics/kafka/",
    "tests/spark/",
    "tests/rest/",
    "tests/connectors/",
    "tests/bench/",
    "tests/testing/",
)
"""What takes longest: begun last, it would keep one process busy when the others have nothing left to do."""


class Sharing(LoadFileScheduling):
    """A process gets a file at a time, or one of the folders that stay together."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return next((folder for folder in TOGETHER if file.startswith(folder)), file)

    def remove_node(self, node: Any) -> str | None:
        """A process is gone. The test that it died in has failed, and does not get the next process to die in."""
        left = ((unit, test) for unit in self.assigned_work[node].values() for test, done in unit.items() if not done)
        unit, test = next(left, ({}, None))
        if test is not None:
            unit[test] = True
        super().remove_node(node)
        return test


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Sharing:
    return Sharing(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: _turn(item.nodeid))


def _turn(test: str) -> int:
    return next((turn for turn, folder in enumerate(FIRST) if test.startswith(folder)), len(FIRST))

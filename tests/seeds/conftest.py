"""Fixtures for the tests of the seeds: one worker a file, probes with names of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.probes import SETTINGS, Probe, wait_for_spark
from tests.support.worker import PenstockProcess

MakeProbe = Callable[..., Probe]


@pytest.fixture(scope="module")
def probe_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    """A worker that knows the probe connectors, for all tests of a module."""
    folder = tmp_path_factory.mktemp("worker")
    with PenstockProcess(folder, SETTINGS) as process:
        wait_for_spark(process, folder)
        yield process


@pytest.fixture
def probe(probe_worker: PenstockProcess, tmp_path: Path) -> MakeProbe:
    """Makes probe connectors (not yet created) on the module's worker."""

    def make(kind: str = "ProbeSource", topic: str = "") -> Probe:
        return Probe(probe_worker, tmp_path, kind, topic)

    return make

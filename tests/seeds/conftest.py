"""Fixtures for the tests of the seeds: one worker a file, probes with names of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.probes import SETTINGS, Probe
from tests.support.worker import PenstockProcess

MakeProbe = Callable[..., Probe]


@pytest.fixture(scope="module")
def probe_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    """A worker that knows the probe connectors, for all tests of a module."""
    with PenstockProcess(tmp_path_factory.mktemp("worker"), SETTINGS) as process:
        yield process


@pytest.fixture
def probe(probe_worker: PenstockProcess, tmp_path: Path) -> MakeProbe:
    """Makes probe connectors (not yet created) on the module's worker."""

    def make(kind: str = "ProbeSource", topic: str = "") -> Probe:
        return Probe(probe_worker, tmp_path, kind, topic)

    return make

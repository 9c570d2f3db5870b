"""Fixtures for the tests of the seeds: one worker a file, probes with names of their own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.cluster import Cluster
from tests.support.kafka import KafkaBroker
from tests.support.probes import SETTINGS, Probe, wait_for_spark
from tests.support.worker import PenstockProcess

MakeProbe = Callable[..., Probe]
ABOUT_STANDALONE = "about a standalone worker"
CLUSTER_SIZE = int(os.environ.get("PENSTOCK_TEST_CLUSTER", "0"))


def standalone_only(reason: str) -> pytest.MarkDecorator:
    """For a test that is about a worker on its own: left out, with the reason, when the others run on a cluster."""
    return pytest.mark.skipif(CLUSTER_SIZE > 0, reason=f"{ABOUT_STANDALONE}: {reason}")


def skip_on_cluster(reason: str) -> None:
    """The same for all tests of a fixture: called in it."""
    if CLUSTER_SIZE:
        pytest.skip(f"{ABOUT_STANDALONE}: {reason}")


@pytest.fixture(scope="module")
def probe_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    """A worker that knows the probe connectors, for all tests of a module.

    With ``PENSTOCK_TEST_CLUSTER`` set to a number it is one of so many workers of a cluster.
    """
    folder = tmp_path_factory.mktemp("worker")
    if CLUSTER_SIZE:
        with KafkaBroker() as broker, Cluster(broker, folder, CLUSTER_SIZE, SETTINGS) as cluster:
            for worker in cluster.workers:
                wait_for_spark(worker, folder)
            yield cluster.follower() if CLUSTER_SIZE > 1 else cluster.any()
        return
    with PenstockProcess(folder, SETTINGS) as process:
        wait_for_spark(process, folder)
        yield process


@pytest.fixture
def probe(probe_worker: PenstockProcess, tmp_path: Path) -> MakeProbe:
    """Makes probe connectors (not yet created) on the module's worker."""

    def make(kind: str = "ProbeSource", topic: str = "") -> Probe:
        return Probe(probe_worker, tmp_path, kind, topic)

    return make

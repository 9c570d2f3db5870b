from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from tests.provisioning.declared import Files
from tests.support.probes import SETTINGS
from tests.support.worker import PenstockProcess

_roots = itertools.count(1)


@pytest.fixture(scope="session")
def probed_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    """A running worker with probe connectors, for all tests that do not stop it."""
    with PenstockProcess(tmp_path_factory.mktemp("worker"), SETTINGS) as process:
        yield process


@pytest.fixture
def files(probed_worker: PenstockProcess) -> Files:
    """An empty set of files of the test's own."""
    return Files(probed_worker, f"/pipelines-{next(_roots)}")

"""Fixtures for every test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from pyspark import SparkContext

from penstock.testing.session import end_session
from tests.support.worker import PenstockProcess

pytest_plugins = ["tests.support.processes"]

os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")
"""JVMs of tests live for seconds: compiled the quick way, Spark, brokers and Kafka Connect cost half."""

settings.register_profile("busy machines", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy machines")


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[PenstockProcess]:
    """A running worker of the test's own, with its data below ``tmp_path``."""
    with PenstockProcess(tmp_path / "worker") as process:
        yield process


@pytest.fixture(scope="module")
def shared_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    """A running worker for all tests of a module; each test uses connector names of its own."""
    with PenstockProcess(tmp_path_factory.mktemp("worker")) as process:
        yield process


@pytest.fixture(scope="module", autouse=True)
def no_spark_left_behind() -> Iterator[None]:
    """A module leaves no Spark running in this process: the next one could not start its own."""
    yield
    end_session()
    left = SparkContext._active_spark_context
    assert left is None, f"These tests left Spark running: {left}"

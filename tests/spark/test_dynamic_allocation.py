"""Spark is asked for executors while works wait, and gives them back when lanes are idle."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.spark.capacity import Capacity
from tests.spark.clusters import SECONDS, Works, cluster, dispatcher_on, reaches
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(1800)]

GROWING = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "1",
    "spark.dynamicAllocation.maxExecutors": "5",
    "spark.dynamicAllocation.executorIdleTimeout": "1s",
}
"""More than the machines of the cluster have room for."""


def test_an_allocation_grows_while_works_wait_and_shrinks_when_lanes_are_idle(tmp_path: Path) -> None:
    with cluster(tmp_path / "data", 2, 1, GROWING) as engine, dispatcher_on(engine, idle_seconds=1.0) as dispatcher:
        wait_until(lambda: dispatcher.capacity().executors == 1, "there is an executor", seconds=SECONDS)
        works = Works(dispatcher, tmp_path / "long", 9)
        reaches(dispatcher, Capacity(executors=2, slots=2, reserved=0, busy=2, idle=0, pending=3, waiting=7))
        works.end()
        works = Works(dispatcher, tmp_path / "short", 9, seconds=0.3)
        assert all(receipt.failure is None for receipt in works.receipts.result(SECONDS)), (
            "no lane is waited for in vain"
        )
        reaches(dispatcher, Capacity(executors=1, slots=1))

"""Settings and what Spark counts tell how many tasks executors take, now and at most."""

from __future__ import annotations

import sys

import pytest

from penstock.spark.executors import ExecutorCount, Executors

STANDALONE = "spark://master:7077"


def counted(settings: dict[str, str], count: int, cores: int, master: str = STANDALONE) -> Executors:
    return ExecutorCount(settings, master, lambda: count, lambda: cores).now()


def test_executors_with_a_number_of_cores_are_multiplied() -> None:
    """What Spark calls the cores is at least two, and whatever ``spark.default.parallelism`` says."""
    assert counted({"spark.executor.cores": "4"}, 3, cores=200) == Executors(3, 12, 12)
    assert counted({"spark.executor.cores": "1"}, 1, cores=2) == Executors(1, 1, 1)


def test_executors_that_take_whole_machines_have_what_spark_counts() -> None:
    assert counted({}, 3, cores=20) == Executors(3, 20, 20)
    assert counted({}, 0, cores=2) == Executors(0, 0, 0)


@pytest.mark.parametrize("master", ["yarn", "k8s://https://example.org"])
def test_other_clusters_give_an_executor_one_core(master: str) -> None:
    assert counted({}, 3, cores=3, master=master) == Executors(3, 3, 3)


def test_only_a_standalone_cluster_is_bounded_by_its_cores() -> None:
    settings = {"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.maxExecutors": "9"}
    settings |= {"spark.executor.cores": "2", "spark.cores.max": "4"}
    assert counted(settings, 1, cores=2) == Executors(1, 2, 4)
    assert counted(settings, 1, cores=2, master="yarn") == Executors(1, 2, 18)


def test_a_task_may_need_several_cores() -> None:
    settings = {"spark.executor.cores": "4", "spark.task.cpus": "2", "spark.cores.max": "10"}
    allocation = {"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.maxExecutors": "2"}
    assert counted(settings, 1, cores=4) == Executors(1, 2, 2)
    assert counted(settings | allocation, 1, cores=4) == Executors(1, 2, 4)
    assert counted({"spark.task.cpus": "2"}, 1, cores=5) == Executors(1, 2, 2)


def test_dynamic_allocation_may_get_more_within_its_bounds() -> None:
    settings = {"spark.executor.cores": "2", "spark.dynamicAllocation.enabled": "TRUE"}
    assert counted(settings, 1, cores=2).most_slots > sys.maxsize // 2
    assert counted({**settings, "spark.cores.max": "6"}, 1, cores=2) == Executors(1, 2, 6)
    most = {**settings, "spark.dynamicAllocation.maxExecutors": "5"}
    assert counted(most, 0, cores=2) == Executors(0, 0, 10)
    assert counted({**most, "spark.dynamicAllocation.enabled": "false"}, 1, cores=2) == Executors(1, 2, 2)

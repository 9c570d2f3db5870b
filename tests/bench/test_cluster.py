"""The step of the benchmark with a cluster: who runs what, who moved, and a small run from beginning to end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.cluster import moved, spread
from bench.common import Common
from bench.scale import QUICK
from bench.steps import Run, all_steps
from bench.steps.cluster import measure
from bench.worker import Penstock

BEFORE = {"a": "one", "a-0": "one", "b": "two", "b-0": "two", "b-1": "one"}


def test_it_is_a_step() -> None:
    assert "cluster" in all_steps()


def test_what_runs_elsewhere_or_not_at_all_has_moved() -> None:
    after = {**BEFORE, "a-0": "three"}
    del after["b-1"]
    assert moved(BEFORE, after, ["a-0", "b-0", "b-1"]) == 2


def test_only_tasks_that_were_asked_for_are_counted_on_each_worker() -> None:
    assert spread(BEFORE, ["a-0", "b-0", "b-1"], {"one", "two"}) == (1, 2)
    assert spread(BEFORE, ["a-0", "b-0", "b-1"], {"one", "two", "idle"}) == (0, 2)


@pytest.mark.integration
@pytest.mark.slow
def test_a_small_cluster_is_measured_from_its_start_to_a_kill(tmp_path: Path) -> None:
    scale = replace(QUICK, many=6, settle_seconds=0.2)
    with Common(tmp_path) as common:
        found = {figure.key: figure.value for figure in measure(Run(Penstock, scale, tmp_path, print, common))}
    # Three of twelve tasks are a fourth worker's share; one less is near enough for nobody to move anything more.
    assert 2 <= found["cluster.join.moved"] <= 4
    assert 2 <= found["cluster.leave.moved"] <= 4
    assert found["cluster.fail_over.moved"] >= 4
    assert found.pop("cluster.cpu") >= 0  # three workers with six idle connectors may need no tick of it
    assert min(found.values()) > 0

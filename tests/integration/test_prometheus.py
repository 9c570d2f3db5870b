"""A real Prometheus scrapes a worker that has users: panels of the dashboard and alerts of the guide work."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import pytest
import yaml

from penstock.rest.users import Role, TokenHash, User, new_token
from tests.docs.blocks import ROOT, blocks_of
from tests.support.cluster import Cluster
from tests.support.kafka import KafkaBroker
from tests.support.probes import SETTINGS
from tests.support.prometheus import Prometheus
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess
from tests.test_dashboard import dashboard, panels

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

GUIDE = ROOT / "docs" / "guides" / "monitoring.md"
VARIABLES = {"$connector": ".*", "$__rate_interval": "30s"}
ALERT = re.compile(r"^\| ([^|`]+) \| `([^`]+)` \|$", re.M)
FIRING = ("a connector is not well", "a task has failed", "a lifecycle hook fails")
"""The alerts that are right about the connectors of this test."""


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    """Of a cluster, for it alone has rebalances, with connectors that are well and others that are not."""
    folder = tmp_path_factory.mktemp("scraped")
    admin, scraper = new_token(), new_token()
    users = (("ops", Role.ADMIN, admin), ("prometheus", Role.READ_ONLY, scraper))
    (folder / "users.txt").write_text("".join(f"{User(name, role, TokenHash.of(t))}\n" for name, role, t in users))
    (folder / "token").write_text(scraper)
    guard = {"rest.auth.users.file": str(folder / "users.txt")}
    with KafkaBroker() as broker, Cluster(broker, folder, 1, {**SETTINGS, **guard}) as cluster:
        (made,) = cluster.workers
        made.http.headers["Authorization"] = f"Bearer {admin}"
        made.create("orders", {"connector.class": "Generator", "topic": "orders", "rate": "50"})
        made.create("copy", {"connector.class": "FileStreamSink", "topics": "orders", "file": str(folder / "out")})
        made.create("ill", {"connector.class": "ProbeSource", "topic": "ill", "fail": "task.plan"})
        made.create("hooked", {"connector.class": "ProbeSource", "topic": "hooked", "fail": "on_created"})
        yield made


@pytest.fixture(scope="module")
def prometheus(worker: PenstockProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """Set up as the guide shows it, with this worker for those of the guide."""
    (text,) = (block.text for block in blocks_of(GUIDE) if "scrape_configs" in block.text)
    (job,) = yaml.safe_load(text)["scrape_configs"]
    job["static_configs"] = [{"targets": [f"{worker.host}:{worker.port}"]}]
    job["authorization"]["credentials_file"] = str(worker.folder.parent / "token")
    with Prometheus(tmp_path_factory.mktemp("prometheus"), job) as running:
        wait_until(lambda: [one["health"] for one in running.targets()] == ["up"], "the worker is scraped")
        yield running


def numbers(prometheus: Prometheus, expression: str) -> list[float]:
    """What an expression has now, as Grafana would ask for it."""
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    return [number for one in prometheus.query(expression) if math.isfinite(number := float(one["value"][1]))]


@pytest.mark.parametrize("panel", panels(), ids=lambda panel: panel["title"])
def test_a_panel_of_the_dashboard_has_data(prometheus: Prometheus, panel: dict[str, object]) -> None:
    assert isinstance(panel["targets"], list)
    for target in panel["targets"]:
        wait_until(lambda: numbers(prometheus, target["expr"]), target["expr"])  # noqa: B023


@pytest.mark.parametrize(("title", "wanted"), [("Connectors", 4), ("Failed or stalled", 2), ("Failed tasks", 1)])
def test_numbers_at_a_glance_are_right(prometheus: Prometheus, title: str, wanted: int) -> None:
    (expression,) = (panel["targets"][0]["expr"] for panel in panels() if panel["title"] == title)
    wait_until(lambda: numbers(prometheus, expression) == [wanted], f"{title} is {wanted}")


def test_the_dashboard_can_be_filtered_by_every_connector(prometheus: Prometheus) -> None:
    (variable,) = (one["query"] for one in dashboard()["templating"]["list"] if one["type"] == "query")
    found = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable)
    assert found is not None
    metric, label = found.groups()
    wanted = {"orders", "copy", "ill", "hooked"}
    wait_until(lambda: {one["metric"].get(label) for one in prometheus.query(metric)} == wanted, "all are offered")


@pytest.mark.parametrize(("when", "expression"), ALERT.findall(GUIDE.read_text()))
def test_an_alert_of_the_guide_fires_when_it_should(prometheus: Prometheus, when: str, expression: str) -> None:
    if when in FIRING:
        wait_until(lambda: numbers(prometheus, expression), f"it fires: {expression}")
    else:
        assert numbers(prometheus, expression) == []


def test_the_guide_has_alerts() -> None:
    assert set(FIRING) < {when for when, _ in ALERT.findall(GUIDE.read_text())}

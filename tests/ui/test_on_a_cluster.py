"""The page of one worker shows the whole cluster and acts on all of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.support.cluster import Cluster, wait_running, worker_id
from tests.support.kafka import KafkaBroker

from .conftest import PLUGINS, WAIT_MS
from .stage import generator, state_badge
from .watch import watched

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

TASKS = 4


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with (
        KafkaBroker() as broker,
        Cluster(broker, tmp_path_factory.mktemp("cluster"), 2, {"plugin.path": str(PLUGINS)}) as running,
    ):
        yield running


def test_each_worker_is_shown_with_its_share_and_any_page_acts_on_all(browser: Browser, cluster: Cluster) -> None:
    asked, other = cluster.workers
    other.create("spread", {**generator("spread"), "tasks.max": str(TASKS)})
    status = wait_running(asked, "spread", TASKS)
    shares = [task["worker_id"] for task in status["tasks"]]

    context = browser.new_context(base_url=f"{asked.url}/ui/", viewport={"width": 1360, "height": 850})
    context.set_default_timeout(WAIT_MS)
    page = context.new_page()
    with watched(page, asked.url):
        page.goto("#/workers")
        for worker in cluster.workers:
            row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=worker_id(worker)))
            expect(row.get_by_role("cell").nth(2)).to_have_text(str(shares.count(worker_id(worker))))
        leader = page.get_by_role("row").filter(has=page.get_by_text("leader", exact=True))
        expect(leader.get_by_role("rowheader")).to_contain_text(worker_id(cluster.leader()))
        page.goto("#/connectors/spread")
        page.get_by_role("button", name="Pause", exact=True).click()
        expect(state_badge(page)).to_have_text("Paused")
        other.wait_state("spread", "PAUSED", tasks=TASKS)
    context.close()

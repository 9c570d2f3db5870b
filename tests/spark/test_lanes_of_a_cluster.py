"""Lanes of executors on other machines: who can read what they say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from penstock.spark.dispatcher import Dispatcher
from penstock.spark.session import start_spark
from penstock.spark.splits import Receipt
from tests.spark.works import Repeat
from tests.support.eavesdropper import Eavesdropper
from tests.support.ports import free_port

pytestmark = [pytest.mark.integration, pytest.mark.slow]
ROOT = Path(__file__).parents[2]
CLUSTER = {"spark.master": "local-cluster[1,1,1024]", "spark.executor.memory": "512m"}
FAR = "127.0.0.2"
"""An address of this machine, too, at which nothing of the driver listens."""


@contextmanager
def dispatching(settings: Mapping[str, str], folder: Path) -> Iterator[Dispatcher]:
    engine = start_spark({**CLUSTER, "spark.executorEnv.PYTHONPATH": str(ROOT), **settings}, folder / "data")
    dispatcher = Dispatcher(engine)
    try:
        yield dispatcher
    finally:
        dispatcher.stop()
        engine.stop()


def repeat(dispatcher: Dispatcher, text: str) -> Receipt:
    receipts: Future[list[Receipt]] = Future()
    dispatcher.submit("task", [Repeat(text)], lambda answer: receipts.set_result(list(answer)))
    (receipt,) = receipts.result(timeout=180)
    assert receipt.failure is None
    assert receipt.state["said"] == text.upper()
    return receipt


ENCRYPTED = {
    "spark.authenticate": "true",
    "spark.authenticate.secret": "between-the-two-of-us",
    "spark.network.crypto.enabled": "true",
}


@pytest.mark.parametrize("settings", [{}, ENCRYPTED], ids=["plain", "encrypted"])
def test_somebody_between_lane_and_driver_reads_records_unless_spark_encrypts(
    settings: Mapping[str, str], tmp_path: Path
) -> None:
    """Whatever executors say to the driver goes past an eavesdropper: Spark's own connections as well."""
    ports = {
        key: free_port() for key in ("spark.penstock.lanes.port", "spark.driver.port", "spark.driver.blockManager.port")
    }
    addresses = {"spark.driver.host": FAR, "spark.driver.bindAddress": "127.0.0.1"}
    fixed = {key: str(port) for key, port in ports.items()}
    with ExitStack() as stack:
        heard = {key: stack.enter_context(Eavesdropper(("127.0.0.1", port), FAR, port)) for key, port in ports.items()}
        dispatcher = stack.enter_context(dispatching({**addresses, **fixed, **settings}, tmp_path))
        repeat(dispatcher, "four thousand to account 17")
        lane, spark = heard["spark.penstock.lanes.port"], heard["spark.driver.port"]
        assert (lane.calls, spark.calls > 0) == (2, True), "lane and leash, and executors"
        in_plain = [text in lane.heard for text in (b"four thousand to account 17", b"FOUR THOUSAND TO ACCOUNT 17")]
        assert in_plain == [not settings] * 2
        assert (b"CoarseGrainedClusterMessages" in spark.heard) is (not settings)

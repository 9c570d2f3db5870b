"""What operators learn of column forms that raise: a warning once, the rest for those who look closely, a count."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

import httpx2
import pytest

from penstock.runtime.column_faults import TOLD, ColumnFaultLog
from penstock.runtime.metrics import TaskMetrics
from penstock.runtime.requests import TaskId
from penstock.spark.column_faults import ColumnFault
from penstock.spark.splits import Receipt
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

TRANSFORM = ColumnFault("shop.Louder", "apply_batch", 7, "Traceback\nKeyError: 'column'")
CONVERTER = ColumnFault("shop.Texts", "decode_parts", 3, "Traceback\nLookupError: t")
LINES = 20


def test_the_first_fault_of_a_form_is_a_warning_that_says_what_to_do(caplog: pytest.LogCaptureFixture) -> None:
    told = ColumnFaultLog(TaskId("orders", 2))
    with caplog.at_level(logging.DEBUG):
        told.tell([TRANSFORM, CONVERTER])
        told.tell([TRANSFORM])
    assert [line.levelname for line in caplog.records] == ["WARNING", "WARNING", "DEBUG"]
    transform, converter, again = (line.getMessage() for line in caplog.records)
    assert transform.startswith(f"orders-2: 7 {TOLD} apply_batch of shop.Louder raised an exception.")
    assert "return None, or raise RowsDeclined" in transform
    assert transform.endswith(TRANSFORM.trace)
    assert converter.startswith(f"orders-2: 3 {TOLD} decode_parts of shop.Texts raised")
    assert "out of its parts" in converter
    assert again == f"orders-2: 7 {TOLD} apply_batch of shop.Louder raised again:\n{TRANSFORM.trace}"


def test_another_task_warns_for_itself(caplog: pytest.LogCaptureFixture) -> None:
    for task in range(2):
        ColumnFaultLog(TaskId("orders", task)).tell([TRANSFORM])
    assert [line.levelname for line in caplog.records] == ["WARNING", "WARNING"]


def test_rows_are_counted_over_receipts_and_forms() -> None:
    metrics = TaskMetrics()
    metrics.add_column_faults([Receipt(column_faults=[TRANSFORM, CONVERTER]), Receipt(), Receipt(read=5)])
    metrics.add_column_faults([Receipt(column_faults=[CONVERTER])])
    assert metrics.column_faults == 13


PLUGIN = '''
"""A transform whose column form is broken."""

from penstock.api import Transform


class Louder(Transform):
    """Changes texts."""

    version = "1"

    def apply(self, record):
        return record.with_(value=f"{record.value}!")

    def apply_batch(self, batch):
        raise KeyError("column")
'''


def files(folder: Path) -> Mapping[str, Mapping[str, str]]:
    """A file to a topic, and the topic to a file through the transform."""
    text = {"value.converter": "org.apache.kafka.connect.storage.StringConverter", "tasks.max": "1"}
    given, taken = str(folder / "given.txt"), str(folder / "taken.txt")
    return {
        "in": {**text, "connector.class": "FileStreamSource", "file": given, "topic": "lines"},
        "out": {
            **text,
            "connector.class": "FileStreamSink",
            "file": taken,
            "topics": "lines",
            "transforms": "loud",
            "transforms.loud.type": "Louder",
        },
    }


@pytest.mark.integration
def test_a_worker_warns_counts_and_moves_every_record(tmp_path: Path) -> None:
    plugins, data = tmp_path / "plugins", tmp_path / "data"
    plugins.mkdir()
    data.mkdir()
    (plugins / "loud.py").write_text(PLUGIN)
    lines = [f"line {number}" for number in range(LINES)]
    (data / "given.txt").write_text("\n".join([*lines, ""]))
    process = PenstockProcess(tmp_path / "worker", {"plugin.path": str(plugins)})
    process.quick_ways_may_raise = True
    with process as worker:
        for name, config in files(data).items():
            worker.create(name, config)
        taken = data / "taken.txt"
        wanted = [f"{line}!" for line in lines]
        wait_until(lambda: taken.exists() and taken.read_text().splitlines() == wanted, "all lines were taken", 120)
        wait_until(lambda: counted(worker.http) == LINES, "each record is counted once", 30)
    warned = [line for line in process.output.read_text().splitlines() if TOLD in line]
    assert len(warned) == 1
    assert "] WARN [out|task-0] " in warned[0]
    assert "out-0: " in warned[0]
    assert "apply_batch of loud.Louder" in warned[0]
    process.quick_ways_may_raise = False
    with pytest.raises(AssertionError, match=r"apply_batch of loud\.Louder"):
        process.check_quick_ways()


def counted(http: httpx2.Client) -> float | None:
    sample = 'penstock_task_column_fault_records_total{connector="out",task="0"} '
    found = [line for line in http.get("/metrics").text.splitlines() if line.startswith(sample)]
    return float(found[0].removeprefix(sample)) if found else None

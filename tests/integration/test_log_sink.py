"""LogSink through a real worker: what executors log is in the worker's own log, with the connector's name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = pytest.mark.integration


def test_records_are_shown_in_the_log_of_the_worker(tmp_path: Path, worker: PenstockProcess) -> None:
    (tmp_path / "in.txt").write_text("first\nsecond\n")
    worker.create(
        "lines", {"connector.class": "FileStreamSource", "file": str(tmp_path / "in.txt"), "topic": "lines"}
    )
    worker.create("shown", {"connector.class": "LogSink", "topics": "lines", "level": "WARN"})
    wanted = "WARN [shown|task-0] lines-0@1 key=null value=second"
    wait_until(lambda: wanted in worker.output.read_text(), "the second line is in the log")
    assert worker.output.read_text().count("[shown|task-0] lines-0@0 key=null value=first") == 1

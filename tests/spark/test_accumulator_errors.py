"""A connection of Spark's accumulators that breaks while a worker stops is nothing for the console."""

from __future__ import annotations

import logging
import socket
import struct
import threading
from pathlib import Path

import pytest
from pyspark.accumulators import AccumulatorUnixServer, UpdateRequestHandler

from penstock.spark.session import log_broken_accumulators
from tests.support.waiting import wait_until


def test_a_jvm_that_ends_amid_an_update_is_logged_and_not_printed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    log_broken_accumulators()
    server = AccumulatorUnixServer(str(tmp_path / "s"), UpdateRequestHandler)
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    with caplog.at_level(logging.DEBUG, logger="penstock.spark.session"):
        with socket.socket(socket.AF_UNIX) as jvm:
            jvm.connect(str(tmp_path / "s"))
            jvm.sendall(struct.pack("!i", 0))
            wait_until(lambda: jvm.recv(1, socket.MSG_PEEK), "the update is acknowledged")
        wait_until(lambda: "has lost a connection" in caplog.text, "it is logged")
    server.shutdown()
    serving.join()
    server.server_close()
    assert capfd.readouterr().err == ""

"""LogSink: which records show up in the log, and how."""

from __future__ import annotations

import logging

import pytest

from penstock.api import Header, Record, SinkContext
from penstock.connectors.log import LogSink
from penstock.connectors.log.sink import LogSinkTask


def task_for(**settings: str) -> LogSinkTask:
    task = LogSinkTask()
    task.configure(settings)
    task.context = SinkContext(connector="watch")
    return task


def test_a_record_is_one_line_with_place_key_value_and_headers(caplog: pytest.LogCaptureFixture) -> None:
    record = Record({"a": 1}, "k", "t", 2, headers=[Header("h", "x")], offset=7)
    with caplog.at_level(logging.INFO):
        task_for().put([record, Record(None, None, "t", 0, offset=8)])
    assert caplog.messages == ["t-2@7 key=k value={a=1} headers=[h=x]", "t-0@8 key=null value=null"]
    assert {entry.name for entry in caplog.records} == {"penstock.connectors.log.watch"}


def test_a_sample_follows_the_offsets(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        task_for(sample="3", level="warn").put(Record("v", None, "t", 0, offset=n) for n in range(4, 10))
    assert [message.split()[0] for message in caplog.messages] == ["t-0@6", "t-0@9"]
    assert {entry.levelno for entry in caplog.records} == {logging.WARNING}


def test_long_values_are_cut(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        task_for(**{"max.length": "3"}).put([Record("abcdef", None, "t", 0, offset=0)])
    assert caplog.messages == ["t-0@0 key=nul… (4 characters) value=abc… (6 characters)"]


def test_the_level_is_checked() -> None:
    found = LogSink.config.validate({"level": "LOUD"})
    assert found["level"].errors != []

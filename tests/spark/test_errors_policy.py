"""Names, texts and pauses of record-level errors."""

from __future__ import annotations

import pytest

from penstock.api import ConfigError, DataError, PluginError, RetriableError
from penstock.api.record import Record
from penstock.spark.errors import (
    MAX_LOG_LINES,
    ErrorHandler,
    Origin,
    Stage,
    ToleranceExceeded,
    exception_name,
    failure_of,
    headline,
    retry_delay_ms,
)
from penstock.spark.splits import ErrorPolicy
from penstock.spark.staging import Outbox

from .pumping import Given, spec_for


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (DataError("x"), "org.apache.kafka.connect.errors.DataException: x"),
        (DataError("x", "java.lang.ArithmeticException"), "java.lang.ArithmeticException: x"),
        (DataError(None, "java.lang.NullPointerException"), "java.lang.NullPointerException"),
        (ConfigError("x"), "org.apache.kafka.common.config.ConfigException: x"),
        (RetriableError("x"), "org.apache.kafka.connect.errors.RetriableException: x"),
        (PluginError("x"), "org.apache.kafka.connect.errors.ConnectException: x"),
        (ValueError("x"), "ValueError: x"),
        (ValueError(), "ValueError"),
    ],
)
def test_headlines(error: Exception, expected: str) -> None:
    assert headline(error) == expected


def test_an_error_class_of_a_plugin_keeps_its_own_name() -> None:
    class TooBusy(RetriableError):
        pass

    assert exception_name(TooBusy("x")).endswith("TooBusy")


def test_pauses_double_and_then_vary_below_the_limit() -> None:
    assert [retry_delay_ms(attempt, 2000) for attempt in (1, 2, 3)] == [300, 600, 1200]
    assert all(0 <= retry_delay_ms(attempt, 2000) < 2000 for attempt in range(4, 100))


def test_a_retry_never_pauses_beyond_the_timeout() -> None:
    pauses: list[float] = []
    policy = ErrorPolicy(tolerate_all=True, retry_timeout_ms=100, retry_delay_max_ms=60_000)
    handler = ErrorHandler(spec_for(Given, errors=policy), Outbox({}, 1), sleep=pauses.append)
    assert (
        handler.recover(RetriableError("x"), Stage.TRANSFORMATION, "n", lambda: "done", lambda: Origin("t")) == "done"
    )
    assert len(pauses) == 1
    assert pauses[0] <= 0.1


def test_the_log_of_a_batch_is_bounded() -> None:
    policy = ErrorPolicy(tolerate_all=True, log=True)
    handler = ErrorHandler(spec_for(Given, errors=policy), Outbox({}, 1))
    for _ in range(MAX_LOG_LINES + 5):
        handler.record_failed(DataError("x"), Stage.TRANSFORMATION, "n", Origin("t"))
    lines = handler.log_lines()
    assert len(lines) == MAX_LOG_LINES + 1
    assert "5 more failed records" in lines[-1]


@pytest.mark.parametrize(
    ("origin", "told"),
    [
        (Origin("orders", 3, 17), "offset 17 of orders-3"),
        (Origin("orders", record=Record("secret")), "one for topic orders"),
    ],
)
def test_the_trace_of_a_task_names_the_record_that_failed(origin: Origin, told: str) -> None:
    handler = ErrorHandler(spec_for(Given, errors=ErrorPolicy()), Outbox({}, 1))
    with pytest.raises(ToleranceExceeded) as caught:
        handler.record_failed(DataError("no such field: id"), Stage.VALUE_CONVERTER, "x.Json", origin)
    trace = failure_of(caught.value).trace
    assert trace.splitlines()[-1] == f"  Failed record: {told}, at VALUE_CONVERTER (x.Json)"
    assert "secret" not in trace

"""Tracebacks read as Python's own."""

from __future__ import annotations

import traceback
from collections.abc import Callable

import pytest

from penstock.api import DataError
from penstock.spark import traces
from penstock.spark.traces import format_trace


def deep(levels: int) -> None:
    if levels:
        deep(levels - 1)
    raise ValueError("deep")


def caused() -> None:
    try:
        int("x")
    except ValueError as error:
        raise DataError("two\nlines") from error


def meanwhile() -> None:
    try:
        caused()
    except DataError:
        raise KeyError("later")  # noqa: B904


def hidden() -> None:
    try:
        caused()
    except DataError:
        raise RuntimeError from None


def misspelt() -> None:
    "".joiin(())  # type: ignore[attr-defined]


def noted() -> None:
    error = DataError(None)
    if hasattr(error, "add_note"):
        error.add_note("a note")
    raise error


def unreadable() -> None:
    compile("a b", "file", "exec")


class Unprintable(Exception):
    def __str__(self) -> str:
        raise TypeError("no text")


def unprintable() -> None:
    raise Unprintable


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(
    "fail", [lambda: deep(9), lambda: deep(1), caused, meanwhile, hidden, misspelt, noted, unreadable, unprintable]
)
def test_a_trace_is_what_python_prints(fail: Callable[[], None], times: int) -> None:
    for _ in range(times):
        with pytest.raises(Exception) as raised:  # noqa: PT011
            fail()
        assert format_trace(raised.value) == "".join(traceback.format_exception(raised.value))


@pytest.mark.parametrize("fail", [lambda: deep(9), caused, meanwhile, hidden, unprintable])
def test_only_what_is_printed_with_more_than_frames_and_texts_is_left_to_python(
    fail: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Exception) as raised:  # noqa: PT011
        fail()
    expected = "".join(traceback.format_exception(raised.value))

    def slow(error: BaseException) -> list[str]:
        raise AssertionError("the slow way was taken")

    monkeypatch.setattr(traces.traceback, "format_exception", slow)
    assert format_trace(raised.value) == expected


def test_an_exception_that_was_never_raised_has_a_trace_too() -> None:
    error = DataError("never raised")
    assert format_trace(error) == "".join(traceback.format_exception(error))


def test_exceptions_that_cause_each_other_end() -> None:
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    assert format_trace(one) == "".join(traceback.format_exception(one))

"""The last lines of each connector, kept in memory."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from penstock.runtime import recent_log
from penstock.runtime.log_lines import connector_context
from penstock.runtime.recent_log import RecentLog


@pytest.fixture
def recent() -> Iterator[RecentLog]:
    handler = RecentLog()
    handler.worker_id = "here:8083"
    logger = logging.getLogger("penstock.test.recent")
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


def say(text: str, connector: str = "orders", part: str = "worker", error: bool = False) -> None:
    logger = logging.getLogger("penstock.test.recent")
    with connector_context(connector, part):
        (logger.exception if error else logger.info)("%s", text)


def texts(recent: RecentLog, connector: str = "orders", most: int = 100) -> list[str]:
    return [line.message for line in recent.lines(connector, most)]


def test_lines_belong_to_the_connector_they_were_logged_for(recent: RecentLog) -> None:
    say("first")
    say("second", part="task-3")
    say("other", "lines")
    logging.getLogger("penstock.test.recent").info("nobody's")
    assert texts(recent) == ["first", "second"]
    assert texts(recent, "lines") == ["other"]
    assert texts(recent, "unknown") == []
    second = recent.lines("orders", 1)[0]
    assert (second.task, second.worker_id, second.level, second.message) == (3, "here:8083", "INFO", "second")
    assert recent.lines("orders", 100)[0].task is None


def test_a_failure_has_its_trace(recent: RecentLog) -> None:
    try:
        raise ValueError("no such table")
    except ValueError:
        say("it failed", error=True)
    (text,) = texts(recent)
    assert text.startswith("it failed\nTraceback")
    assert text.endswith("ValueError: no such table")


def test_only_so_much_is_kept(recent: RecentLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_log, "MOST_LINES", 3)
    monkeypatch.setattr(recent_log, "MOST_TEXT", 50)
    monkeypatch.setattr(recent_log, "MOST_TEXT_OF_ALL", 90)
    monkeypatch.setattr(recent_log, "LONGEST_LINE", 20)
    for number in range(5):
        say(f"{number}")
    assert texts(recent) == ["2", "3", "4"]
    say("x" * 100)
    say("y" * 100)
    say("z" * 100)
    assert [text[:1] + text[-1:] for text in texts(recent)] == ["y…", "z…"]
    say("a" * 40, "lines")
    say("b" * 40, "lines")
    assert texts(recent) != []
    say("c" * 40, "more")
    assert texts(recent) == []
    assert len(texts(recent, "lines")) == 2
    assert len(texts(recent, "more")) == 1

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from penstock.runtime.logging import (
    ACCESS_LOG,
    LEVELS,
    Loggers,
    configure_logging,
    connector_context,
    level_name,
)
from penstock.runtime.requests import NotFound


@pytest.fixture(autouse=True)
def _levels_are_put_back() -> Iterator[None]:
    root = logging.getLogger()
    before = {logger: logger.level for logger in _all_loggers()}
    handlers = list(root.handlers)
    yield
    for logger in _all_loggers():
        logger.setLevel(before.get(logger, logging.NOTSET))
    root.handlers[:] = handlers


def _all_loggers() -> list[logging.Logger]:
    known = [item for item in logging.root.manager.loggerDict.values() if isinstance(item, logging.Logger)]
    return [logging.getLogger(), *known]


@pytest.fixture
def name() -> str:
    return f"org.example.x{uuid.uuid4().hex}"


def test_an_unknown_logger_is_not_found(name: str) -> None:
    with pytest.raises(NotFound, match=rf"Logger {name} not found\."):
        Loggers().get(name)


def test_setting_a_level_creates_the_logger_and_takes_effect(name: str) -> None:
    loggers = Loggers()
    assert loggers.set(name, "debug") == [name]
    assert loggers.get(name).level == "DEBUG"
    assert loggers.get(name).last_modified is not None
    assert logging.getLogger(name).isEnabledFor(logging.DEBUG)
    assert loggers.all()[name] == loggers.get(name)


def test_an_equal_level_changes_nothing(name: str) -> None:
    loggers = Loggers()
    loggers.set(name, "WARN")
    before = loggers.get(name)
    assert loggers.set(name, "warn") == []
    assert loggers.get(name) == before


def test_a_namespace_sets_all_loggers_that_start_with_it(name: str) -> None:
    loggers = Loggers()
    logging.getLogger(f"{name}.a.b")
    loggers.set(f"{name}.c", "ERROR")
    assert loggers.set(name, "ERROR") == [name, f"{name}.a.b"]
    assert loggers.get(f"{name}.a.b").level == "ERROR"


@pytest.mark.parametrize("root", ["root", "ROOT", ""])
def test_the_root_sets_every_logger(root: str, name: str) -> None:
    loggers = Loggers()
    loggers.set(name, "TRACE")
    changed = loggers.set(root, "ERROR")
    assert {"root", name} <= set(changed)
    assert {entry.level for entry in loggers.all().values()} == {"ERROR"}
    assert loggers.get("root").level == "ERROR"


def test_an_unknown_level_is_refused_and_nothing_is_created(name: str) -> None:
    loggers = Loggers()
    with pytest.raises(NotFound, match=r"invalid log level 'LOUD'\."):
        loggers.set(name, "LOUD")
    with pytest.raises(NotFound):
        loggers.get(name)


def test_loggers_are_sorted_and_off_is_left_out(name: str) -> None:
    loggers = Loggers()
    loggers.set(name, "OFF")
    listed = loggers.all()
    assert list(listed) == sorted(listed)
    assert name not in listed
    assert loggers.get(name).level == "OFF"
    assert not logging.getLogger(name).isEnabledFor(logging.CRITICAL)


@pytest.mark.parametrize("level", LEVELS)
def test_every_level_can_be_set_and_read_back(level: str, name: str) -> None:
    loggers = Loggers()
    loggers.set(name, level)
    assert loggers.get(name).level == level


def test_numbers_between_levels_take_the_lower_name() -> None:
    assert [level_name(number) for number in (0, 7, 15, 25, 1000)] == ["ALL", "TRACE", "DEBUG", "INFO", "OFF"]


@pytest.mark.parametrize(
    ("access", "levels"),
    [("all", ["DEBUG", "INFO"]), ("changes", ["INFO"]), ("none", [])],
)
def test_a_worker_chooses_which_requests_are_logged(tmp_path: Path, access: str, levels: list[str]) -> None:
    configure_logging("info", tmp_path / "worker.log", access=access)
    log = logging.getLogger(ACCESS_LOG)
    log.debug("looked")
    log.info("changed")
    lines = (tmp_path / "worker.log").read_text().splitlines()
    assert [line.split("] ")[1].split()[0] for line in lines] == levels


def test_lines_of_a_connector_say_so(tmp_path: Path) -> None:
    file = tmp_path / "logs" / "worker.log"
    configure_logging("info", file)
    logger = logging.getLogger("penstock.test")
    with connector_context("orders", "task-0"):
        logger.warning("slow %s", "down")
    logger.debug("not shown")
    logger.info("after")
    first, second = file.read_text().splitlines()
    assert "WARN [orders|task-0] slow down (penstock.test:" in first
    assert "INFO after (penstock.test:" in second


def test_lines_name_the_worker(tmp_path: Path) -> None:
    configure_logging("info", tmp_path / "worker.log", worker="10.0.0.1:8083")
    logging.getLogger("penstock.test").info("hello")
    assert (tmp_path / "worker.log").read_text().rstrip().endswith(" on 10.0.0.1:8083)")


def test_json_lines_carry_connector_task_worker_and_trace(tmp_path: Path) -> None:
    configure_logging("info", tmp_path / "worker.log", as_json=True, worker="10.0.0.1:8083")
    logger = logging.getLogger("penstock.test")
    with connector_context("orders", "task-7"):
        try:
            raise ValueError("a\nb")
        except ValueError:
            logger.exception('it "failed"\n%s', "here")
    with connector_context("orders"):
        logger.info("näher")
    logger.warning("after")
    failed, of_connector, after = map(json.loads, (tmp_path / "worker.log").read_text().splitlines())
    assert failed["message"] == 'it "failed"\nhere'
    assert failed["trace"].endswith("ValueError: a\nb")
    assert (failed["connector"], failed["task"], failed["worker"]) == ("orders", 7, "10.0.0.1:8083")
    assert datetime.fromisoformat(failed["time"].replace("Z", "+00:00")).tzinfo is not None
    assert (of_connector["message"], of_connector["connector"], "task" in of_connector) == ("näher", "orders", False)
    assert (after["level"], after["logger"], "connector" in after) == ("WARN", "penstock.test", False)


def test_configuring_again_replaces_the_file(tmp_path: Path) -> None:
    configure_logging("INFO", tmp_path / "a.log")
    configure_logging("INFO", tmp_path / "b.log")
    logging.getLogger("penstock.test").info("once")
    assert (tmp_path / "a.log").read_text() == ""
    assert (tmp_path / "b.log").read_text().count("once") == 1

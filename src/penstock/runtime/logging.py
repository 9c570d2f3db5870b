"""Logs: where lines go, and the levels that can be changed while the worker runs."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Mapping
from logging.handlers import RotatingFileHandler
from pathlib import Path
from threading import Lock

from .log_lines import JsonLines, TextLines
from .log_lines import connector_context as connector_context
from .requests import LoggerLevel, NotFound

ROOT = "root"
TRACE = 5
OFF = 100

LEVELS: Mapping[str, int] = {
    "ALL": 1,
    "TRACE": TRACE,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "OFF": OFF,
}
"""Kafka Connect's level names and Python's numbers."""

ACCESS_LOG = "penstock.rest.access"
"""The logger of requests: at INFO those that change something or fail, at DEBUG those that only look."""

ACCESS_LEVELS: Mapping[str, int] = {"all": logging.DEBUG, "changes": logging.NOTSET, "none": logging.WARNING}
"""How much of it is wanted, and what its logger is set to; ``NOTSET`` goes with the root."""

_FILE_BYTES = 20 * 1024 * 1024
_FILE_BACKUPS = 5


def level_number(level: str) -> int:
    """The number of a level name in any case. Raises ``NotFound`` with Kafka Connect's text."""
    number = LEVELS.get(level.upper())
    if number is None:
        raise NotFound(f"invalid log level '{level}'.")
    return number


def level_name(number: int) -> str:
    """The name of the nearest level at or below ``number``."""
    return max((value, name) for name, value in LEVELS.items() if value <= max(number, 1))[1]


def no_logs_yet() -> None:
    """Until :func:`configure_logging` is called lines go nowhere: Python would print warnings as they come."""
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(logging.NullHandler())


def configure_logging(
    level: str = "INFO",
    file: Path | None = None,
    as_json: bool = False,
    worker: str = "",
    access: str = "changes",
) -> None:
    """Send all logs to ``file`` (rotated) or, without one, to standard output. Replaces what was set up before.

    Lines name ``worker``; with ``as_json`` each is a JSON object. ``access`` is one of :data:`ACCESS_LEVELS`.
    """
    for name, number in LEVELS.items():
        logging.addLevelName(number, name)
    handler: logging.Handler
    if file is None:
        handler = logging.StreamHandler(sys.stdout)
    else:
        file.parent.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(file, maxBytes=_FILE_BYTES, backupCount=_FILE_BACKUPS, encoding="utf-8")
    handler.setFormatter(JsonLines(worker) if as_json else TextLines(worker))
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
        old.close()
    root.addHandler(handler)
    root.setLevel(level_number(level))
    logging.getLogger(ACCESS_LOG).setLevel(ACCESS_LEVELS[access])
    logging.captureWarnings(True)
    for chatty in ("py4j", "httpx2", "httpcore2", "uvicorn.access"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


class Loggers:
    """The loggers of this process, as ``/admin/loggers`` shows and sets them."""

    def __init__(self) -> None:
        self._modified: dict[str, int] = {}
        self._lock = Lock()

    def all(self) -> dict[str, LoggerLevel]:
        """Every logger by name, sorted, with the level in force; those that are OFF are left out."""
        with self._lock:
            shown = {name: self._show(name, logger) for name, logger in sorted(_existing().items())}
        return {name: level for name, level in shown.items() if level.level != "OFF"}

    def get(self, name: str) -> LoggerLevel:
        """One logger. Raises ``NotFound``."""
        name = _canonical(name)
        with self._lock:
            logger = _existing().get(name)
            if logger is None:
                raise NotFound(f"Logger {name} not found.")
            return self._show(name, logger)

    def set(self, namespace: str, level: str) -> list[str]:
        """Set the level of a logger and of all below it (of all there are, for the root).

        Returns the sorted names whose level is now another. A logger that does not exist yet is created.
        """
        number = level_number(level)
        namespace = _canonical(namespace)
        now = time.time_ns() // 1_000_000
        with self._lock:
            if namespace != ROOT:
                logging.getLogger(namespace)
            chosen = {
                name: logger for name, logger in _existing().items() if namespace == ROOT or name.startswith(namespace)
            }
            changed = sorted(name for name, logger in chosen.items() if logger.getEffectiveLevel() != number)
            for logger in chosen.values():
                logger.setLevel(number)
            self._modified.update(dict.fromkeys(changed, now))
        return changed

    def _show(self, name: str, logger: logging.Logger) -> LoggerLevel:
        return LoggerLevel(level_name(logger.getEffectiveLevel()), self._modified.get(name))


def _canonical(name: str) -> str:
    return ROOT if not name or name.lower() == ROOT else name


def _existing() -> dict[str, logging.Logger]:
    known = logging.root.manager.loggerDict
    loggers = {name: logger for name, logger in list(known.items()) if isinstance(logger, logging.Logger)}
    return {**loggers, ROOT: logging.getLogger()}

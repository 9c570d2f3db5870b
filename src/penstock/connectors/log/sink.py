"""A sink to look at: it writes records to the log and keeps nothing."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock.api import (
    Config,
    ConfigDef,
    ConfigKey,
    Importance,
    Record,
    SinkConnector,
    SinkTask,
    Type,
    at_least,
    one_of_ignoring_case,
)
from penstock.api.text import java_text

LEVELS = {"TRACE": 5, "DEBUG": logging.DEBUG, "INFO": logging.INFO, "WARN": logging.WARNING, "ERROR": logging.ERROR}
CONFIG = ConfigDef(
    ConfigKey(
        "level",
        Type.STRING,
        "INFO",
        Importance.MEDIUM,
        "The level to log at: TRACE, DEBUG, INFO, WARN or ERROR.",
        validator=one_of_ignoring_case(*LEVELS),
    ),
    ConfigKey(
        "sample",
        Type.INT,
        1,
        Importance.MEDIUM,
        "Log every record (1), or only each so-many-th of a partition; the others are counted.",
        validator=at_least(1),
    ),
    ConfigKey(
        "max.length",
        Type.INT,
        1000,
        Importance.LOW,
        "Cut longer values to so many characters.",
        validator=at_least(1),
    ),
)


class LogSinkTask(SinkTask):
    """Logs records of its topics under the name ``penstock.connectors.log.<connector>``.

    Which records of a partition are logged follows from their offsets, so a repeated batch logs the same ones.
    """

    ordered = False

    def configure(self, config: Mapping[str, str]) -> None:
        super().configure(config)
        own = CONFIG.parse(config)
        self._level = LEVELS[own["level"].upper()]
        self._sample: int = own["sample"]
        self._max_length: int = own["max.length"]

    def put(self, records: Iterable[Record]) -> Mapping[str, Any] | None:
        log = logging.getLogger(f"{__package__}.{self.context.connector}")
        for record in records:
            if (record.offset or 0) % self._sample == 0:
                log.log(self._level, "%s", self._shown(record))
        return None

    def _shown(self, record: Record) -> str:
        headers = ", ".join(f"{header.key}={java_text(header.value, header.schema)}" for header in record.headers)
        key = self._cut(java_text(record.key, record.key_schema))
        value = self._cut(java_text(record.value, record.value_schema))
        text = f"{record.topic}-{record.partition}@{record.offset} key={key} value={value}"
        return f"{text} headers=[{headers}]" if headers else text

    def _cut(self, text: str) -> str:
        return text if len(text) <= self._max_length else f"{text[: self._max_length]}… ({len(text)} characters)"


class LogSink(SinkConnector):
    """Shows the records of some topics in the log of the worker that runs the task."""

    version = "0.1.0"
    task = LogSinkTask
    config = CONFIG

    def task_configs(self, max_tasks: int) -> Sequence[Config]:
        return [dict(self.settings) for _ in range(max_tasks)]

    def alter_offsets(self, config: Config, offsets: Mapping[tuple[str, int], int | None]) -> bool:
        return True

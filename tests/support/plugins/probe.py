"""Connectors that do what a test tells them, and write down what was done to them.

Every call is a line of JSON in the file ``journal``. ``fail``, ``hang`` and ``slow`` name calls (``start``,
``task.plan``, ``on_created`` …) that raise, never return, or take a second, and ``hang.until.healed`` those that
return when ``trouble.file`` is gone; with ``trouble.file`` they only do while
that file exists, with ``trouble.tasks`` only in the tasks of these numbers. ``kill`` names calls in which the process
dies. ``alter.offsets`` chooses the answer of
``alter_offsets``: ``true``, ``false``, ``unsupported`` or ``raise``. ``reconfigure=stop`` asks for new tasks at a
strange moment, and a sink fails at the value ``poison``. A source goes on without end while ``endless.file`` exists.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.api import (
    ConfigDef,
    ConfigKey,
    Plan,
    PluginError,
    Record,
    SinkConnector,
    SinkTask,
    SourceConnector,
    SourceTask,
    Split,
    Type,
    UnsupportedOperationError,
)

ENDLESS_BATCH_SECONDS = 0.1
"""What a batch of an endless source takes: whatever happens to it happens amid one, and others find a core free."""

KEYS = (
    ConfigKey("journal", Type.STRING, default=""),
    ConfigKey("fail", Type.LIST, default=[]),
    ConfigKey("hang", Type.LIST, default=[]),
    ConfigKey("hang.until.healed", Type.LIST, default=[]),
    ConfigKey("slow", Type.LIST, default=[]),
    ConfigKey("kill", Type.LIST, default=[]),
    ConfigKey("trouble.file", Type.STRING, default=""),
    ConfigKey("trouble.tasks", Type.LIST, default=[]),
    ConfigKey("tasks.made", Type.INT, default=1),
    ConfigKey("alter.offsets", Type.STRING, default="false"),
    ConfigKey("reconfigure", Type.STRING, default=""),
    ConfigKey("secret", Type.PASSWORD, default=""),
)


def note(config: Mapping[str, str], call: str, /, **details: Any) -> None:
    """Write a call down, then do as the configuration says."""
    if config.get("journal"):
        line = json.dumps({"call": call, "pid": os.getpid(), **details})
        with open(config["journal"], "a", encoding="utf-8") as journal:
            journal.write(line + "\n")
    obey(config, call)


def obey(config: Mapping[str, str], call: str) -> None:
    """Fail, hang or take long if the configuration says so of this call."""
    trouble = config.get("trouble.file")
    if trouble and not Path(trouble).exists():
        return
    chosen = config.get("trouble.tasks")
    if chosen and config.get("task.number") not in chosen.split(","):
        return
    if call in config.get("slow", "").split(","):
        time.sleep(1)
    if call in config.get("hang", "").split(","):
        time.sleep(3600)
    while call in config.get("hang.until.healed", "").split(",") and Path(config["trouble.file"]).exists():
        time.sleep(0.05)
    if call in config.get("kill", "").split(","):
        os.kill(os.getpid(), signal.SIGKILL)
    if call in config.get("fail", "").split(","):
        raise PluginError(f"{call} was told to fail")


class _Probe:
    """What source and sink have in common."""

    settings: Mapping[str, str]
    request_task_reconfiguration: Callable[[], None]

    def configure(self, settings: Mapping[str, str]) -> None:
        self.settings = settings
        obey(settings, "configure")

    def validate(self, settings: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
        note(settings, "validate")
        return {}

    def start(self) -> None:
        note(self.settings, "start")

    def stop(self) -> None:
        note(self.settings, "stop")
        if self.settings.get("reconfigure") == "stop":
            self.request_task_reconfiguration()

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        note(self.settings, "task_configs", max_tasks=max_tasks)
        made = int(self.settings.get("tasks.made", "1"))
        return [{**self.settings, "task.number": str(number)} for number in range(made)]

    def alter_offsets(self, config: Mapping[str, str], offsets: Any) -> bool:
        shown = list(offsets.items()) if isinstance(offsets, Mapping) else list(offsets)
        note(config, "alter_offsets", offsets=shown)
        answer = config.get("alter.offsets", "false")
        if answer == "unsupported":
            raise UnsupportedOperationError("told to")
        if answer == "raise":
            raise PluginError("these offsets are refused")
        return answer == "true"

    def on_created(self, config: Mapping[str, str]) -> None:
        note(self.settings, "on_created", by=type(self).__name__, config=dict(config))

    def on_updated(self, old: Mapping[str, str], new: Mapping[str, str]) -> None:
        note(self.settings, "on_updated", by=type(self).__name__, old=dict(old), new=dict(new))

    def on_deleted(self, old: Mapping[str, str]) -> None:
        note(old, "on_deleted", by=type(self).__name__, old=dict(old))


class ProbeSourceTask(SourceTask):
    """Counts up to ``count`` in each task, ten records a batch; the offset is the next number."""

    def start(self) -> None:
        note(self.config, "task.start", task=self.config["task.number"])

    def plan(self, offsets: Any) -> Plan | None:
        partition = {"task": int(self.config["task.number"])}
        position = (offsets.get(partition) or {"next": 0})["next"]
        obey(self.config, "task.plan")
        endless = self.config.get("endless.file")
        goes_on = endless is not None and Path(endless).exists()
        end = position + 10 if goes_on else min(int(self.config.get("count", "0")), position + 10)
        if position >= end:
            return None
        return Plan([Split({"first": position, "end": end})], [(partition, {"next": end})])

    def read(self, split: Split) -> Iterator[Record]:
        obey(self.config, "task.read")
        if "endless.file" in self.config:
            time.sleep(ENDLESS_BATCH_SECONDS)
        for number in range(split.payload["first"], split.payload["end"]):
            value = f"{self.config['task.number']}:{number}"
            yield Record(topic=self.config["topic"], key=value, value=value)

    def stop(self) -> None:
        note(self.config, "task.stop", task=self.config["task.number"])


class ProbeSource(_Probe, SourceConnector):
    """A source that obeys."""

    version = "1.0"
    config = ConfigDef(*KEYS, ConfigKey("topic", Type.STRING), ConfigKey("count", Type.INT, default=0))
    task = ProbeSourceTask


class OtherSource(ProbeSource):
    """The same by another name: for changes of the class."""


class ProbeSinkTask(SinkTask):
    """Writes ``topic partition offset value`` lines to ``file``."""

    def start(self) -> None:
        note(self.config, "task.start", task=self.config["task.number"])

    def put(self, records: Iterable[Record]) -> None:
        note(self.config, "task.put")
        lines = [
            f"{record.topic} {record.partition} {record.offset} {record.value}\n" for record in self._good(records)
        ]
        with open(self.config["file"], "a", encoding="utf-8") as file:
            file.write("".join(lines))

    def _good(self, records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            if record.value == self.config.get("poison"):
                raise PluginError(f"{record.value} is poison")
            yield record

    def stop(self) -> None:
        note(self.config, "task.stop", task=self.config["task.number"])


class ProbeSink(_Probe, SinkConnector):
    """A sink that obeys."""

    version = "1.0"
    config = ConfigDef(*KEYS, ConfigKey("file", Type.STRING), ConfigKey("poison", Type.STRING, default=""))
    task = ProbeSinkTask


class StuckSource(ProbeSource):
    """A source that cannot even be made."""

    def __init__(self) -> None:
        super().__init__()
        time.sleep(3600)


class StuckTask(ProbeSourceTask):
    """A task that cannot even be made."""

    def __init__(self) -> None:
        super().__init__()
        time.sleep(3600)


class StuckTaskSource(ProbeSource):
    """A source whose tasks cannot be made."""

    task = StuckTask


class PlainSource(SourceConnector):
    """A connector without any hook, as written before hooks existed."""

    version = "1.0"
    config = ConfigDef(*KEYS, ConfigKey("topic", Type.STRING), ConfigKey("count", Type.INT, default=0))
    task = ProbeSourceTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [{**self.settings, "task.number": "0"}]

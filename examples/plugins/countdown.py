"""A source and a sink of one's own, as small as they can be. Put this folder into ``plugin.path`` to use them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from penstock.api import (
    ConfigDef,
    ConfigKey,
    Importance,
    Plan,
    Record,
    SinkConnector,
    SinkTask,
    SourceConnector,
    SourceOffsets,
    SourceTask,
    Split,
    Type,
    at_least,
)

PARTITION = {"countdown": "default"}
BATCH = 1000


class CountdownTask(SourceTask):
    """Counts from ``start`` down to 1."""

    def plan(self, offsets: SourceOffsets) -> Plan | None:
        """In the driver: what is next follows from the committed offset alone."""
        offset = offsets.get(PARTITION)
        top = int(self.config["start"]) if offset is None else offset["left"]
        if top == 0:
            return None
        bottom = max(top - BATCH, 0)
        return Plan([Split({"top": top, "bottom": bottom})], [(PARTITION, {"left": bottom})])

    def read(self, split: Split) -> Iterator[Record]:
        """On an executor: only what the split says."""
        for number in range(split.payload["top"], split.payload["bottom"], -1):
            yield Record(value={"left": number}, key=str(number), topic=self.config["topic"])


class Countdown(SourceConnector):
    """Numbers that go down to one, once."""

    version = "1.0.0"
    task = CountdownTask
    config = ConfigDef(
        ConfigKey("topic", Type.STRING, importance=Importance.HIGH, doc="The topic to write to."),
        ConfigKey("start", Type.INT, importance=Importance.HIGH, doc="The first number.", validator=at_least(1)),
    )


class TopicFilesTask(SinkTask):
    """Appends every record to the file of its topic."""

    def put(self, records: Iterable[Record]) -> None:
        folder = Path(self.config["folder"])
        folder.mkdir(parents=True, exist_ok=True)
        for record in records:
            with (folder / f"{record.topic}.txt").open("a") as file:
                file.write(f"{record.key}: {record.value}\n")


class TopicFiles(SinkConnector):
    """One text file a topic."""

    version = "1.0.0"
    task = TopicFilesTask
    config = ConfigDef(ConfigKey("folder", Type.STRING, importance=Importance.HIGH, doc="Where the files go."))

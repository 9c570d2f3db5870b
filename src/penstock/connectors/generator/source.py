"""A source that needs nothing outside: it makes its records up."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from penstock.api import (
    Batch,
    Config,
    ConfigDef,
    ConfigError,
    ConfigKey,
    Importance,
    Plan,
    SourceConnector,
    SourceOffset,
    SourceOffsets,
    SourcePartition,
    SourceTask,
    Split,
    Type,
    at_least,
    between,
    non_empty_string,
    one_of,
)

from .shapes import SHAPES, keys

PART = "part"
PARTS = "parts"
NEXT = "next"

CONFIG = ConfigDef(
    ConfigKey(
        "topic", Type.STRING, importance=Importance.HIGH, doc="The topic to write to.", validator=non_empty_string
    ),
    ConfigKey(
        "rate",
        Type.DOUBLE,
        10.0,
        Importance.HIGH,
        "Records a second, all tasks together. 0: as fast as the machine goes.",
        validator=at_least(0),
    ),
    ConfigKey(
        "count",
        Type.LONG,
        -1,
        Importance.MEDIUM,
        "How many records in all, all tasks together. -1: without end.",
        validator=at_least(-1),
    ),
    ConfigKey(
        "shape",
        Type.STRING,
        "order",
        Importance.MEDIUM,
        "What a value is: counter (a 64-bit number), text (text.bytes long), or order (a struct of six fields).",
        validator=one_of(*SHAPES),
    ),
    ConfigKey(
        "text.bytes",
        Type.INT,
        100,
        Importance.LOW,
        "The length of each value when shape is text.",
        validator=between(1, 10_000_000),
    ),
    ConfigKey(
        "keys",
        Type.INT,
        0,
        Importance.LOW,
        "How many different keys the records have. 0: records without keys.",
        validator=at_least(0),
    ),
)

_BATCH_BYTES = 8 << 20
_LONGEST_BURST_SECONDS = 1.0


class GeneratorTask(SourceTask):
    """Makes every ``parts``-th record of the series, from its own number on.

    Source partition ``{"part", "parts"}`` → ``{"next"}``, the number of records it has made. A record follows from its
    number alone, so what is made again after a crash is the same. Another number of tasks is another series.
    """

    def configure(self, config: Mapping[str, str]) -> None:
        super().configure(config)
        own = CONFIG.parse(config)
        self._topic: str = own["topic"]
        self._shape = SHAPES[own["shape"]]
        self._bytes: int = own["text.bytes"]
        self._keys: int = own["keys"]
        self._part = int(config.get(PART, "0"))
        self._parts = int(config.get(PARTS, "1"))
        self._rate: float = own["rate"] / self._parts
        self._total: int | None = None if own["count"] < 0 else len(range(self._part, own["count"], self._parts))
        self._partition = {PART: self._part, PARTS: self._parts}
        self._paced_from: tuple[float, int] | None = None

    def plan(self, offsets: SourceOffsets) -> Plan | None:
        offset = offsets.get(self._partition)
        start = 0 if offset is None else int(offset[NEXT])
        size = self._due(start)
        if self._total is not None:
            size = min(size, self._total - start)
        if size <= 0:
            return None
        cores = os.cpu_count() or 1
        each = max(1, _BATCH_BYTES // max(self._bytes, 100))
        size = min(size, cores * each)
        edges = [*range(start, start + size, each), start + size]
        splits = [Split({"from": a, "to": b}) for a, b in pairwise(edges)]
        return Plan(splits, [(self._partition, {NEXT: start + size})])

    def _due(self, start: int) -> int:
        """How many records the rate allows now; a pause does not add up to a flood."""
        if not self._rate:
            return 1 << 62
        now = time.monotonic()
        began, first = self._paced_from or (now, start + 1)
        due = int((now - began) * self._rate) - (start - first)
        burst = max(1, int(self._rate * _LONGEST_BURST_SECONDS))
        if due > burst or due < -burst:
            began, first, due = now, start + 1, 1
        self._paced_from = (began, first)
        return due

    def read(self, split: Split) -> Iterator[Batch]:
        made = np.arange(split.payload["from"], split.payload["to"], dtype=np.int64)
        numbers = made * self._parts + self._part
        key = keys(numbers, self._keys) if self._keys else None
        yield Batch(self._topic, self._shape(numbers, self._bytes), key)


class Generator(SourceConnector):
    """Records at a rate, for demonstrations, tests and load."""

    version = "0.1.0"
    task = GeneratorTask
    config = CONFIG

    def task_configs(self, max_tasks: int) -> Sequence[Config]:
        return [{**self.settings, PART: str(part), PARTS: str(max_tasks)} for part in range(max_tasks)]

    def alter_offsets(self, config: Config, offsets: Sequence[tuple[SourcePartition, SourceOffset | None]]) -> bool:
        """Check that each offset is one this connector could have made."""
        for partition, offset in offsets:
            if offset is None:
                continue
            made = offset.get(NEXT)
            if isinstance(made, bool) or not isinstance(made, int) or made < 0:
                raise ConfigError(f"Offset objects should be null or contain '{NEXT}', a number of records, 0 or more")
            if set(partition) != {PART, PARTS}:
                raise ConfigError(f"Partition objects should contain the keys '{PART}' and '{PARTS}' and no others")
        return True

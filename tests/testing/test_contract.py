"""The contract checker: content with our own connectors, and not with ones that break the contract."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

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
)
from penstock.connectors.file.sink import FileStreamSink
from penstock.connectors.file.source import FileStreamSource
from penstock.connectors.generator.source import Generator
from penstock.testing import SinkContract, SourceContract

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "plugins"))
from countdown import Countdown, TopicFiles


@pytest.mark.integration
class TestCountdown(SourceContract):
    connector = Countdown

    def settings(self) -> Mapping[str, str]:
        return {"topic": "numbers", "start": "3500"}


@pytest.mark.integration
class TestGenerator(SourceContract):
    connector = Generator

    def settings(self) -> Mapping[str, str]:
        return {"topic": "orders", "rate": "0", "count": "20000", "keys": "3"}


@pytest.mark.integration
class TestFileSource(SourceContract):
    connector = FileStreamSource

    @pytest.fixture(autouse=True)
    def _file(self, tmp_path: Path) -> None:
        self.file = tmp_path / "in.txt"
        self.file.write_text("".join(f"line {number}\n" for number in range(100)))

    def settings(self) -> Mapping[str, str]:
        return {"topic": "lines", "file": str(self.file)}


@pytest.mark.integration
class TestTopicFiles(SinkContract):
    connector = TopicFiles

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def settings(self) -> Mapping[str, str]:
        return {"folder": str(self.folder)}

    def written(self) -> list[str]:
        return (self.folder / "test.txt").read_text().splitlines()

    def expected(self, record: Record) -> str:
        return f"{record.key}: {record.value}"


@pytest.mark.integration
class TestFileSink(SinkContract):
    connector = FileStreamSink
    exactly_once = True

    @pytest.fixture(autouse=True)
    def _file(self, tmp_path: Path) -> None:
        self.file = tmp_path / "out.txt"

    def settings(self) -> Mapping[str, str]:
        return {"file": str(self.file), "topics": "test"}

    def written(self) -> list[str]:
        return self.file.read_text().splitlines()


PLACE = {"p": 0}


class GoodTask(SourceTask):
    """Three batches of two."""

    def plan(self, offsets: SourceOffsets) -> Plan | None:
        at = (offsets.get(PLACE) or {"n": 0})["n"]
        return None if at == 6 else Plan([Split({"from": at})], [(PLACE, {"n": at + 2})])

    def read(self, split: Split) -> Iterator[Record]:
        for number in range(split.payload["from"], split.payload["from"] + 2):
            yield Record(value=number, topic="t")


class Good(SourceConnector):
    """Keeps the contract."""

    version = "1"
    task = GoodTask
    config = ConfigDef(ConfigKey("topic", Type.STRING, importance=Importance.HIGH, doc="Where to."))


class RemembersTask(GoodTask):
    """Remembers in the object where it is."""

    def start(self) -> None:
        self.at = 0

    def plan(self, offsets: SourceOffsets) -> Plan | None:
        if self.at == 6:
            return None
        self.at += 2
        return Plan([Split({"from": self.at - 2})], [(PLACE, {"n": self.at})])


class SkipsTask(GoodTask):
    """Loses a record where it resumes."""

    def plan(self, offsets: SourceOffsets) -> Plan | None:
        self.first = getattr(self, "first", True)
        at = (offsets.get(PLACE) or {"n": 0})["n"]
        skipped = 1 if self.first and at else 0
        self.first = False
        return None if at == 6 else Plan([Split({"from": at + skipped})], [(PLACE, {"n": at + 2})])


class UnpicklableTask(GoodTask):
    def plan(self, offsets: SourceOffsets) -> Plan | None:
        return None if offsets.all() else Plan([Split({"from": 0, "connection": lambda: None})], [(PLACE, {"n": 2})])


class OddOffsetTask(GoodTask):
    def plan(self, offsets: SourceOffsets) -> Plan | None:
        return None if offsets.all() else Plan([Split({"from": 0})], [(PLACE, {"n": {1, 2}})])


def bad(task: type[SourceTask] = GoodTask, **more: Any) -> SourceContract:
    made = type("Bad", (Good,), {"task": task, "__doc__": "Bad.", **more})

    class Contract(SourceContract):
        connector: ClassVar[type[SourceConnector]] = made

        def settings(self) -> Mapping[str, str]:
            return {"topic": "t"}

    return Contract()


def _once(self: Any, config: Any) -> None:
    made: set[str] = type(self).made
    if "slot" in made:
        raise RuntimeError("slot exists")
    made.add("slot")


def _too_many(self: Any, most: int) -> list[dict[str, str]]:
    return [{"n": "1"}] * 3


BROKEN: list[tuple[str, Callable[[], SourceContract], str, str]] = [
    ("memory", lambda: bad(RemembersTask), "test_what_is_next_follows_from_offsets_alone", "other records in batch 1"),
    ("memory", lambda: bad(RemembersTask), "test_it_resumes_at_every_offset", "after resuming behind batch 1"),
    ("loss", lambda: bad(SkipsTask), "test_it_resumes_at_every_offset", "other records after resuming"),
    ("loss", lambda: bad(SkipsTask), "test_a_kill_loses_nothing", "not read again after a kill"),
    ("pickle", lambda: bad(UnpicklableTask), "test_it_reads_records_and_commits_offsets", "pickle"),
    ("offsets", lambda: bad(OddOffsetTask), "test_it_reads_records_and_commits_offsets", "JSON"),
    ("hooks", lambda: bad(on_created=_once, made=set()), "test_hooks_may_be_called_again", "second call of on_created"),
    ("tasks", lambda: bad(task_configs=_too_many), "test_tasks_are_no_more_than_allowed_and_made_of_texts", "gave 3"),
    ("docs", lambda: bad(__doc__=None), "test_it_declares_what_it_is", "docstring"),
]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("contract", "check", "words"), [case[1:] for case in BROKEN], ids=[f"{case[0]}-{case[2]}" for case in BROKEN]
)
def test_a_source_that_breaks_the_contract_is_found(
    contract: Callable[[], SourceContract], check: str, words: str
) -> None:
    with pytest.raises(Exception, match=words):
        getattr(contract(), check)()


class BufferingTask(SinkTask):
    """Keeps records for later, which a kill loses."""

    def put(self, records: Iterable[Record]) -> None:
        self.kept = list(records)


class Buffering(SinkConnector):
    """Loses what it has."""

    version = "1"
    task = BufferingTask
    config = ConfigDef()


@pytest.mark.integration
def test_a_sink_that_loses_records_is_found() -> None:
    class Contract(SinkContract):
        connector = Buffering

        def settings(self) -> Mapping[str, str]:
            return {}

        def written(self) -> list[str]:
            return []

    for check in (Contract().test_records_are_out_when_put_returns, Contract().test_a_kill_loses_nothing):
        with pytest.raises(AssertionError, match="records that are not outside"):
            check()

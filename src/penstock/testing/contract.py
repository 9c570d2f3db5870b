"""Does a connector keep the contract? Subclass :class:`SourceContract` or :class:`SinkContract`; pytest does the rest.

Every check works on the connector's own classes as a worker uses them: fresh copies, splits that were pickled,
offsets that went through JSON, processes that are killed. Nothing of a worker is needed, and Spark only by connectors
that read with it.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar

from penstock.api import ConfigDef, Connector, Record, SinkConnector, SinkTask, SourceConnector, SourceTask
from penstock.api.errors import UnsupportedOperationError

from .data import records
from .driving import CommittedOffsets, SourceDriver, records_of
from .killing import in_child, killed_after

Settings = Mapping[str, str]

BATCHES_TO_KILL = 5


class _Contract:
    """What sources and sinks have in common."""

    connector: ClassVar[type[Connector]]
    """The connector to be checked."""

    max_tasks: ClassVar[Sequence[int]] = (1, 2, 5)

    def settings(self) -> Settings:
        """A configuration that works; called for each check."""
        raise NotImplementedError(f"{type(self).__name__} needs settings(): a configuration that works")

    def changed_settings(self) -> Settings:
        """Another configuration that works, for ``on_updated``; by default the same."""
        return self.settings()

    def _configured(self, settings: Settings) -> Any:
        made = self.connector()
        made.configure(dict(settings))
        return made

    def test_it_declares_what_it_is(self) -> None:
        name = self.connector.__name__
        assert isinstance(getattr(self.connector, "config", None), ConfigDef), f"{name}.config must be a ConfigDef"
        assert isinstance(self.connector.version, str), f"{name}.version must be a text"
        assert self.connector.version != "0.0.0", f"{name}.version is not set"
        assert self.connector.__doc__, f"{name} needs a docstring: it is what users see of it"
        undocumented = [key.name for key in self.connector.config.keys if not key.doc.strip()]
        assert undocumented == [], f"keys of {name} without doc"

    def test_good_settings_pass(self) -> None:
        assert self._errors(self.settings()) == {}, "errors of the configuration that settings() gives"

    def test_a_missing_required_key_is_told(self) -> None:
        settings = dict(self.settings())
        for key in self.connector.config.keys:
            if key.required:
                without = {name: value for name, value in settings.items() if name != key.name}
                assert key.name in self._errors(without), f"{key.name} is required, but its absence is no error"

    def test_tasks_are_no_more_than_allowed_and_made_of_texts(self) -> None:
        for most in self.max_tasks:
            made = self._configured(self.settings())
            made.start()
            try:
                configs = made.task_configs(most)
            finally:
                made.stop()
            assert len(configs) <= most, f"task_configs({most}) gave {len(configs)} configurations"
            odd = [(key, value) for config in configs for key, value in config.items() if not _is_text(key, value)]
            assert odd == [], "task configurations hold texts only"

    def test_hooks_may_be_called_again(self) -> None:
        """A crash repeats a hook: it must not mind what it already made or removed. Nothing is started before."""
        first, second = self.settings(), self.changed_settings()
        calls: list[tuple[str, Settings, Callable[[Any], object]]] = [
            ("on_created", first, lambda made: made.on_created(dict(first))),
            ("on_updated", second, lambda made: made.on_updated(dict(first), dict(second))),
            ("on_deleted", second, lambda made: made.on_deleted(dict(second))),
        ]
        for _ in range(2):
            for hook, settings, call in calls:
                for number in ("first", "second"):
                    try:
                        call(self._configured(settings))
                    except Exception as error:
                        raise AssertionError(f"the {number} call of {hook} in a row failed: {error!r}") from error

    def _errors(self, settings: Settings) -> dict[str, list[str]]:
        found = {name: list(value.errors) for name, value in self.connector.config.validate(settings).items()}
        wrong = {name: errors for name, errors in found.items() if errors}
        return wrong or {name: list(texts) for name, texts in self.connector().validate(settings).items() if texts}


class SourceContract(_Contract):
    """A source: ``settings()`` must name something with at least one record in it that stays as it is.

    A source without an end is checked over its first ``max_batches`` batches.
    """

    connector: ClassVar[type[SourceConnector]]
    max_batches: ClassVar[int] = 20

    def same(self, record: Record) -> Any:
        """What must be equal when a record is read again; without timestamps by default."""
        return record.topic, record.partition, _frozen(record.key), _frozen(record.value)

    def driver(self) -> SourceDriver:
        """The first task of the connector, driven as a worker does."""
        return SourceDriver(self.connector, dict(self.settings()))

    def _same(self, found: Sequence[Record]) -> list[Any]:
        return [self.same(record) for record in found]

    def test_its_task_is_a_source_task(self) -> None:
        assert issubclass(self.connector.task, SourceTask)
        pickle.loads(pickle.dumps(self.connector.task))

    def test_it_reads_records_and_commits_offsets(self) -> None:
        run = self.driver().run(most=self.max_batches)
        assert run.records(), "settings() must name something with at least one record in it"
        silent = [number for number, batch in enumerate(run.batches) if batch.records and not batch.ends]
        assert silent == [], "batches with records, but without an offset to go on from"
        nowhere = [record for record in run.records() if not record.topic]
        assert nowhere == [], "records without a topic"

    def test_what_is_next_follows_from_offsets_alone(self) -> None:
        driver = self.driver()
        run = driver.run(most=self.max_batches)
        for number, batch in enumerate(run.batches):
            task = driver.new_task()
            task.start()
            try:
                again = driver.next_batch(task, run.before[number])
            finally:
                task.stop()
            assert again is not None, f"a fresh task finds nothing at the offsets before batch {number}"
            read, known = self._same(again.records), self._same(batch.records)
            common = min(len(read), len(known))
            assert read[:common] == known[:common], f"a fresh task reads other records in batch {number}"

    def test_it_resumes_at_every_offset(self) -> None:
        driver = self.driver()
        run = driver.run(most=self.max_batches)
        for number, offsets in enumerate(run.before):
            left = driver.run(offsets, most=self.max_batches)
            found, known = self._same(left.records()), self._same(run.records(number))
            common = min(len(found), len(known))
            assert found[:common] == known[:common], f"other records after resuming behind batch {number}"
            if run.complete and left.complete:
                assert len(found) == len(known), f"records lost or repeated after resuming behind batch {number}"

    def test_a_kill_loses_nothing(self) -> None:
        """Reading is killed amid a batch, and again when all was read but nothing committed."""
        driver = self.driver()
        whole = driver.run(most=self.max_batches)
        offsets = CommittedOffsets()
        found: list[Record] = []
        for batch in whole.batches[:BATCHES_TO_KILL]:
            for count in (len(batch.records) // 2, len(batch.records)):
                assert in_child(lambda count=count: self._read_and_die(driver, offsets, count))  # type: ignore[misc]
            task = driver.new_task()
            task.start()
            read = driver.next_batch(task, offsets.copy())
            assert read is not None, "after a kill the task finds nothing where it found something before"
            found += read.records
            offsets.commit(read.ends)
        missing = Counter(self._same(whole.records())[: len(found)]) - Counter(self._same(found))
        assert missing == Counter(), "records that are not read again after a kill"

    def test_offsets_may_be_altered_or_refused(self) -> None:
        committed = self.driver().run(most=self.max_batches).before[-1].all()
        changes: list[list[tuple[Any, Any]]] = [list(committed), [(partition, None) for partition, _ in committed]]
        for offsets in changes:
            made = self._configured(self.settings())
            try:
                answer = made.alter_offsets(dict(self.settings()), offsets)
            except UnsupportedOperationError:
                return
            assert isinstance(answer, bool), "alter_offsets returns True or False, or raises"

    def _read_and_die(self, driver: SourceDriver, offsets: CommittedOffsets, count: int) -> None:
        task = driver.new_task()
        task.start()
        if type(task).load is not SourceTask.load:
            killed = iter(driver.next_batch(task, offsets.copy()).records)  # type: ignore[union-attr]
        else:
            plan = task.plan(offsets.copy())
            splits = plan.splits if plan is not None else ()
            killed = records_of((item for split in splits for item in driver.read(split)), lambda progress: None)
        for _ in killed_after(killed, count):
            pass


class SinkContract(_Contract):
    """A sink: ``written()`` tells what is outside, ``expected(record)`` how a record looks there."""

    connector: ClassVar[type[SinkConnector]]
    exactly_once: ClassVar[bool] = False
    """Whether a record that is put again must not be there twice."""

    def records(self) -> list[Record]:
        """What is put; by default some texts."""
        return records([f"value {number}" for number in range(10)])

    def written(self) -> Collection[Any]:
        """What is outside now."""
        raise NotImplementedError(f"{type(self).__name__} needs written(): what is outside now")

    def expected(self, record: Record) -> Any:
        """How a record looks among ``written()``; by default its value."""
        return record.value

    def _task(self, state: Mapping[str, Any] | None = None) -> SinkTask:
        made = self._configured(self.settings())
        made.start()
        configs = made.task_configs(1)
        made.stop()
        task = self.connector.task()
        task.configure({**configs[0]} if configs else dict(self.settings()))
        task.context.connector, task.context.state = "contract", state
        return task

    def test_its_task_is_a_sink_task(self) -> None:
        assert issubclass(self.connector.task, SinkTask)
        pickle.loads(pickle.dumps(self.connector.task))

    def test_nothing_to_put_is_no_error(self) -> None:
        self._task().put(iter(()))

    def test_records_are_out_when_put_returns(self) -> None:
        self._task(self._first_state()).put(iter(self.records()))
        self._is_written()

    def test_a_kill_loses_nothing(self) -> None:
        """Putting is killed before, amid and after the records; then they come again, to a fresh copy."""
        given = self.records()
        state = self._first_state()
        for count in (0, len(given) // 2, len(given)):
            assert in_child(lambda count=count: self._task(state).put(killed_after(given, count)))  # type: ignore[misc]
        self._task(state).put(iter(given))
        self._is_written()
        if self.exactly_once:
            twice = Counter(self.written()) - Counter(self.expected(record) for record in given)
            assert twice == Counter(), "records that are there more than once after a kill"

    def test_a_state_survives_its_store(self) -> None:
        if not self.connector.task.keeps_state:
            return
        assert self.connector.task.ordered, "only ordered sinks keep a state"
        state = self._task(self._first_state()).put(iter(self.records()))
        assert isinstance(state, Mapping), "a sink that keeps a state returns one from put()"
        CommittedOffsets([({"sink": "contract"}, state)])

    def _first_state(self) -> Mapping[str, Any] | None:
        """A sink that keeps a state is first called without records."""
        return self._task().put(iter(())) if self.connector.task.keeps_state else None

    def _is_written(self) -> None:
        missing = Counter(self.expected(record) for record in self.records()) - Counter(self.written())
        assert missing == Counter(), "records that are not outside"


def _is_text(key: Any, value: Any) -> bool:
    return isinstance(key, str) and isinstance(value, str)


def _frozen(value: Any) -> Any:
    """Something hashable that is equal for equal values."""
    if isinstance(value, Mapping):
        return tuple((key, _frozen(one)) for key, one in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(one) for one in value)
    return value




"""The rules of the active configuration, and hooks whose result nobody knows."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from penstock.api import (
    ConfigDef,
    ConfigKey,
    PluginError,
    Record,
    SourceConnector,
    SourceTask,
    Transform,
    Type,
)
from penstock.runtime.calls import UserCode
from penstock.runtime.cleanups import LONGEST_RETRY_SECONDS, Cleanups, Peers
from penstock.runtime.hooks import ConnectorGone, HookFailed, Hooks, new_cleanup
from penstock.runtime.lifecycle import Due, Hook, due
from penstock.runtime.plugins import PluginEntry, PluginKind, UnknownPlugin
from penstock.runtime.secrets import masked
from penstock.storage.config_records import connector_record
from penstock.storage.config_store import ConfigStore
from penstock.storage.lifecycle_records import (
    Cleanup,
    HookCall,
    Lifecycle,
    cleanup_id,
    incarnation_record,
    lifecycle_record,
)
from penstock.storage.log import LogRecord
from penstock.storage.memory_log import MemoryLog

Raw = Mapping[str, str | None]

A, B, C = ({"connector.class": "Source", "mark": mark} for mark in "abc")
OTHER = {"connector.class": "Other", "mark": "a"}


@pytest.mark.parametrize(
    ("active", "doubtful", "wanted", "expected"),
    [
        pytest.param(None, None, A, Due(Hook.CREATED), id="never active"),
        pytest.param(A, None, A, Due(None), id="unchanged"),
        pytest.param(A, None, B, Due(Hook.UPDATED, A), id="changed"),
        pytest.param(A, None, OTHER, Due(Hook.CREATED, None, (A,)), id="another class"),
        pytest.param(None, A, A, Due(Hook.CREATED), id="created of unknown result is repeated"),
        pytest.param(None, A, B, Due(Hook.CREATED, None, (A,)), id="created of unknown result, then changed"),
        pytest.param(A, B, B, Due(Hook.UPDATED, A), id="updated of unknown result is repeated"),
        pytest.param(A, B, A, Due(Hook.UPDATED, B), id="updated of unknown result is taken back"),
        pytest.param(A, B, C, Due(Hook.UPDATED, A), id="updated of unknown result, then changed again"),
        pytest.param(A, B, OTHER, Due(Hook.CREATED, None, (A, B)), id="updated of unknown result, then another class"),
    ],
)
def test_what_is_due(active: Raw | None, doubtful: Raw | None, wanted: Raw, expected: Due) -> None:
    assert due(active, doubtful, wanted, lambda one, two: one["connector.class"] == two["connector.class"]) == expected


class Plain(SourceConnector):
    config = ConfigDef(ConfigKey("secret", Type.PASSWORD, ""), ConfigKey("mark", Type.STRING, ""))
    task = SourceTask


class Told(Plain):
    """Writes down what it is told, then does what ``behave`` says."""

    told: ClassVar[list[str]] = []
    behave: ClassVar[Callable[[Mapping[str, str]], None]] = staticmethod(lambda config: None)

    def on_created(self, config: Mapping[str, str]) -> None:
        self._note(f"created {config['mark']}", config)

    def on_updated(self, old: Mapping[str, str], new: Mapping[str, str]) -> None:
        self._note(f"updated {old['mark']} {new['mark']}", new)

    def on_deleted(self, old: Mapping[str, str]) -> None:
        self._note(f"deleted {old['mark']}", old)

    def _note(self, what: str, config: Mapping[str, str]) -> None:
        assert self.settings["mark"] == config["mark"], "hooks are called on a configured connector"
        Told.told.append(what)
        Told.behave(config)


class HeldLog(MemoryLog):
    """Once it is held, an append waits until it is released; another worker may append in between."""

    def __init__(self) -> None:
        super().__init__()
        self.hold = False
        self.held: list[tuple[Sequence[LogRecord], Future[None]]] = []

    def append(self, records: Sequence[LogRecord]) -> Future[None]:
        if not self.hold:
            return super().append(records)
        self.held.append((records, Future()))
        return self.held[-1][1]

    def release(self, error: Exception | None = None) -> None:
        """Write what waits, in order; with an error the last of it fails."""
        held, self.held = self.held, []
        failing = held.pop()[1] if error is not None else None
        for records, written in held:
            super().append(records)
            written.set_result(None)
        if failing is not None:
            failing.set_exception(error)

    def append_elsewhere(self, *records: LogRecord) -> None:
        """What another worker writes now."""
        super().append(records)


class World:
    """Hooks and clean-ups of one worker on a log in memory, with connectors whose classes can be exchanged."""

    def __init__(self, log: MemoryLog | None = None, seconds: float = 5.0) -> None:
        self.log = log or HeldLog()
        self.configs = ConfigStore(self.log)
        self.configs.start()
        self.calls = UserCode()
        self.classes: dict[str, type[Any]] = {"Source": Told, "Other": Told, "Plain": Plain}
        self.targets: dict[str, str] = {}
        """Of classes that are known by two names."""
        self.values = {"${env:PASSWORD}": "the-password"}
        self.is_ours = True
        self.hooks = Hooks(self.configs, self.calls, self.plugin, self._resolve, seconds, "here", lambda: self.is_ours)
        self.done: list[str] = []

    def plugin(self, config: Raw) -> PluginEntry:
        name = str(config["connector.class"])
        if name not in self.classes:
            raise UnknownPlugin(f"no {name}")
        target = self.targets.get(name, f"plugins:{name}")
        return PluginEntry(PluginKind.SOURCE, name, "1", target, self.classes[name])

    def _resolve(self, config: Raw) -> dict[str, str]:
        return {key: self.values.get(value, value) for key, value in config.items() if value is not None}

    def put(self, config: Raw, lifecycle: Lifecycle | None = None) -> None:
        """The connector ``c`` with a configuration, and what hooks have made of it so far."""
        if "c" not in self.configs.snapshot():
            self.log.append(created(INCARNATION, config))
        else:
            self.configs.put_connector("c", config)
        if lifecycle is not None:
            self.configs.put_lifecycle("c", INCARNATION, lifecycle)

    def start(self, config: Raw) -> bool:
        return asyncio.run(self._start(config))

    async def _start(self, config: Raw) -> bool:
        return await self.hooks.before_start("c", config)

    def run(self, work: Callable[[Cleanups], Awaitable[None]]) -> None:
        """Do something with clean-ups on a loop."""

        async def settled(name: str) -> None:
            return

        async def whole() -> None:
            cleanups = Cleanups(self.configs, self.hooks, settled, self.done.append)
            await work(cleanups)
            cleanups.stop()

        asyncio.run(whole())

    def lifecycle(self) -> Lifecycle:
        return self.configs.snapshot().lifecycle("c")

    def pending(self) -> HookCall:
        pending = self.lifecycle().pending
        assert pending is not None
        return pending

    def cleanups(self) -> list[Cleanup]:
        return list(self.configs.snapshot().cleanups_of("c"))


@pytest.fixture
def world() -> World:
    Told.told.clear()
    Told.behave = staticmethod(lambda config: None)
    return World()


def raise_text(text: str) -> Callable[[Mapping[str, str]], None]:
    def behave(config: Mapping[str, str]) -> None:
        raise PluginError(text.format(**config))

    return staticmethod(behave)


def in_progress(hook: Hook, config: Raw) -> HookCall:
    """The trace that a crash in a hook leaves."""
    return HookCall(hook.value, config, 1, 1)


def test_a_class_that_gains_hooks_is_told_of_its_creation_at_the_next_start(world: World) -> None:
    plain = {**A, "connector.class": "Plain"}
    world.put(plain)
    assert not world.hooks.is_due("c", plain)
    assert world.start(plain)
    assert world.lifecycle() == Lifecycle()
    world.classes["Plain"] = Told
    assert world.hooks.is_due("c", plain)
    assert world.start(plain)
    assert Told.told == ["created a"]


def test_a_hook_that_has_failed_and_a_clean_up_are_obstacles_and_a_call_in_progress_is_none(world: World) -> None:
    failed = HookCall("updated", B, 1, 1, "PluginError: no")
    assert world.hooks.obstacle("c", B) is None
    world.put(B, Lifecycle(A, replace(failed, error=None)))
    assert world.hooks.obstacle("c", B) is None
    world.put(B, Lifecycle(A, failed))
    obstacle = world.hooks.obstacle("c", B)
    assert obstacle is not None
    assert obstacle.startswith("on_updated() of its connector has failed")
    assert obstacle.endswith("POST /connectors/c/restart. It failed with PluginError: no")
    assert world.hooks.obstacle("c", A) is None, "nothing has to be called to go back"
    world.configs.put_cleanup(new_cleanup("c", C))
    assert "GET /lifecycle/cleanups" in (world.hooks.obstacle("c", B) or "")


def test_what_is_due_is_what_the_class_has(world: World) -> None:
    class Deleting(Plain):
        def on_deleted(self, old: Mapping[str, str]) -> None:
            raise NotImplementedError

    world.put(A)
    assert (world.hooks.due("c", A), world.hooks.expected("c", A)) == (Hook.CREATED, [(Hook.CREATED, None, A)])
    world.put(A, Lifecycle(A))
    assert (world.hooks.due("c", A), world.hooks.expected("c", A)) == (None, [])
    assert (world.hooks.due("c", B), world.hooks.expected("c", B)) == (Hook.UPDATED, [(Hook.UPDATED, A, B)])
    assert world.hooks.expected("c", None) == [(Hook.DELETED, A, None)]
    world.classes["Source"] = Deleting
    assert (world.hooks.due("c", B), world.hooks.expected("c", B)) == (None, [])


def test_another_name_of_the_same_class_is_an_update_and_another_class_is_not(world: World) -> None:
    world.targets = {"Source": "plugins:Told", "Other": "plugins:Told"}
    world.put(OTHER, Lifecycle(A))
    assert world.hooks.due("c", OTHER) is Hook.UPDATED
    world.targets = {}
    assert world.hooks.due("c", OTHER) is Hook.CREATED
    assert world.hooks.expected("c", OTHER) == [(Hook.DELETED, A, None), (Hook.CREATED, None, OTHER)]


@pytest.mark.parametrize("missing", ["Source", "Other"])
def test_a_class_that_is_not_installed_is_another_one(world: World, missing: str) -> None:
    world.put(OTHER, Lifecycle(A))
    del world.classes[missing]
    assert world.hooks.due("c", OTHER) is Hook.CREATED


def test_the_configuration_that_an_update_goes_to_is_in_doubt_while_it_runs(world: World) -> None:
    world.put(B, Lifecycle(A))
    noted: list[Lifecycle] = []
    Told.behave = staticmethod(lambda config: noted.append(world.lifecycle()))
    assert world.start(B)
    assert (noted[0].active, noted[0].doubtful) == (A, B)


def test_a_call_that_is_tried_again_has_not_failed_yet(world: World) -> None:
    late = HookCall("created", A, 1, 3, "too late", timed_out=True)
    world.put(A, Lifecycle(None, late))
    noted: list[HookCall] = []
    Told.behave = staticmethod(lambda config: noted.append(world.pending()))
    assert world.start(A)
    assert noted == [HookCall("created", A, 1, 4, worker="here")]


def test_a_class_with_only_a_deletion_hook_is_told_of_the_deletion_of_what_was_started(world: World) -> None:
    class Deleting(Plain):
        def on_deleted(self, old: Mapping[str, str]) -> None:
            Told.told.append(f"deleted {old['mark']}")

    world.classes["Source"] = Deleting
    world.put(A)
    assert world.start(A)
    assert world.lifecycle().active == A
    world.hooks.remove("c")
    (cleanup,) = world.cleanups()
    asyncio.run(world.hooks.clean_up(cleanup))
    assert Told.told == ["deleted a"]


def test_an_update_of_unknown_result_is_cleaned_up_on_both_sides(world: World) -> None:
    world.put(B, Lifecycle(A, in_progress(Hook.UPDATED, B)))
    world.hooks.remove("c")
    (kept,) = World(MemoryLog(world.log.records)).cleanups()
    asyncio.run(world.hooks.clean_up(kept))
    assert Told.told == ["deleted b", "deleted a"]


def test_an_update_of_unknown_result_that_is_taken_back_is_told_until_it_worked(world: World) -> None:
    world.put(A, Lifecycle(A, in_progress(Hook.UPDATED, B)))
    assert world.hooks.expected("c", A) == [(Hook.UPDATED, B, A)]
    noted: list[Lifecycle] = []
    Told.behave = staticmethod(lambda config: noted.append(world.lifecycle()))
    assert world.start(A)
    assert Told.told == ["updated b a"]
    assert noted[0].doubtful == B, "a crash now would repeat the call"
    assert world.lifecycle() == Lifecycle(A)
    assert not world.hooks.is_due("c", A)


def test_a_take_back_that_fails_can_be_started_over(world: World) -> None:
    world.put(A, Lifecycle(A, in_progress(Hook.UPDATED, B)))
    Told.behave = raise_text("b is out of reach")
    with pytest.raises(HookFailed, match="b is out of reach"):
        world.start(A)
    assert world.start(A), "the active configuration is never out of reach for good"
    assert Told.told == ["updated b a"]
    assert world.lifecycle() == Lifecycle(A)


def test_a_created_of_unknown_result_is_cleaned_up_before_another_configuration_is_created(world: World) -> None:
    world.put(B, Lifecycle(None, in_progress(Hook.CREATED, A)))
    assert world.hooks.expected("c", B) == [(Hook.DELETED, A, None), (Hook.CREATED, None, B)]
    assert not world.start(B), "the clean-up comes first"
    (cleanup,) = world.cleanups()
    assert cleanup.config == A
    asyncio.run(world.hooks.clean_up(cleanup))
    world.configs.finish_cleanup(cleanup)
    assert world.start(B)
    assert Told.told == ["deleted a", "created b"]


def test_a_failed_call_is_not_in_doubt_an_abandoned_one_is(world: World) -> None:
    failed = HookCall("created", A, 1, 1, "PluginError: no")
    assert Lifecycle(None, failed).doubtful is None
    late = World(world.log, seconds=0.05)
    late.put(A)
    Told.behave = staticmethod(lambda config: time.sleep(1))
    with pytest.raises(HookFailed, match=r"did not return within 0\.05 s"):
        late.start(A)
    read_again = World(MemoryLog(world.log.records))
    assert read_again.lifecycle().doubtful == A


def test_tries_are_counted_for_one_configuration_and_begin_anew_with_another(world: World) -> None:
    Told.behave = raise_text("no")
    world.put(A)
    for tries in (1, 2):
        with pytest.raises(HookFailed):
            world.start(A)
        assert world.pending().tries == tries
    world.put(B)
    with pytest.raises(HookFailed):
        world.start(B)
    assert world.pending().tries == 1


def test_a_hook_that_ends_after_the_deletion_writes_nothing(world: World) -> None:
    world.put(A)

    def delete_meanwhile(config: Mapping[str, str]) -> None:
        world.hooks.remove("c")
        world.configs.put_connector("c", B)

    Told.behave = staticmethod(delete_meanwhile)
    with pytest.raises(ConnectorGone):
        world.start(A)
    assert world.lifecycle() == Lifecycle()
    assert [cleanup.config for cleanup in world.cleanups()] == [A]


# -- a connector that is deleted around a call: of two who write at the same time the later one knows the other


INCARNATION = "first"
REMOVED = (connector_record("c", None), incarnation_record("c", None))
"""What somebody writes who does not know of any hook."""


def created(incarnation: str, config: Raw) -> list[LogRecord]:
    """A new connector of the name."""
    return [incarnation_record("c", incarnation), connector_record("c", config)]


async def nothing(name: str) -> None:
    """There is nothing to wait for."""


def read_again(world: World) -> list[tuple[Raw, Raw | None]]:
    """What clean-ups are left for who reads the log from its beginning, and has only the newest record of each key."""
    newest = {record.key: record for record in world.log.records}
    kept = [record for record in world.log.records if newest[record.key] is record and record.value is not None]
    return in_doubt(World(MemoryLog(kept)))


def in_doubt(world: World) -> list[tuple[Raw, Raw | None]]:
    """What clean-ups are left, each with its second configuration."""
    return [(cleanup.config, cleanup.doubtful) for cleanup in world.cleanups()]


@pytest.fixture
def held(world: World) -> HeldLog:
    """The log of ``world``."""
    assert isinstance(world.log, HeldLog)
    return world.log


async def ends(log: HeldLog, work: Awaitable[Any]) -> Any:
    """What comes of work while each write takes a moment."""
    running = asyncio.ensure_future(work)
    while not running.done():
        await turns()
        log.release()
    return await asyncio.gather(running, return_exceptions=True)


@pytest.mark.parametrize("active", [None, A], ids=["created", "updated"])
def test_a_deletion_that_overtakes_a_call_leaves_it_uncalled(world: World, held: HeldLog, active: Raw | None) -> None:
    world.put(B, Lifecycle(active))

    async def work() -> None:
        held.hold = True
        starting = asyncio.ensure_future(world.hooks.before_start("c", B))
        await until(lambda: len(held.held) == 1)
        removed = world.hooks.remove("c")
        (outcome,) = await ends(held, starting)
        assert isinstance(outcome, ConnectorGone)
        assert removed.done()

    asyncio.run(work())
    assert Told.told == []
    assert in_doubt(world) == ([] if active is None else [(active, None)])
    assert read_again(world) == in_doubt(world)


@pytest.mark.parametrize("again", [False, True], ids=["deleted", "created again"])
@pytest.mark.parametrize("active", [None, A], ids=["created", "updated"])
def test_a_note_that_comes_after_a_deletion_elsewhere_is_taken_back(
    world: World, held: HeldLog, active: Raw | None, again: bool
) -> None:
    world.put(B, Lifecycle(active))
    seen: list[list[tuple[Raw, Raw | None]]] = []

    async def work() -> None:
        held.hold = True
        starting = asyncio.ensure_future(world.hooks.before_start("c", B))
        await until(lambda: len(held.held) == 1)
        held.append_elsewhere(*REMOVED, *(created("other", A) if again else []))
        held.release()
        seen.append(in_doubt(world))
        (outcome,) = await ends(held, starting)
        assert isinstance(outcome, ConnectorGone)

    asyncio.run(work())
    left = [] if active is None else [(active, None)]
    assert Told.told == []
    assert seen == [left], "who has read the deletion knows that the call will not be made"
    assert in_doubt(world) == left
    assert read_again(world) == left
    assert world.lifecycle() == Lifecycle()


@pytest.mark.parametrize("active", [None, A], ids=["created", "updated"])
def test_a_note_that_comes_before_a_deletion_elsewhere_is_taken_back_when_both_are_read_at_once(
    world: World, held: HeldLog, active: Raw | None
) -> None:
    world.put(B, Lifecycle(active))

    async def work() -> None:
        held.hold = True
        starting = asyncio.ensure_future(world.hooks.before_start("c", B))
        await until(lambda: len(held.held) == 1)
        written = held.held[0][1]
        written.add_done_callback(lambda _: held.append_elsewhere(*REMOVED))
        (outcome,) = await ends(held, starting)
        assert isinstance(outcome, ConnectorGone)

    asyncio.run(work())
    assert Told.told == []
    assert in_doubt(world) == ([] if active is None else [(active, None)])
    assert read_again(world) == in_doubt(world)


def test_a_note_that_is_taken_back_leaves_an_earlier_call_in_doubt(world: World, held: HeldLog) -> None:
    world.put(A, Lifecycle(None, replace(in_progress(Hook.CREATED, A), worker="elsewhere")))

    async def work() -> None:
        held.hold = True
        starting = asyncio.ensure_future(world.hooks.before_start("c", A))
        await until(lambda: len(held.held) == 1)
        held.append_elsewhere(*REMOVED)
        await ends(held, starting)

    asyncio.run(work())
    assert Told.told == []
    (cleanup,) = world.cleanups()
    assert (cleanup.config, cleanup.awaited) == (A, None), "nobody will tell what came of it"


def test_a_result_that_comes_after_a_deletion_elsewhere_is_what_is_cleaned_up(world: World, held: HeldLog) -> None:
    world.put(B, Lifecycle(A))
    before: list[tuple[Raw, Raw | None]] = []

    async def work() -> None:
        Told.behave = staticmethod(lambda config: setattr(held, "hold", True))
        starting = asyncio.ensure_future(world.hooks.before_start("c", B))
        await until(lambda: len(held.held) == 1)
        held.append_elsewhere(*REMOVED)
        before.extend(in_doubt(world))
        (outcome,) = await ends(held, starting)
        assert isinstance(outcome, ConnectorGone)

    asyncio.run(work())
    assert before == [(A, B)]
    assert in_doubt(world) == [(B, None)]


def test_a_hook_whose_connector_was_deleted_by_kafka_connect_is_cleaned_up(world: World) -> None:
    world.put(A)
    Told.behave = staticmethod(lambda config: world.log.append([connector_record("c", None)]))
    with pytest.raises(ConnectorGone):
        world.start(A)
    assert in_doubt(world) == [(A, None)]


@pytest.mark.parametrize(
    ("active", "ends_with", "left"),
    [
        pytest.param(A, None, [(B, None)], id="updated, returned"),
        pytest.param(A, PluginError("no"), [(A, None)], id="updated, raised"),
        pytest.param(None, None, [(B, None)], id="created, returned"),
        pytest.param(None, PluginError("no"), [], id="created, raised"),
    ],
)
def test_a_call_that_ends_after_the_deletion_leaves_the_last_active_configuration_to_be_cleaned_up(
    world: World, active: Raw | None, ends_with: Exception | None, left: list[tuple[Raw, Raw | None]]
) -> None:
    world.put(B, Lifecycle(active))
    before: list[Cleanup] = []

    def delete_meanwhile(config: Mapping[str, str]) -> None:
        world.hooks.remove("c")
        before.extend(world.cleanups())
        if ends_with is not None:
            raise ends_with

    Told.behave = staticmethod(delete_meanwhile)
    with pytest.raises(ConnectorGone):
        world.start(B)
    (then,) = before
    assert (then.config, then.doubtful) == ((B, None) if active is None else (A, B)), "its result was not known yet"
    assert then.awaited == "here"
    assert in_doubt(world) == left
    assert [(now.id, now.since, now.awaited) for now in world.cleanups()] == [(then.id, then.since, None)][: len(left)]


def test_a_call_that_is_abandoned_after_the_deletion_stays_in_doubt(world: World) -> None:
    late = World(world.log, seconds=0.05)
    late.put(B, Lifecycle(A))

    def delete_meanwhile(config: Mapping[str, str]) -> None:
        late.hooks.remove("c")
        time.sleep(0.5)

    Told.behave = staticmethod(delete_meanwhile)
    with pytest.raises(ConnectorGone):
        late.start(B)
    assert in_doubt(late) == [(A, B)]
    assert late.cleanups()[0].awaited is None


@pytest.mark.parametrize("ends_with", [None, PluginError("no")], ids=["returned", "raised"])
def test_a_clean_up_that_is_over_while_the_hook_runs_is_not_begun_again(
    world: World, ends_with: Exception | None
) -> None:
    world.put(A)

    def delete_and_give_up(config: Mapping[str, str]) -> None:
        world.hooks.remove("c")
        (cleanup,) = world.cleanups()
        world.configs.finish_cleanup(cleanup)
        if ends_with is not None:
            raise ends_with

    Told.behave = staticmethod(delete_and_give_up)
    with pytest.raises(ConnectorGone):
        world.start(A)
    assert world.cleanups() == []
    world.configs.sweep()
    assert read_again(world) == []
    assert not world.configs.snapshot().spent


@pytest.mark.parametrize(
    ("known", "noted", "left"),
    [
        pytest.param(Lifecycle(), Lifecycle(None, in_progress(Hook.CREATED, A)), [(A, None)], id="called"),
        pytest.param(Lifecycle(A), Lifecycle(A, in_progress(Hook.UPDATED, B)), [(A, B)], id="update called"),
        pytest.param(Lifecycle(A, in_progress(Hook.UPDATED, B)), Lifecycle(B), [(B, None)], id="returned"),
        pytest.param(Lifecycle(None, in_progress(Hook.CREATED, A)), Lifecycle(), [], id="raised"),
        pytest.param(Lifecycle(A), Lifecycle(A), [(A, None)], id="nothing new"),
    ],
)
def test_a_deletion_cleans_up_what_another_worker_noted_just_before(
    world: World, held: HeldLog, known: Lifecycle, noted: Lifecycle, left: list[tuple[Raw, Raw | None]]
) -> None:
    world.put(B, known)

    async def work() -> None:
        held.hold = True
        removing = world.hooks.remove("c")
        held.append_elsewhere(lifecycle_record("c", INCARNATION, noted))
        held.release()
        removing.result()

    asyncio.run(work())
    assert in_doubt(world) == left
    assert read_again(world) == left
    assert "c" not in world.configs.snapshot()


def test_a_deletion_leaves_the_clean_up_alone_that_its_connector_waited_for(world: World) -> None:
    world.put(B, Lifecycle())
    world.configs.put_cleanup(new_cleanup("c", A))
    world.hooks.remove("c")
    assert in_doubt(world) == [(A, None)]


@pytest.mark.parametrize("first", ["deletion", "class"])
def test_a_deletion_and_another_class_leave_one_clean_up(world: World, held: HeldLog, first: str) -> None:
    """Each is written by a worker that does not know of the other."""
    world.put(OTHER, Lifecycle(A))
    (number,) = {cleanup_id(INCARNATION, 0)}

    async def work() -> None:
        held.hold = True
        starting = asyncio.ensure_future(world.hooks.before_start("c", OTHER))
        await until(lambda: len(held.held) == 1)
        if first == "deletion":
            held.append_elsewhere(*REMOVED)
            assert [cleanup.id for cleanup in world.cleanups()] == [number]
            held.release()
        else:
            held.release()
            held.append_elsewhere(*REMOVED)
        assert [cleanup.id for cleanup in world.cleanups()] == [number]
        (outcome,) = await ends(held, starting)
        assert isinstance(outcome, ConnectorGone)

    asyncio.run(work())
    assert in_doubt(world) == [(A, None)]
    assert [cleanup.id for cleanup in world.cleanups()] == [number]
    assert Told.told == []


def test_a_class_that_takes_over_has_a_clean_up_of_its_own(world: World) -> None:
    world.put(OTHER, Lifecycle(A))
    assert not world.start(OTHER)
    (first,) = world.cleanups()
    asyncio.run(world.hooks.clean_up(first))
    world.configs.finish_cleanup(first)
    assert world.start(OTHER)
    world.hooks.remove("c")
    (second,) = world.cleanups()
    assert (first.config, second.config) == (A, OTHER)
    assert first.id != second.id


def test_a_deletion_that_cannot_be_written_changes_nothing_for_a_call(world: World, held: HeldLog) -> None:
    world.put(A)

    async def work() -> None:
        held.hold = True
        starting = asyncio.ensure_future(world.hooks.before_start("c", A))
        await until(lambda: len(held.held) == 1)
        removed = world.hooks.remove("c")
        held.release(OSError("No space left on device"))
        assert removed.exception() is not None
        assert await ends(held, starting) == [True]

    asyncio.run(work())
    assert Told.told == ["created a"]
    assert world.lifecycle() == Lifecycle(A)


def test_a_worker_that_cannot_prove_any_more_that_a_connector_is_its_own_calls_nothing(world: World) -> None:
    world.put(A)
    world.is_ours = False
    with pytest.raises(ConnectorGone):
        world.start(A)
    assert Told.told == []
    assert world.lifecycle().doubtful == A, "whoever has it now decides"


def test_a_class_without_a_deletion_hook_leaves_nothing_to_wait_for(world: World) -> None:
    class Creating(Plain):
        def on_created(self, config: Mapping[str, str]) -> None:
            return

    world.classes["Source"] = Creating
    world.put(A)
    assert world.start(A)
    world.hooks.remove("c")

    async def settled(name: str) -> None:
        raise AssertionError("there is nothing to wait for")

    async def work() -> None:
        Cleanups(world.configs, world.hooks, settled, world.done.append).look()
        await until(lambda: not world.cleanups())

    asyncio.run(work())


# -- clean-ups where other workers may still tell something


def peers(world: World, *there: str, leads: Callable[[], bool] = lambda: True, seconds: float = 5.0) -> Peers:
    """Other workers that are alive."""
    return Peers("leader", lambda worker: worker in there, leads, seconds)


def deleted_while_called(world: World, worker: str, active: Raw | None = None) -> None:
    """A connector whose hook another worker calls, for all that can be read."""
    hook = Hook.CREATED if active is None else Hook.UPDATED
    world.put(B, Lifecycle(active, replace(in_progress(hook, B), worker=worker)))
    world.hooks.remove("c")


@pytest.mark.parametrize(
    ("result", "told"),
    [
        pytest.param(Lifecycle(B), ["deleted b"], id="returned"),
        pytest.param(Lifecycle(A, HookCall("updated", B, 1, 1, "no")), ["deleted a"], id="raised"),
        pytest.param(Lifecycle(A), ["deleted a"], id="not called"),
    ],
)
def test_a_clean_up_waits_for_what_another_worker_tells_of_its_call(
    world: World, result: Lifecycle, told: list[str]
) -> None:
    deleted_while_called(world, "busy", active=A)

    async def work() -> None:
        cleanups = Cleanups(world.configs, world.hooks, nothing, world.done.append, peers(world, "busy", "leader"))
        cleanups.look()
        await asyncio.sleep(0.1)
        assert Told.told == []
        world.configs.put_lifecycle("c", INCARNATION, result)
        await until(lambda: not world.cleanups())

    asyncio.run(work())
    assert Told.told == told


def test_a_clean_up_whose_call_was_not_made_after_all_is_over(world: World) -> None:
    deleted_while_called(world, "busy")

    async def work() -> None:
        cleanups = Cleanups(world.configs, world.hooks, nothing, world.done.append, peers(world, "busy"))
        cleanups.look()
        await turns()
        world.configs.put_lifecycle("c", INCARNATION, None)
        await until(lambda: world.done)

    asyncio.run(work())
    assert (Told.told, world.done, world.configs.snapshot().spent) == ([], ["c"], [])


@pytest.mark.parametrize("there", [(), ("slow",)], ids=["dead", "never back"])
def test_a_clean_up_does_not_wait_for_a_worker_that_is_gone_or_for_ever(
    world: World, monkeypatch: pytest.MonkeyPatch, there: tuple[str, ...]
) -> None:
    monkeypatch.setattr("penstock.runtime.cleanups.NOTE_SECONDS", 0.1)
    deleted_while_called(world, "slow", active=A)

    async def work() -> None:
        others = peers(world, *there, seconds=0.1)
        Cleanups(world.configs, world.hooks, nothing, world.done.append, others).look()
        await until(lambda: not world.cleanups())

    asyncio.run(work())
    assert Told.told == ["deleted b", "deleted a"]


def test_a_worker_that_is_started_again_is_not_waited_for(world: World) -> None:
    deleted_while_called(world, "again")
    assert world.cleanups()[0].awaited == "again"
    world.configs.disown_calls("again")
    assert world.cleanups()[0].awaited is None
    assert in_doubt(world) == [(B, None)]


def test_who_does_not_lead_begins_no_clean_up_and_ends_the_one_it_has_begun(world: World) -> None:
    leading, go_on = [True], threading.Event()
    Told.behave = staticmethod(lambda config: go_on.wait(5) and None)
    world.configs.put_cleanup(new_cleanup("c", A))

    async def work() -> None:
        others = peers(world, leads=lambda: leading[0])
        cleanups = Cleanups(world.configs, world.hooks, nothing, world.done.append, others)
        cleanups.look()
        await until(lambda: Told.told)
        leading[0] = False
        cleanups.rest()
        world.configs.put_cleanup(new_cleanup("c", B))
        cleanups.look()
        assert {cleanup.worker for cleanup in world.cleanups()} == {"leader", None}
        go_on.set()
        await until(lambda: len(world.cleanups()) == 1)

    asyncio.run(work())
    assert Told.told == ["deleted a"]


def test_a_new_leader_waits_for_the_clean_up_that_the_former_one_calls(world: World) -> None:
    world.configs.put_cleanup(replace(new_cleanup("c", A), worker="former"))

    async def work() -> None:
        cleanups = Cleanups(world.configs, world.hooks, nothing, world.done.append, peers(world, "former"))
        cleanups.look()
        await asyncio.sleep(0.1)
        for cleanup in world.cleanups():
            world.configs.finish_cleanup(cleanup)
        await until(lambda: world.done)

    asyncio.run(work())
    assert Told.told == []


def test_a_clean_up_is_what_is_left_when_nothing_runs_any_more(world: World) -> None:
    cleanup = replace(new_cleanup("c", A), doubtful=B)
    world.configs.put_cleanup(cleanup)

    async def settled(name: str) -> None:
        world.configs.put_cleanup(replace(cleanup, config=B, doubtful=None))

    async def work() -> None:
        Cleanups(world.configs, world.hooks, settled, world.done.append).look()
        await until(lambda: not world.cleanups())

    asyncio.run(work())
    assert Told.told == ["deleted b"]


def test_of_a_connector_that_is_not_there_nothing_is_written(world: World) -> None:
    with pytest.raises(ConnectorGone):
        world.start(A)
    assert (world.log.records, Told.told) == ([], [])


def test_a_deletion_that_fails_while_a_call_is_being_noted_keeps_no_hook_from_being_called(
    world: World, held: HeldLog
) -> None:
    async def work() -> None:
        world.put(A)
        held.hold = True
        starting = asyncio.ensure_future(world.hooks.before_start("c", A))
        await until(lambda: len(held.held) == 1)
        world.configs.remove_connector("c")
        noted, written = held.held.pop(0)
        held.append_elsewhere(*noted)
        written.set_result(None)
        await turns()
        assert not starting.done()
        held.release(OSError("No space left on device"))
        assert await ends(held, starting) == [True]

    asyncio.run(work())
    assert Told.told == ["created a"]
    assert world.lifecycle() == Lifecycle(A)


def test_a_clean_up_of_which_nothing_is_left_when_nothing_runs_any_more_is_over(world: World) -> None:
    world.configs.put_cleanup(new_cleanup("c", A))

    async def settled(name: str) -> None:
        for cleanup in world.cleanups():
            world.configs.finish_cleanup(cleanup)

    async def work() -> None:
        cleanups = Cleanups(world.configs, world.hooks, settled, world.done.append)
        cleanups.look()
        await until(lambda: world.done)
        await asyncio.wait_for(cleanups.tried("c"), 5)

    asyncio.run(work())
    assert (Told.told, world.done) == ([], ["c"])


def test_a_removal_that_is_not_durable_yet_counts(world: World) -> None:
    class SlowLog(MemoryLog):
        def append(self, records: Any) -> Future[None]:
            super().append(records)
            return Future()

    world.put(A)
    assert world.configs.incarnation("c") is not None
    slow = ConfigStore(SlowLog(world.log.records))
    slow.start()
    assert slow.incarnation("c") is not None
    slow.remove_connector("c")
    slow._log.append([LogRecord(b"connector-c", b'{"properties": {}}')])
    assert slow.incarnation("c") is None


def test_what_a_hook_raises_shows_no_secret(world: World) -> None:
    config = {**A, "secret": "pass-phrase", "mark": "${env:PASSWORD}"}
    world.put(config)
    Told.behave = raise_text("cannot log in with {secret} and {mark}")
    with pytest.raises(HookFailed) as failed:
        world.start(config)
    assert str(failed.value) == "penstock.api.errors.PluginError: cannot log in with [hidden] and [hidden]"
    assert "Traceback" in failed.value.trace
    assert "pass-phrase" not in failed.value.trace
    assert "the-password" not in failed.value.trace
    assert world.pending().error == str(failed.value)


def test_a_hook_that_wants_to_end_the_process_has_just_failed(world: World) -> None:
    world.put(A)
    Told.behave = staticmethod(lambda config: sys.exit(3))
    with pytest.raises(HookFailed, match="SystemExit: 3"):
        world.start(A)


def test_a_clean_up_of_a_class_that_is_not_installed_waits_for_it(world: World) -> None:
    world.put(A, Lifecycle(A))
    del world.classes["Source"]
    world.hooks.remove("c")
    (cleanup,) = world.cleanups()
    with pytest.raises(HookFailed, match="no Source"):
        asyncio.run(world.hooks.clean_up(cleanup))
    world.classes["Source"] = Told
    asyncio.run(world.hooks.clean_up(cleanup))
    assert Told.told == ["deleted a"]


@pytest.mark.parametrize(("tries", "seconds"), [(0, 1), (1, 2), (2, 4), (5, 32), (5000, LONGEST_RETRY_SECONDS)])
def test_clean_ups_back_off_and_never_tire(world: World, tries: int, seconds: float) -> None:
    Told.behave = raise_text("down")
    world.configs.put_cleanup(Cleanup("id", "c", A, 1, tries))

    async def work(cleanups: Cleanups) -> None:
        cleanups.look()
        while not world.cleanups()[0].error:
            await asyncio.sleep(0.01)

    before = int(1000 * time.time())
    world.run(work)
    (cleanup,) = world.cleanups()
    assert cleanup.tries == tries + 1
    assert seconds * 1000 <= (cleanup.next_try or 0) - before < seconds * 1000 + 5000


def test_a_clock_that_was_set_back_delays_a_clean_up_no_longer_than_the_longest_wait(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []

    async def note(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr("penstock.runtime.cleanups.asyncio.sleep", note)
    world.configs.put_cleanup(Cleanup("id", "c", A, 1, 3, "down", next_try=1 << 50))

    async def work(cleanups: Cleanups) -> None:
        cleanups.look()
        await asyncio.wait_for(cleanups.tried("c"), 5)
        while world.cleanups():
            await asyncio.gather(*cleanups._running.values())

    world.run(work)
    assert slept == [LONGEST_RETRY_SECONDS]


def test_a_clean_up_whose_end_cannot_be_written_is_repeated(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.runtime.cleanups.FIRST_RETRY_SECONDS", 0.01)
    world.configs.put_cleanup(new_cleanup("c", A))
    finish, full = world.configs.finish_cleanup, [True]

    def sometimes(cleanup: Cleanup) -> Future[None]:
        if not full.pop():
            return finish(cleanup)
        full.append(False)
        failed: Future[None] = Future()
        failed.set_exception(OSError("No space left on device"))
        return failed

    monkeypatch.setattr(world.configs, "finish_cleanup", sometimes)

    async def work(cleanups: Cleanups) -> None:
        cleanups.look()
        while world.cleanups():
            await asyncio.sleep(0.01)

    world.run(work)
    assert Told.told == ["deleted a", "deleted a"]
    assert world.done == ["c"]


def test_a_clean_up_that_is_given_up_is_not_begun_again(world: World) -> None:
    Told.behave = raise_text("down")
    world.configs.put_cleanup(new_cleanup("c", A))
    (cleanup,) = world.cleanups()

    async def work(cleanups: Cleanups) -> None:
        cleanups.look()
        while not world.cleanups()[0].tries:
            await asyncio.sleep(0.01)
        giving_up = asyncio.ensure_future(cleanups.give_up(cleanup.id))
        cleanups.look()
        given_up = await giving_up
        assert given_up is not None
        assert given_up.id == cleanup.id
        assert await cleanups.give_up(cleanup.id) is None

    world.run(work)
    assert Told.told == ["deleted a"]
    assert world.done == ["c"]


async def turns() -> None:
    """Let everything that is ready go on."""
    for _ in range(10):
        await asyncio.sleep(0)


async def until(condition: Callable[[], object]) -> None:
    while not condition():
        await asyncio.sleep(0.01)


def test_a_clean_up_on_hold_is_not_begun_before_it_is_let_go(world: World) -> None:
    world.configs.put_cleanup(new_cleanup("c", A))
    (cleanup,) = world.cleanups()

    async def work(cleanups: Cleanups) -> None:
        cleanups.hold(cleanup.id)
        cleanups.look()
        await turns()
        assert not cleanups._running
        cleanups.let_go(cleanup.id)
        cleanups.look()
        await until(lambda: not world.cleanups())

    world.run(work)
    assert Told.told == ["deleted a"]


def test_a_clean_up_is_begun_once_however_often_one_looks(world: World) -> None:
    world.configs.put_cleanup(new_cleanup("c", A))

    async def work(cleanups: Cleanups) -> None:
        cleanups.look()
        cleanups.look()
        await until(lambda: not world.cleanups())
        await turns()

    world.run(work)
    assert Told.told == ["deleted a"]


def test_whoever_waits_for_a_try_hears_of_it_when_it_was_made(world: World) -> None:
    go_on = threading.Event()

    def fail_then(config: Mapping[str, str]) -> None:
        go_on.wait(5)
        raise PluginError("down")

    async def work(cleanups: Cleanups) -> None:
        await cleanups.tried("c")
        world.configs.put_cleanup(new_cleanup("other", A))
        cleanups.look()
        await until(lambda: not world.configs.snapshot().cleanups)
        Told.behave = staticmethod(fail_then)
        world.configs.put_cleanup(new_cleanup("c", B))
        cleanups.look()
        tried = asyncio.ensure_future(cleanups.tried("c"))
        await until(lambda: "deleted b" in Told.told)
        await turns()
        assert not tried.done()
        go_on.set()
        await asyncio.wait_for(tried, 5)
        assert world.cleanups()[0].error == "penstock.api.errors.PluginError: down"

    world.run(work)


def test_whoever_waits_for_a_try_hears_when_the_clean_up_is_over(world: World) -> None:
    world.configs.put_cleanup(new_cleanup("c", A))

    async def work(cleanups: Cleanups) -> None:
        tried = asyncio.ensure_future(cleanups.tried("c"))
        await turns()
        cleanups.look()
        await asyncio.wait_for(tried, 20)

    world.run(work)
    assert (Told.told, world.cleanups()) == (["deleted a"], [])


def test_whoever_waits_for_a_try_hears_when_it_is_given_up(world: World) -> None:
    world.configs.put_cleanup(new_cleanup("c", A))
    (cleanup,) = world.cleanups()

    async def work(cleanups: Cleanups) -> None:
        tried = asyncio.ensure_future(cleanups.tried("c"))
        await turns()
        await cleanups.give_up(cleanup.id)
        await asyncio.wait_for(tried, 5)

    world.run(work)
    assert Told.told == []


def test_a_clean_up_that_fails_after_it_was_given_up_stays_given_up(world: World) -> None:
    go_on = threading.Event()

    def fail_then(config: Mapping[str, str]) -> None:
        go_on.wait(5)
        raise PluginError("down")

    Told.behave = staticmethod(fail_then)
    world.configs.put_cleanup(new_cleanup("c", A))
    (cleanup,) = world.cleanups()

    async def work(cleanups: Cleanups) -> None:
        cleanups.look()
        await until(lambda: Told.told)
        await cleanups.give_up(cleanup.id)
        go_on.set()
        for _ in range(20):
            await asyncio.sleep(0.01)

    world.run(work)
    assert world.cleanups() == []


def test_a_clean_up_is_not_begun_while_it_is_being_given_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.configs.put_cleanup(new_cleanup("c", A))
    (cleanup,) = world.cleanups()
    written: Future[None] = Future()
    monkeypatch.setattr(world.configs, "finish_cleanup", lambda cleanup: written)

    async def work(cleanups: Cleanups) -> None:
        giving_up = asyncio.ensure_future(cleanups.give_up(cleanup.id))
        await turns()
        cleanups.look()
        assert not cleanups._running
        written.set_exception(OSError("No space left on device"))
        with pytest.raises(OSError, match="No space left"):
            await giving_up
        cleanups.look()
        assert cleanups._running, "it was not given up after all"

    world.run(work)


def test_a_clean_up_waits_while_nobody_can_tell_whether_its_connector_has_ended(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.runtime.cleanups.FIRST_RETRY_SECONDS", 0.01)
    world.configs.put_cleanup(new_cleanup("c", A))
    asked: list[str] = []

    async def ended(name: str) -> None:
        asked.append(name)
        if len(asked) < 3:
            assert Told.told == []
            raise OSError("the broker is away")

    async def work() -> None:
        cleanups = Cleanups(world.configs, world.hooks, ended, world.done.append)
        cleanups.look()
        await until(lambda: world.done == ["c"])
        cleanups.stop()

    asyncio.run(work())
    assert (asked, Told.told, world.cleanups()) == (["c"] * 3, ["deleted a"], [])


def test_clean_ups_end_with_their_worker(world: World) -> None:
    world.configs.put_cleanup(Cleanup("id", "c", A, 1, 1, "down", next_try=1 << 50))

    async def work(cleanups: Cleanups) -> None:
        cleanups.look()
        await turns()
        assert cleanups._running
        cleanups.stop()
        await turns()
        assert not cleanups._running

    world.run(work)
    assert len(world.cleanups()) == 1


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        ("secret", "hunter22", "[hidden]"),
        ("secret", "", ""),
        ("secret", "${env:PASSWORD}", "${env:PASSWORD}"),
        ("secret", "${env:USER}:hunter22:${env:X}", "[hidden]"),
        ("http.headers.Authorization", "Bearer x", "[hidden]"),
        ("x-api-key", "x", "[hidden]"),
        ("database.password", "x", "[hidden]"),
        ("value.converter.basic.auth.user.info", "me:hunter22", "[hidden]"),
        ("mark", "plain", "plain"),
        ("mark", "amqp://me:hun@ter@one,you:hunter22@two/x", "amqp://me:[hidden]@two/x"),
        ("mark", "https://me@one:80/x@y", "https://me@one:80/x@y"),
        ("mark", "jdbc:x://db/y?user=me&password=hunter22&ssl=on", "jdbc:x://db/y?user=me&password=[hidden]&ssl=on"),
        ("mark", "jdbc:x://db;user=me;sslPassword=hunter22", "jdbc:x://db;user=me;sslPassword=[hidden]"),
        ("mark", "https://x/y?api_key=hunter22", "https://x/y?api_key=[hidden]"),
        ("mark", "host=db password=hunter22 user=me", "host=db password=[hidden] user=me"),
        ("mark", "https://x/y?token=${env:TOKEN}", "https://x/y?token=${env:TOKEN}"),
    ],
)
def test_what_the_api_masks(world: World, key: str, value: str, shown: str) -> None:
    assert masked({"connector.class": "Source", key: value}, world.plugin(A))[key] == shown


class Sealed(Transform):
    """A transform with a secret that is not called like one."""

    config = ConfigDef(ConfigKey("seal", Type.PASSWORD), ConfigKey("color", Type.STRING))

    def apply(self, record: Record) -> Record:
        return record


def test_the_api_masks_what_the_parts_of_a_connector_call_a_password(world: World) -> None:
    part = PluginEntry(PluginKind.TRANSFORMATION, "Sealed", "1", "", Sealed)
    config = {"transforms.a.b.seal": "hunter22", "transforms.a.b.color": "red", "my.seal": "grey"}
    assert masked(config, world.plugin(A), [part]) == {**config, "transforms.a.b.seal": "[hidden]"}

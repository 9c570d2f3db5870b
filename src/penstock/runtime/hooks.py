"""Calls lifecycle hooks so that a crash repeats a call rather than skipping it."""

from __future__ import annotations

import asyncio
import logging
import time
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from functools import partial

from penstock.api.connector import Connector
from penstock.storage.config_store import ConfigStore
from penstock.storage.faults import reach
from penstock.storage.lifecycle_records import Cleanup, HookCall, Lifecycle, cleanup_id, new_incarnation

from .calls import CallTimedOut, UserCode
from .lifecycle import Due, Hook, due
from .plugins import PluginEntry
from .secrets import without_values
from .traces import trace_of

log = logging.getLogger(__name__)

Raw = Mapping[str, str | None]


class HookFailed(Exception):
    """A hook raised or took too long. The text is for users, ``trace`` is what the status shows."""

    def __init__(self, text: str, trace: str, timed_out: bool = False) -> None:
        super().__init__(text)
        self.trace = trace
        self.timed_out = timed_out


class ConnectorGone(Exception):
    """The connector was deleted before its hook was called, or meanwhile; what came of the call is noted.

    Or this worker cannot prove any more that the connector is its own, and has not called the hook.
    """


class Hooks:
    """The hooks of all connectors of a worker. Runs on the runtime's loop; the hooks themselves run elsewhere.

    ``here`` is the worker's name in what it notes. ``may_call`` tells whether it can still prove that what the config
    log gives it is its own: somebody else may have taken over meanwhile.
    """

    def __init__(
        self,
        configs: ConfigStore,
        calls: UserCode,
        plugin_of: Callable[[Raw], PluginEntry],
        resolve: Callable[[Raw], dict[str, str]],
        seconds: float,
        here: str | None = None,
        may_call: Callable[[], bool] = lambda: True,
    ) -> None:
        self._configs = configs
        self._calls = calls
        self._plugin_of = plugin_of
        self._resolve = resolve
        self._seconds = seconds
        self._here = here
        self._may_call = may_call

    def due(self, name: str, wanted: Raw) -> Hook | None:
        """The hook that this configuration is owed before it starts, if its class has it."""
        hook = self._owed(name, wanted).hook
        return hook if hook is not None and self._implements(wanted, hook) else None

    def expected(self, name: str, wanted: Raw | None) -> list[tuple[Hook, Raw | None, Raw | None]]:
        """The calls that starting this configuration, or (``None``) deleting the connector, would bring.

        In order, each with the old and the new configuration it gets.
        """
        owed = Due(None) if wanted is None else self._owed(name, wanted)
        removed = self._deletable(self._lifecycle(name)) if wanted is None or owed.leftovers else []
        calls: list[tuple[Hook, Raw | None, Raw | None]] = [(Hook.DELETED, config, None) for config in removed]
        if wanted is not None and owed.hook is not None and self._implements(wanted, owed.hook):
            calls.append((owed.hook, owed.old, wanted))
        return calls

    def is_due(self, name: str, wanted: Raw) -> bool:
        """Whether anything must happen before this configuration starts."""
        owed, snapshot = self._owed(name, wanted), self._configs.snapshot()
        unsettled = snapshot.lifecycle(name).pending is not None
        return owed.hook is not None or bool(owed.leftovers) or unsettled or bool(snapshot.cleanups_of(name))

    def obstacle(self, name: str, wanted: Raw) -> str | None:
        """Why no task may run on this configuration before somebody does something about it, for users."""
        pending = self._configs.snapshot().lifecycle(name).pending
        if self._configs.snapshot().cleanups_of(name):
            return (
                "its connector waits for the clean-up of an earlier one, see GET /lifecycle/cleanups, and starts by "
                "itself when that is done."
            )
        if pending is None or pending.error is None or self.due(name, wanted) is None:
            return None
        return (
            f"on_{pending.hook}() of its connector has failed, and no task runs before it succeeds. To call it again "
            f"restart the connector: POST /connectors/{name}/restart. It failed with {pending.error}"
        )

    async def before_start(self, name: str, wanted: Raw) -> bool:
        """Call what is due for a configuration that is about to start, and make it the active one.

        ``False`` when clean-ups of this name must come first. Raises :class:`HookFailed`, or :class:`ConnectorGone`.
        """
        incarnation = self._configs.incarnation(name)
        owed = self._owed(name, wanted)
        if owed.leftovers:
            await self._leave_behind(name, incarnation)
        if self._configs.snapshot().cleanups_of(name):
            return False
        if owed.hook is None:
            if self._lifecycle(name).pending is not None:
                await self._note(name, incarnation, replace(self._lifecycle(name), pending=None))
            return True
        if self._implements(wanted, owed.hook):
            await self._call(name, incarnation, owed.hook, owed.old, wanted)
        else:
            await self._note(name, incarnation, replace(self._lifecycle(name), active=wanted, pending=None))
        return True

    def remove(self, name: str) -> Future[None]:
        """Delete a connector. What its hooks have noted, or note of a call that is in progress, is its clean-up."""
        return self._configs.remove_connector(name)

    def has_to_clean_up(self, cleanup: Cleanup) -> bool:
        """Whether there is a hook to be called for it; a class that is not installed might have it."""
        return any(self._implements(config, Hook.DELETED) for config in _configs_of(cleanup))

    async def clean_up(self, cleanup: Cleanup) -> None:
        """Call the deletion hook once for each configuration that is left. Raises :class:`HookFailed`."""
        reach("cleanup-before-hook")
        for config in _configs_of(cleanup):
            if self._implements(config, Hook.DELETED):
                await self._run(f"{cleanup.connector}: on_deleted()", config, partial(self._delete, config))
        reach("cleanup-after-hook")

    def _deletable(self, lifecycle: Lifecycle) -> list[Raw]:
        """What the deletion hook would be called with, the newest first: nothing if nothing was ever active.

        A call whose result nobody knows counts: it may have made something.
        """
        return [config for config in reversed(lifecycle.left) if self._implements(config, Hook.DELETED)]

    async def _leave_behind(self, name: str, incarnation: str | None) -> None:
        """Another class takes over, or another configuration than one of unknown result: the hooks begin anew."""
        before = self._lifecycle(name)
        left = self._deletable(before)[::-1]
        cleanup = None
        if left and incarnation is not None:
            number = cleanup_id(incarnation, before.number)
            cleanup = Cleanup(number, name, left[0], now_ms(), doubtful=left[1] if len(left) > 1 else None)
        await self._note(name, incarnation, Lifecycle(number=before.number + 1), cleanup)

    async def _call(self, name: str, incarnation: str | None, hook: Hook, old: Raw | None, wanted: Raw) -> None:
        """Intent, call and result. Whatever the crash, the intent is there and it comes again.

        What came of the call is noted even if the connector is gone by then: that is what its clean-up goes by.
        """
        before = self._lifecycle(name)
        intent = replace(_intent(before, hook, old, wanted), worker=self._here)
        failure: HookFailed | None = None
        reach("hook-before-intent")
        noted = await self._note(name, incarnation, replace(before, pending=intent))
        reach("hook-after-intent")
        if not self._may_call():
            raise ConnectorGone
        try:
            await self._run(f"{name}: on_{hook.value}()", wanted, lambda: self._invoke(hook, old, wanted))
            known = Lifecycle(wanted, number=before.number)
            reach("hook-after-call")
        except HookFailed as failed:
            failure = failed
            known = replace(before, pending=replace(intent, error=str(failed), timed_out=failed.timed_out))
        await asyncio.wrap_future(self._configs.put_lifecycle(name, noted, known))
        await self._require(name, noted)
        if failure is not None:
            raise failure

    def _invoke(self, hook: Hook, old: Raw | None, wanted: Raw) -> None:
        new = self._resolve(wanted)
        connector: Connector = self._plugin_of(wanted).load()()
        connector.configure(new)
        if hook is Hook.CREATED:
            connector.on_created(new)
        else:
            connector.on_updated(self._resolve(old or {}), new)

    def _delete(self, config: Raw) -> None:
        old = self._resolve(config)
        connector: Connector = self._plugin_of(config).load()()
        connector.configure(old)
        connector.on_deleted(old)

    def _owed(self, name: str, wanted: Raw) -> Due:
        """The rules, and that a class without any hook is left in peace: it never has an active configuration."""
        lifecycle = self._lifecycle(name)
        owed = due(lifecycle.active, lifecycle.doubtful, wanted, self._same_class)
        if owed.hook is not None and not any(self._implements(wanted, hook) for hook in Hook):
            return replace(owed, hook=None)
        return owed

    def _implements(self, config: Raw, hook: Hook) -> bool:
        """Whether the class has this hook; a class that is not installed might."""
        plugin, method = self._plugin(config), f"on_{hook.value}"
        return plugin is None or getattr(plugin.load(), method) is not getattr(Connector, method)

    def _same_class(self, one: Raw, other: Raw) -> bool:
        if one.get("connector.class") == other.get("connector.class"):
            return True
        ours, theirs = self._plugin(one), self._plugin(other)
        return ours is not None and theirs is not None and ours.target == theirs.target

    def _plugin(self, config: Raw) -> PluginEntry | None:
        try:
            return self._plugin_of(config)
        except LookupError:
            return None

    def _lifecycle(self, name: str) -> Lifecycle:
        return self._configs.snapshot().lifecycle(name)

    async def _note(
        self, name: str, incarnation: str | None, lifecycle: Lifecycle, cleanup: Cleanup | None = None
    ) -> str:
        """Write what is to be done next, and show for whom. Raises :class:`ConnectorGone` if that connector is gone.

        Another worker may delete it at the same time. When that is known before anything was done, what was noted is
        taken back.
        """
        found, before = await self._require(name, incarnation), self._lifecycle(name)
        await asyncio.wrap_future(self._configs.put_lifecycle(name, found, lifecycle, cleanup))
        try:
            return await self._require(name, incarnation)
        except ConnectorGone:
            await asyncio.wrap_future(self._configs.put_lifecycle(name, found, _as_it_was(before)))
            raise

    async def _require(self, name: str, incarnation: str | None) -> str:
        """Raises :class:`ConnectorGone`. A removal that is being written may still fail."""
        while (removed := self._configs.being_removed(name)) is not None:
            await asyncio.gather(asyncio.shield(asyncio.wrap_future(removed)), return_exceptions=True)
        if incarnation is None or self._configs.incarnation(name) != incarnation:
            raise ConnectorGone
        return incarnation

    async def _run(self, what: str, config: Raw, hook: Callable[[], None]) -> None:
        call: Future[None] = self._calls.run(what, self._seconds, lambda: self._shielded(config, hook))
        try:
            await asyncio.wrap_future(call)
        except CallTimedOut as late:
            text = f"{late}. The limit is the worker's lifecycle.hook.timeout.ms."
            raise HookFailed(text, text, timed_out=True) from late

    def _shielded(self, config: Raw, hook: Callable[[], None]) -> None:
        """Call a hook; what it raises comes out as texts, with secrets taken out."""
        try:
            hook()
        except BaseException as error:
            text = "".join(traceback.format_exception_only(error)).strip()
            raise HookFailed(self._shown(text, config), self._shown(trace_of(error), config)) from None

    def _shown(self, text: str, config: Raw) -> str:
        try:
            return without_values(text, config, self._resolve(config), self._plugin(config))
        except Exception:
            return text


def new_cleanup(name: str, config: Raw) -> Cleanup:
    """A clean-up that was not tried yet."""
    return Cleanup(new_incarnation(), name, config, now_ms())


def _configs_of(cleanup: Cleanup) -> list[Raw]:
    """What a clean-up calls the deletion hook with, in order: the newest first."""
    return [config for config in (cleanup.doubtful, cleanup.config) if config is not None]


def _as_it_was(before: Lifecycle) -> Lifecycle | None:
    """What is put back when nothing was called. A call that an earlier worker did not come back from stays in doubt."""
    return None if before == Lifecycle() else before.disowned()


def _intent(before: Lifecycle, hook: Hook, old: Raw | None, wanted: Raw) -> HookCall:
    """What is noted before a call.

    Where the call takes back an update of unknown result, that update stays in doubt until it is done.
    """
    pending = before.pending
    config = old if old is not None and old != before.active else wanted
    if pending is not None and pending.hook == hook.value and pending.config == config:
        return replace(pending, tries=pending.tries + 1, error=None, timed_out=False)
    return HookCall(hook.value, config, now_ms(), 1)


def now_ms() -> int:
    return time.time_ns() // 1_000_000

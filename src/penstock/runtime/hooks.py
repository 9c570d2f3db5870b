"""Calls lifecycle hooks so that a crash repeats a call rather than skipping it."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import TypeVar

from penstock.api.connector import Connector
from penstock.storage.config_store import ConfigStore
from penstock.storage.faults import reach
from penstock.storage.lifecycle_records import Cleanup, HookCall, Lifecycle

from .calls import UserCode
from .lifecycle import Hook, due
from .plugins import PluginEntry
from .traces import trace_of

log = logging.getLogger(__name__)

T = TypeVar("T")
Raw = Mapping[str, str | None]


class HookFailed(Exception):
    """A hook raised or took too long; the text is the trace the status shows."""


class Hooks:
    """The hooks of all connectors of a worker. Runs on the runtime's loop; the hooks themselves run elsewhere."""

    def __init__(
        self,
        configs: ConfigStore,
        calls: UserCode,
        plugin_of: Callable[[Raw], PluginEntry],
        resolve: Callable[[Raw], dict[str, str]],
        seconds: float,
    ) -> None:
        self._configs = configs
        self._calls = calls
        self._plugin_of = plugin_of
        self._resolve = resolve
        self._seconds = seconds

    def due(self, name: str, wanted: Raw) -> Hook | None:
        """The hook that this configuration is owed before it starts, if its class has it."""
        hook = due(self._lifecycle(name).active, wanted, self._same_class).hook
        return hook if hook is not None and self._implements(wanted, hook) else None

    def expected(self, name: str, wanted: Raw | None) -> list[tuple[Hook, Raw | None, Raw | None]]:
        """The calls that starting this configuration, or (``None``) deleting the connector, would bring.

        In order, each with the old and the new configuration it gets.
        """
        active = self._lifecycle(name).active
        if wanted is None:
            gone = active is not None and self._implements(active, Hook.DELETED)
            return [(Hook.DELETED, active, None)] if gone else []
        owed = due(active, wanted, self._same_class)
        calls: list[tuple[Hook, Raw | None, Raw | None]] = []
        if owed.replaced is not None and self._implements(owed.replaced, Hook.DELETED):
            calls.append((Hook.DELETED, owed.replaced, None))
        if owed.hook is not None and self._implements(wanted, owed.hook):
            calls.append((owed.hook, active if owed.hook is Hook.UPDATED else None, wanted))
        return calls

    def is_due(self, name: str, wanted: Raw) -> bool:
        """Whether anything must happen before this configuration starts."""
        snapshot = self._configs.snapshot()
        owed = due(snapshot.lifecycle(name).active, wanted, self._same_class)
        return owed.hook is not None or bool(snapshot.cleanups_of(name))

    async def before_start(self, name: str, wanted: Raw) -> bool:
        """Call what is due for a configuration that is about to start, and make it the active one.

        ``False`` when clean-ups of this name must come first. Raises :class:`HookFailed`.
        """
        owed = due(self._lifecycle(name).active, wanted, self._same_class)
        if owed.replaced is not None:
            await self._wait(self._configs.put_lifecycle(name, Lifecycle(), self.cleanup_for(name)))
        if self._configs.snapshot().cleanups_of(name):
            return False
        if owed.hook is None:
            if self._lifecycle(name).pending is not None:
                await self._wait(self._configs.put_lifecycle(name, Lifecycle(self._lifecycle(name).active)))
            return True
        if self._implements(wanted, owed.hook):
            await self._call(name, owed.hook, wanted)
        await self._wait(self._configs.put_lifecycle(name, Lifecycle(active=wanted)))
        return True

    async def clean_up(self, cleanup: Cleanup) -> None:
        """Call the deletion hook once. Raises what it raised."""
        reach("cleanup-before-hook")
        await self._run(f"{cleanup.connector}: on_deleted()", lambda: self._delete(cleanup.config))
        reach("cleanup-after-hook")

    def cleanup_for(self, name: str) -> Cleanup | None:
        """What deleting a connector would leave to be cleaned up: nothing if it was never active."""
        active = self._lifecycle(name).active
        return new_cleanup(name, active) if active is not None and self._implements(active, Hook.DELETED) else None

    async def _call(self, name: str, hook: Hook, wanted: Raw) -> None:
        """Intent, call, result. Whatever the crash, the intent is there and the call comes again."""
        before = self._lifecycle(name)
        tries = before.pending.tries if before.pending is not None and before.pending.hook == hook.value else 0
        intent = HookCall(hook.value, wanted, now_ms(), tries + 1)
        reach("hook-before-intent")
        await self._wait(self._configs.put_lifecycle(name, replace(before, pending=intent)))
        reach("hook-after-intent")
        try:
            await self._run(f"{name}: on_{hook.value}()", lambda: self._invoke(hook, before.active, wanted))
        except Exception as error:
            failed = replace(intent, error=str(error))
            await self._wait(self._configs.put_lifecycle(name, replace(before, pending=failed)))
            raise HookFailed(trace_of(error)) from error
        reach("hook-after-call")

    def _invoke(self, hook: Hook, active: Raw | None, wanted: Raw) -> None:
        new = self._resolve(wanted)
        connector: Connector = self._plugin_of(wanted).load()()
        connector.configure(new)
        if hook is Hook.CREATED:
            connector.on_created(new)
        else:
            connector.on_updated(self._resolve(active or {}), new)

    def _delete(self, config: Raw) -> None:
        old = self._resolve(config)
        connector: Connector = self._plugin_of(config).load()()
        connector.configure(old)
        connector.on_deleted(old)

    def _implements(self, config: Raw, hook: Hook) -> bool:
        """Whether the class has this hook; a class that is not installed might."""
        method = f"on_{hook.value}"
        try:
            plugin = self._plugin_of(config)
        except LookupError:
            return True
        return getattr(plugin.load(), method) is not getattr(Connector, method)

    def _same_class(self, one: Raw, other: Raw) -> bool:
        if one.get("connector.class") == other.get("connector.class"):
            return True
        try:
            return self._plugin_of(one).target == self._plugin_of(other).target
        except LookupError:
            return False

    def _lifecycle(self, name: str) -> Lifecycle:
        return self._configs.snapshot().lifecycle(name)

    async def _run(self, what: str, function: Callable[[], T]) -> T:
        return await asyncio.wrap_future(self._calls.run(what, self._seconds, function))

    async def _wait(self, future: Future[T]) -> T:
        return await asyncio.wrap_future(future)


def new_cleanup(name: str, config: Raw) -> Cleanup:
    """A clean-up that was not tried yet."""
    return Cleanup(uuid.uuid4().hex[:12], name, config, now_ms())


def now_ms() -> int:
    return time.time_ns() // 1_000_000

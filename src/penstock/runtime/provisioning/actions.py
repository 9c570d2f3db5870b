"""The steps that bring about what files want. What is previewed is what runs: each can do, undo and describe itself.

Doing an action only writes down what is wanted. Nothing starts, stops or calls a hook before all actions of an apply
are done, so undoing them leaves no trace outside.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from penstock.runtime.lifecycle import Hook
from penstock.runtime.requests import OffsetEntry, TargetState
from penstock.runtime.services import Services
from penstock.storage.config_snapshot import ConnectorEntry
from penstock.storage.lifecycle_records import cleanup_id
from penstock.storage.pipeline_records import Declaration

from . import describing
from .desired import DesiredConnector, DesiredTopic
from .plan import Change

Raw = Mapping[str, str | None]


@dataclass(frozen=True)
class Tools:
    """What actions work with. ``write_offsets`` asks the connector first, and raises if it refuses."""

    services: Services
    write_offsets: Callable[[str, Raw, Sequence[OffsetEntry]], Awaitable[bool]]


@dataclass(frozen=True)
class Facts:
    """What describing an action asks: configurations without secrets, hooks to be expected, offsets left behind."""

    masked: Callable[[Raw], Raw]
    hooks: Callable[[str, Raw | None], Sequence[tuple[Hook, Raw | None, Raw | None]]]
    has_offsets: Callable[[str, Raw], bool]
    has_cleanups: Callable[[str], bool]


class Action(ABC):
    """``title`` names it in messages, ``pipeline`` is the one it belongs to, ``connector`` the one it touches."""

    rank = 0
    title: str
    pipeline: str
    connector: str | None = None

    @abstractmethod
    async def do(self, tools: Tools) -> None:
        """Write it down. Raises when it cannot be."""

    @abstractmethod
    async def undo(self, tools: Tools) -> None:
        """Put back what was before, whether :meth:`do` came to its end or not."""

    @abstractmethod
    def describe(self, facts: Facts) -> Change:
        """For the preview."""


class CreateTopic(Action):
    """An empty topic."""

    rank = 0

    def __init__(self, topic: DesiredTopic) -> None:
        self.topic = topic
        self.title = f"create topic {topic.name}"
        self.pipeline = topic.pipeline
        self._made = False

    async def do(self, tools: Tools) -> None:
        topic = self.topic
        await _done(tools.services.topics.create_topic(topic.name, topic.partitions, topic.settings))
        self._made = True

    async def undo(self, tools: Tools) -> None:
        topics = tools.services.topics
        if self._made and not any(topics.end_offsets(self.topic.name)):
            await _done(topics.delete_topic(self.topic.name))

    def describe(self, facts: Facts) -> Change:
        return describing.topic_created(self.topic)


class ChangeTopic(Action):
    """Other settings of a topic. The last of all: a shorter retention cannot be taken back for long."""

    rank = 4

    def __init__(self, topic: DesiredTopic, before: Mapping[str, str]) -> None:
        self.topic = topic
        self.title = f"change topic {topic.name}"
        self.pipeline = topic.pipeline
        self._after = {key: value for key, value in topic.settings.items() if before.get(key) != value}
        self._before = {key: before.get(key) for key in self._after}

    async def do(self, tools: Tools) -> None:
        await _done(tools.services.topics.alter_settings(self.topic.name, self._after))

    async def undo(self, tools: Tools) -> None:
        await _done(tools.services.topics.alter_settings(self.topic.name, self._before))

    def describe(self, facts: Facts) -> Change:
        return describing.topic_changed(self.topic, self._before, self._after)


class CreateConnector(Action):
    """A connector that is not there yet, with its initial offsets."""

    rank = 3

    def __init__(self, wanted: DesiredConnector, declaration: Declaration) -> None:
        self.wanted = wanted
        self.declaration = declaration
        self.title = f"create connector {wanted.name}"
        self.pipeline = wanted.pipeline
        self.connector = wanted.name
        self._offsets_before: _Offsets | None = None

    async def do(self, tools: Tools) -> None:
        wanted = self.wanted
        if wanted.offsets:
            before = _Offsets(tools.services, wanted.name, wanted.config)
            await tools.write_offsets(wanted.name, wanted.config, wanted.offsets)
            self._offsets_before = before
        state = wanted.state or TargetState.STARTED
        await _done(tools.services.configs.declare_connector(wanted.name, self.declaration, wanted.config, state))

    async def undo(self, tools: Tools) -> None:
        configs = tools.services.configs
        if self.wanted.name in configs.snapshot():
            await _done(configs.remove_connector(self.wanted.name))
        if self._offsets_before is not None:
            await self._offsets_before.restore()

    def describe(self, facts: Facts) -> Change:
        return describing.connector_created(self.wanted, facts)


class UpdateConnector(Action):
    """Another configuration or target state, or only another pipeline or file that answers for the connector."""

    rank = 2

    def __init__(
        self, wanted: DesiredConnector, declaration: Declaration, entry: ConnectorEntry, before: Declaration | None
    ) -> None:
        self.wanted = wanted
        self.declaration = declaration
        self.title = f"update connector {wanted.name}"
        self.pipeline = wanted.pipeline
        self.connector = wanted.name
        self._entry = entry
        self._before = before

    async def do(self, tools: Tools) -> None:
        config = None if self.wanted.config == self._entry.config else self.wanted.config
        state = None if self.wanted.state is self._entry.target_state else self.wanted.state
        await _done(tools.services.configs.declare_connector(self.wanted.name, self.declaration, config, state))

    async def undo(self, tools: Tools) -> None:
        configs, name = tools.services.configs, self.wanted.name
        incarnation = configs.snapshot().incarnation(name)
        await _done(configs.restore_connector(name, self._entry, incarnation, self._before))

    def describe(self, facts: Facts) -> Change:
        return describing.connector_updated(self.wanted, self.declaration, self._entry, self._before, facts)


class DeleteConnector(Action):
    """A connector that no file declares any more. Its deletion hook is called when the whole apply is done."""

    rank = 1

    def __init__(self, name: str, entry: ConnectorEntry, incarnation: str, declaration: Declaration) -> None:
        self.name = name
        self.title = f"delete connector {name}"
        self.pipeline = declaration.pipeline
        self.connector = name
        self._entry = entry
        self._incarnation = incarnation
        self._declaration = declaration
        self._held: str | None = None

    async def do(self, tools: Tools) -> None:
        services = tools.services
        number = services.configs.snapshot().lifecycle(self.name).number
        self._held = cleanup_id(self._incarnation, number)
        services.cleanups.hold(self._held)
        await _done(services.hooks.remove(self.name))

    async def undo(self, tools: Tools) -> None:
        configs = tools.services.configs
        await _done(configs.restore_connector(self.name, self._entry, self._incarnation, self._declaration))
        self.release(tools)

    def release(self, tools: Tools) -> None:
        """The deletion is final, or undone: the clean-up, if there is one left, may begin."""
        if self._held is not None:
            tools.services.cleanups.let_go(self._held)

    def describe(self, facts: Facts) -> Change:
        return describing.connector_deleted(self.name, self._declaration, self._entry, facts)


class _Offsets:
    """The offsets under a connector's name at one moment."""

    def __init__(self, services: Services, name: str, config: Raw) -> None:
        self._services = services
        self._name = name
        self._group = services.group(config) if services.connector_type(config) == "sink" else None
        self._sink = {} if self._group is None else dict(services.topics.positions(self._group))
        self._source = [] if self._group is not None else list(services.offsets.all(name))

    async def restore(self) -> None:
        if self._group is not None:
            gone = dict.fromkeys(self._services.topics.positions(self._group))
            await _done(self._services.topics.alter_positions(self._group, {**gone, **self._sink}))
            return
        forgotten = [(partition, None) for partition, _ in self._services.offsets.all(self._name)]
        await _done(self._services.offsets.change(self._name, [*forgotten, *self._source]))


async def _done(future: Future[Any]) -> None:
    await asyncio.wrap_future(future)

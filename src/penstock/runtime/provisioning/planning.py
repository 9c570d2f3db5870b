"""From files to a plan that can be shown, and the actions behind it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.api.errors import ConfigError
from penstock.runtime.lifecycle_view import masked
from penstock.runtime.services import Services
from penstock.storage.config_snapshot import ConfigSnapshot
from penstock.storage.json_records import canonical

from .actions import Action, Facts
from .config_checks import check_connector
from .desired import WORKER, Desired, DesiredConnector
from .diff import Actual, TopicState, diff
from .documents import Document
from .many_deletions import KEY, too_many
from .plan import CLAIM, Change, Plan
from .problems import Problem

CHECKED_AT_ONCE = 8
HASH_LENGTH = 16


@dataclass(frozen=True)
class Planned:
    """A plan and what carries it out."""

    plan: Plan
    actions: Sequence[Action]

    @property
    def touched(self) -> list[str]:
        """The connectors that are not left alone, each once."""
        return sorted({action.connector for action in self.actions if action.connector is not None})


class PipelinePlanner:
    """Makes plans of what a worker has. Runs on the runtime's loop; checks of configurations run elsewhere."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def plan(self, desired: Desired, adopt: bool = False, checked: bool = True) -> Planned:
        """The plan for some files. ``checked=False`` leaves out what takes user code: valid configurations.

        Where too much would be deleted, it says so; a worker's own files lose no connector then.
        """
        actual = self._actual(desired)
        difference = diff(desired, actual, adopt)
        problems = [*desired.problems, *difference.problems]
        actions = list(difference.actions)
        percent = self._services.config.values[KEY]
        many = too_many(actions, difference.held, percent, desired.scope)
        if many is not None and desired.scope.origin == WORKER:
            actions = many.without(actions)
            problems.append(many.problem)
        if checked:
            found = await self._check(desired)
            spoiled = {problem.pipeline for problem in found if problem.is_error}
            actions = [action for action in actions if action.pipeline not in spoiled]
            problems += found
        facts = self._facts()
        changes = [action.describe(facts) for action in actions]
        valid = not any(problem.is_error for problem in problems)
        digest = plan_hash(desired, actual, changes) if valid else None
        refused = None if many is None else many.message
        return Planned(Plan(digest, changes, difference.unchanged, problems, refused), actions)

    def _actual(self, desired: Desired) -> Actual:
        """The connectors, and of the topics those that are asked for."""
        topics = self._services.topics
        known = topics.topics()
        wanted = {topic.name for pipeline in desired.pipelines for topic in pipeline.topics}
        states = {name: TopicState(known[name], topics.settings(name)) for name in wanted & known.keys()}
        return Actual(self._services.configs.snapshot(), states)

    def _facts(self) -> Facts:
        services = self._services
        snapshot = services.configs.snapshot()

        def has_offsets(name: str, config: Mapping[str, str | None]) -> bool:
            if services.connector_type(config) != "sink":
                return bool(services.offsets.all(name))
            try:
                return bool(services.topics.positions(services.group(config)))
            except ConfigError:
                return False

        return Facts(
            masked=lambda config: masked(config, services),
            hooks=services.hooks.expected,
            has_offsets=has_offsets,
            has_cleanups=lambda name: bool(snapshot.cleanups_of(name)),
        )

    async def _check(self, desired: Desired) -> list[Problem]:
        """Whether the configurations that are not there yet are valid, whatever else is wrong with their pipelines."""
        turn = asyncio.Semaphore(CHECKED_AT_ONCE)

        async def check(connector: DesiredConnector) -> list[Problem]:
            async with turn:
                return await check_connector(connector, self._services)

        snapshot = self._services.configs.snapshot()
        new = [
            wanted
            for wanted in desired.connectors
            if "connector.class" in wanted.config and snapshot.connector_config(wanted.name) != wanted.config
        ]
        found = await asyncio.gather(*map(check, new))
        return [problem for problems in found for problem in problems]


def plan_hash(desired: Desired, actual: Actual, changes: Sequence[Change]) -> str:
    """Another one whenever the plan, what is wanted or what is differs. Where the files lie does not matter.

    Notes do not count: they tell of offsets and clean-ups, which move by themselves.
    """
    names = {connector.name for connector in desired.connectors} | {change.name for change in changes}
    now = {name: _now(name, actual.snapshot) for name in names if name in actual.snapshot}
    topics = {name: [state.partitions, dict(state.settings)] for name, state in actual.topics.items()}
    shown = [repr(replace(change, file="", notes=())) for change in changes if change.action != CLAIM]
    text = canonical([_wanted(desired), now, topics, shown])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_LENGTH]


def _now(name: str, snapshot: ConfigSnapshot) -> list[Any]:
    entry, declaration = snapshot.entries[name], snapshot.declarations.get(name)
    declared = None
    if declaration is not None:
        declared = [declaration.pipeline, dict(declaration.config), declaration.state and declaration.state.value]
    return [dict(entry.config), entry.target_state.value, snapshot.lifecycle(name).active, declared]


def _wanted(desired: Desired) -> list[Any]:
    return [
        [
            pipeline.id,
            [[c.name, dict(c.config), c.state and c.state.value, repr(list(c.offsets))] for c in pipeline.connectors],
            [[t.name, t.partitions, dict(t.settings)] for t in pipeline.topics],
        ]
        for pipeline in desired.pipelines
    ]


def located(problems: Sequence[Problem], documents: Sequence[Document]) -> list[Problem]:
    """The same problems with lines and columns, as far as the documents know them."""
    places = {(document.file, document.number): document.places for document in documents}
    return [problem.located(places.get((problem.file, problem.document), {})) for problem in problems]

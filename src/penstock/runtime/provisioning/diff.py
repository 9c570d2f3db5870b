"""The difference between what files want and what is, as ordered actions. No side effects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.storage.config_snapshot import ConfigSnapshot
from penstock.storage.pipeline_records import Declaration

from .actions import Action, ChangeTopic, CreateConnector, CreateTopic, DeleteConnector, UpdateConnector
from .desired import Desired, DesiredConnector, DesiredTopic
from .problems import WARNING, Problem


@dataclass(frozen=True)
class TopicState:
    """A topic as it is."""

    partitions: int
    settings: Mapping[str, str]


@dataclass(frozen=True)
class Actual:
    """What is, at one moment."""

    snapshot: ConfigSnapshot
    topics: Mapping[str, TopicState] = field(default_factory=dict)


@dataclass(frozen=True)
class Difference:
    """Actions in the order they are done, the number of connectors that need none, and clashes with what is.

    ``held`` is how many connectors there are that these files have declared, now or before.
    """

    actions: Sequence[Action]
    unchanged: int
    held: int
    problems: Sequence[Problem]


def diff(desired: Desired, actual: Actual, adopt: bool = False) -> Difference:
    """What must be done. Pipelines with errors, here or in ``desired``, get no action and lose nothing.

    ``adopt`` lets files take over connectors that the API made.
    """
    clashes = [*_clashes(desired, actual, adopt), *_topic_clashes(desired, actual)]
    spoiled = {problem.pipeline for problem in [*desired.problems, *clashes] if problem.is_error}
    actions: list[Action] = []
    unchanged = 0
    for pipeline in desired.pipelines:
        if pipeline.id in spoiled:
            continue
        for connector in pipeline.connectors:
            action = _connector_action(connector, desired.scope.origin, actual)
            unchanged += action is None
            actions += [] if action is None else [action]
        actions += [action for topic in pipeline.topics if (action := _topic_action(topic, actual)) is not None]
    held = _held(desired, actual)
    actions += _deletions(desired, actual, held, {pipeline for pipeline in spoiled if pipeline is not None})
    actions = _without_repeated_topics(actions)
    return Difference(sorted(actions, key=lambda action: action.rank), unchanged, len(held), clashes)


def _connector_action(wanted: DesiredConnector, origin: str, actual: Actual) -> Action | None:
    declaration = Declaration(
        wanted.pipeline, wanted.place.file, origin, wanted.config, wanted.state, wanted.description
    )
    entry = actual.snapshot.entries.get(wanted.name)
    if entry is None:
        return CreateConnector(wanted, declaration)
    before = actual.snapshot.declarations.get(wanted.name)
    same_state = wanted.state is None or wanted.state is entry.target_state
    if before == declaration and entry.config == wanted.config and same_state:
        return None
    return UpdateConnector(wanted, declaration, entry, before)


def _topic_action(topic: DesiredTopic, actual: Actual) -> Action | None:
    known = actual.topics.get(topic.name)
    if known is None:
        return CreateTopic(topic)
    if any(known.settings.get(key) != value for key, value in topic.settings.items()):
        return ChangeTopic(topic, known.settings)
    return None


def _deletions(
    desired: Desired, actual: Actual, held: Mapping[str, Declaration], spoiled: set[str]
) -> Iterator[Action]:
    """What a file of this set made and none declares now; whatever cannot be judged stays."""
    names = {connector.name for connector in desired.connectors}
    for name, declaration in held.items():
        if name not in names and declaration.pipeline not in spoiled and declaration.file not in desired.unread:
            entry = actual.snapshot.entries[name]
            yield DeleteConnector(name, entry, actual.snapshot.incarnation(name), declaration)


def _held(desired: Desired, actual: Actual) -> dict[str, Declaration]:
    """The connectors there are that a file has declared and this set of files answers for."""
    names = {connector.name for connector in desired.connectors}
    pipelines = {pipeline.id for pipeline in desired.pipelines}
    return {
        name: declaration
        for name, declaration in sorted(actual.snapshot.declarations.items())
        if name in actual.snapshot.entries
        and (
            name in names
            or declaration.pipeline in pipelines
            or desired.scope.holds(declaration.file, declaration.origin)
        )
    }


def _clashes(desired: Desired, actual: Actual, adopt: bool) -> Iterator[Problem]:
    pipelines = {pipeline.id for pipeline in desired.pipelines}
    for wanted in desired.connectors:
        if wanted.name not in actual.snapshot:
            continue
        owner = actual.snapshot.declarations.get(wanted.name)
        if owner is None:
            if not adopt:
                yield _made_by_the_api(wanted)
        elif owner.pipeline == wanted.pipeline:
            if owner.file != wanted.place.file and not desired.scope.holds(owner.file, owner.origin):
                yield _other_file(wanted, owner)
        elif owner.pipeline not in pipelines and not desired.scope.holds(owner.file, owner.origin):
            yield _other_pipeline(wanted, owner)


def _made_by_the_api(wanted: DesiredConnector) -> Problem:
    return wanted.place.problem(
        f"Connector '{wanted.name}' is there already and was made by the API, not by a file.",
        "Choose another name, delete that connector, or let the file take it over (penstock apply --adopt).",
        "name",
        wanted.pipeline,
    )


def _other_pipeline(wanted: DesiredConnector, owner: Declaration) -> Problem:
    return wanted.place.problem(
        f"Connector '{wanted.name}' belongs to pipeline '{owner.pipeline}' of {owner.file}.",
        "Choose another name, or apply both files together.",
        "name",
        wanted.pipeline,
    )


def _other_file(wanted: DesiredConnector, owner: Declaration) -> Problem:
    message = f"Pipeline '{wanted.pipeline}' was declared by {owner.file} until now; this file takes it over."
    return Problem(message, wanted.place.file, wanted.place.path, severity=WARNING, document=wanted.place.document)


def _topic_clashes(desired: Desired, actual: Actual) -> Iterator[Problem]:
    for topic in (topic for pipeline in desired.pipelines for topic in pipeline.topics):
        known = actual.topics.get(topic.name)
        if known is not None and topic.partitions not in (None, known.partitions):
            message = f"The topic '{topic.name}' has {known.partitions} partitions, which cannot become another number."
            hint = f"Write 'partitions: {known.partitions}', leave it out, or use another topic."
            yield topic.place.problem(message, hint, pipeline=topic.pipeline)


def _without_repeated_topics(actions: Sequence[Action]) -> list[Action]:
    """Several pipelines may declare the same topic; the first one makes or changes it."""
    seen: set[str] = set()
    kept: list[Action] = []
    for action in actions:
        if isinstance(action, CreateTopic | ChangeTopic):
            if action.topic.name in seen:
                continue
            seen.add(action.topic.name)
        kept.append(action)
    return kept

"""Actions in words: which keys change, which hooks will be called, what is kept and what is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from penstock.runtime.requests import TargetState
from penstock.storage.config_snapshot import ConnectorEntry
from penstock.storage.pipeline_records import Declaration
from penstock.topics.settings import TopicSettings

from . import plan
from .desired import DesiredConnector, DesiredTopic
from .plan import STATE_WORDS, Change, ExpectedHook, KeyChange, StateChange

if TYPE_CHECKING:
    from .actions import Facts

Raw = Mapping[str, str | None]

RETENTION = ("retention.ms", "retention.bytes")
OFFSETS_KEPT = "Its offsets are kept."
OFFSETS_STAY = "Its offsets are kept: a connector that is created under this name again goes on from there."
RECORDS_STAY = "Records in topics stay."
NEVER_ACTIVE = "No hook is called: its class has none for this, or it was never started."
OTHER_CLASS = (
    "Its class changes. The offsets of the old class stay under its name; reset them if the new class cannot use them."
)


def topic_created(topic: DesiredTopic) -> Change:
    partitions = [] if topic.partitions is None else [KeyChange("partitions", None, str(topic.partitions))]
    settings = [KeyChange(key, None, value) for key, value in sorted(topic.settings.items())]
    return Change(
        plan.CREATE_TOPIC,
        topic.name,
        topic.pipeline,
        topic.place.file,
        f"The topic {topic.name} is created.",
        keys=[*partitions, *settings],
    )


def topic_changed(topic: DesiredTopic, before: Mapping[str, str | None], after: Mapping[str, str]) -> Change:
    shorter = [key for key in RETENTION if key in after and _shrinks(key, before[key], after[key])]
    return Change(
        plan.CHANGE_TOPIC,
        topic.name,
        topic.pipeline,
        topic.place.file,
        f"Settings of the topic {topic.name} change: {', '.join(sorted(after))}.",
        keys=[KeyChange(key, before[key], after[key]) for key in sorted(after)],
        notes=[f"Records beyond the new {key} are removed for good." for key in shorter],
    )


def connector_created(wanted: DesiredConnector, facts: Facts) -> Change:
    state = wanted.state or TargetState.STARTED
    starts = state is TargetState.STARTED
    masked = facts.masked(wanted.config)
    notes = []
    if wanted.offsets:
        notes.append(f"It begins at the offsets of the file, {_count(len(wanted.offsets), 'partition')}.")
    elif facts.has_offsets(wanted.name, wanted.config):
        notes.append("It goes on from the offsets that an earlier connector of this name left.")
    if facts.has_cleanups(wanted.name):
        notes.append("It waits for the clean-up of an earlier connector of this name (GET /lifecycle/cleanups).")
    return Change(
        plan.CREATE,
        wanted.name,
        wanted.pipeline,
        wanted.place.file,
        f"Connector {wanted.name} is created" + (" and started." if starts else f", {STATE_WORDS[state]}."),
        effect="starts" if starts else "nothing",
        keys=[KeyChange(key, None, masked[key]) for key in sorted(masked)],
        state=StateChange(None, STATE_WORDS[state]),
        hooks=_hooks(facts, wanted.name, wanted.config, "before it starts" if starts else "before its first start"),
        notes=notes,
    )


def connector_updated(
    wanted: DesiredConnector, declaration: Declaration, entry: ConnectorEntry, before: Declaration | None, facts: Facts
) -> Change:
    state = wanted.state or entry.target_state
    keys = key_changes(entry.config, wanted.config, None if before is None else before.config, facts)
    moved = StateChange(
        STATE_WORDS[entry.target_state], STATE_WORDS[state], before is not None and before.state is wanted.state
    )
    changes_state = state is not entry.target_state
    runs = state is TargetState.STARTED
    when = "before it starts again" if runs else "before it is started the next time"
    return Change(
        _kind(keys, changes_state),
        wanted.name,
        wanted.pipeline,
        wanted.place.file,
        _update_summary(wanted, declaration, before, keys, moved if changes_state else None),
        effect=_effect(entry.target_state, state, bool(keys)),
        keys=keys,
        state=moved if changes_state else None,
        hooks=_hooks(facts, wanted.name, wanted.config, when) if keys or (changes_state and runs) else [],
        notes=_update_notes(entry.config, wanted.config, before) if keys or before is None else [],
    )


def connector_deleted(name: str, declaration: Declaration, entry: ConnectorEntry, facts: Facts) -> Change:
    hooks = _hooks(facts, name, None, "after it has stopped")
    return Change(
        plan.DELETE,
        name,
        declaration.pipeline,
        declaration.file,
        f"Connector {name} is deleted: no file declares it any more.",
        effect="ends",
        state=StateChange(STATE_WORDS[entry.target_state], "deleted"),
        hooks=hooks,
        notes=[*([] if hooks else [NEVER_ACTIVE]), OFFSETS_STAY, RECORDS_STAY],
    )


def key_changes(before: Raw, after: Raw, applied: Raw | None, facts: Facts) -> list[KeyChange]:
    """The keys that differ, secrets hidden; drift is what is no longer as it was ``applied``."""
    shown_before, shown_after = facts.masked(before), facts.masked(after)
    changed = [key for key in sorted({*before, *after}) if before.get(key) != after.get(key)]
    drifted = {key for key in changed if applied is not None and applied.get(key) != before.get(key)}
    return [KeyChange(key, shown_before.get(key), shown_after.get(key), key in drifted) for key in changed]


def _hooks(facts: Facts, name: str, wanted: Raw | None, when: str) -> list[ExpectedHook]:
    return [
        ExpectedHook(
            hook.value, when, None if old is None else facts.masked(old), None if new is None else facts.masked(new)
        )
        for hook, old, new in facts.hooks(name, wanted)
    ]


def _kind(keys: Sequence[KeyChange], changes_state: bool) -> str:
    if keys:
        return plan.UPDATE
    return plan.STATE if changes_state else plan.CLAIM


def _effect(before: TargetState, after: TargetState, keys: bool) -> str:
    if after is TargetState.STARTED:
        if before is not TargetState.STARTED:
            return "starts"
        return "restarts" if keys else "nothing"
    if before is after:
        return "nothing"
    return "pauses" if after is TargetState.PAUSED else "stops"


def _update_summary(
    wanted: DesiredConnector,
    declaration: Declaration,
    before: Declaration | None,
    keys: Sequence[KeyChange],
    state: StateChange | None,
) -> str:
    if not keys and state is None:
        return f"Connector {wanted.name} {_claimed(declaration, before)}."
    changed = [f"changes {_count(len(keys), 'key')}"] if keys else []
    moved = [] if state is None else [f"goes from {state.before} to {state.after}"]
    drifts = any(key.drift for key in keys) or (state is not None and state.drift)
    why = ", which undoes what somebody changed by the API" if drifts else ""
    return f"Connector {wanted.name} {' and '.join(changed + moved)}{why}."


def _claimed(declaration: Declaration, before: Declaration | None) -> str:
    if before is None:
        return f"was made by the API and belongs to pipeline {declaration.pipeline} from now on"
    if before.pipeline != declaration.pipeline:
        return f"moves from pipeline {before.pipeline} to {declaration.pipeline}"
    if before.file != declaration.file:
        return f"is declared by {declaration.file} instead of {before.file}"
    return "stays as it is; what the file says of it is noted"


def _update_notes(before: Raw, after: Raw, declared: Declaration | None) -> list[str]:
    adopted = ["It was made by the API and belongs to this file from now on."] if declared is None else []
    other_class = before.get("connector.class") != after.get("connector.class")
    return [*adopted, OTHER_CLASS if other_class else OFFSETS_KEPT]


def _shrinks(key: str, before: str | None, after: str) -> bool:
    default = TopicSettings().retention_ms if key == "retention.ms" else TopicSettings().retention_bytes
    new, old = int(after), default if before is None else int(before)
    return new >= 0 and (old < 0 or new < old)


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")

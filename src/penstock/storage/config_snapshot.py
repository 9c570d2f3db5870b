"""What the config log says at one moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .config_records import Config, SessionKey
from .lifecycle_records import Cleanup, Lifecycle
from .log import LogRecord
from .pipeline_records import Declaration
from .states import TargetState
from .unfinished_records import Unfinished


@dataclass(frozen=True)
class ConnectorEntry:
    """All that is known of one connector. ``tasks`` are the committed task configs by id.

    ``applied`` is the connector config that was current when the tasks were committed. ``inconsistent`` tells that
    the last commit lacked task configs: the tasks must be made anew. ``generation`` counts commits of task
    configs, from 0; -1 before the first. ``fenced_tasks`` is the last task count record, ``pending_fencing`` tells
    that task configs came after it. ``committed_at`` is the position of the last commit; -1 before the first.
    ``written_at`` is the position of the configuration.
    """

    config: Config
    target_state: TargetState = TargetState.STARTED
    tasks: Sequence[Config] = ()
    task_count: int = 0
    applied: Config | None = None
    inconsistent: bool = False
    generation: int = -1
    fenced_tasks: int | None = None
    pending_fencing: bool = False
    committed_at: int = -1
    written_at: int = -1


@dataclass(frozen=True)
class ConfigSnapshot:
    """The connectors with their configs, tasks and target states. Never changes; ask the store for a newer one.

    ``position`` is the one after the last record read. ``cleanups`` are deletion hooks that still have to succeed.
    ``declarations`` tell of connectors that a pipeline file made, ``unfinished`` of changes in progress.
    ``incarnations`` has the ids of connectors that were given one. ``spent`` deletes records of hooks that say nothing
    any more.
    """

    entries: Mapping[str, ConnectorEntry]
    position: int = 0
    session_key: SessionKey | None = None
    lifecycles: Mapping[str, Lifecycle] = field(default_factory=dict)
    cleanups: Mapping[str, Cleanup] = field(default_factory=dict)
    declarations: Mapping[str, Declaration] = field(default_factory=dict)
    unfinished: Mapping[str, Unfinished] = field(default_factory=dict)
    incarnations: Mapping[str, str] = field(default_factory=dict)
    spent: Sequence[LogRecord] = ()

    def connectors(self) -> Sequence[str]:
        """The names of all connectors."""
        return list(self.entries)

    def __contains__(self, connector: object) -> bool:
        return connector in self.entries

    def connector_config(self, connector: str) -> Config | None:
        """The raw configuration, references unresolved; ``None`` for an unknown connector."""
        entry = self.entries.get(connector)
        return entry.config if entry else None

    def target_state(self, connector: str) -> TargetState:
        """What the user wants; STARTED where nothing was said."""
        entry = self.entries.get(connector)
        return entry.target_state if entry else TargetState.STARTED

    def task_configs(self, connector: str) -> Sequence[Config]:
        """Committed task configs by id; empty while they are inconsistent."""
        entry = self.entries.get(connector)
        return list(entry.tasks) if entry and not entry.inconsistent else []

    def task_count(self, connector: str) -> int:
        """The number of tasks of the last commit, even an incomplete one."""
        entry = self.entries.get(connector)
        return entry.task_count if entry else 0

    def applied_config(self, connector: str) -> Config | None:
        """The connector config from which the current tasks were made."""
        entry = self.entries.get(connector)
        return entry.applied if entry else None

    def incarnation(self, connector: str) -> str:
        """The id of a connector's life, which one without a record has by its name."""
        return self.incarnations.get(connector, connector)

    def lifecycle(self, connector: str) -> Lifecycle:
        """What is known of the hooks of a connector that is there."""
        return self.lifecycles.get(connector, Lifecycle())

    def cleanups_of(self, connector: str) -> Sequence[Cleanup]:
        """Clean-ups that connectors of this name have left behind, the oldest first."""
        return sorted((c for c in self.cleanups.values() if c.connector == connector), key=lambda c: c.since)

    def inconsistent(self) -> set[str]:
        """Connectors whose last task commit was incomplete."""
        return {name for name, entry in self.entries.items() if entry.inconsistent}

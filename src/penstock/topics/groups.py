"""What a commit changes of a group: its positions, and the state of one of its tasks."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from . import manifest
from .index import Index
from .interface import SinkCommit, TopicPartition


@dataclass(frozen=True, slots=True)
class GroupChange:
    """Part of a transaction, and of what the index learns after it."""

    group: str
    positions: Mapping[TopicPartition, int]
    task: int
    state: str | None

    @classmethod
    def of(cls, commit: SinkCommit) -> GroupChange:
        """Raises ``TypeError`` for a state that is no JSON."""
        state = None if commit.state is None else json.dumps(dict(commit.state))
        return cls(commit.group, commit.positions, commit.task, state)

    def write(self, connection: sqlite3.Connection) -> None:
        manifest.put_positions(connection, self.group, self.positions)
        if self.state is not None:
            manifest.put_state(connection, self.group, self.task, self.state)

    def learn(self, index: Index) -> None:
        """Call with the index locked."""
        index.move(self.group, self.positions)
        if self.state is not None:
            index.states.setdefault(self.group, {})[self.task] = json.loads(self.state)

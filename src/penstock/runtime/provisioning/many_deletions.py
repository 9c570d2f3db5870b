"""An apply that would delete most connectors is likelier a folder that is not mounted than a wish."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .actions import Action, DeleteConnector
from .desired import WORKER, Scope
from .problems import Problem

KEY = "pipelines.delete.max.percent"
FEW = 3
"""Fewer deletions are never too many: most sets of files are small."""
_SHOWN = 3


@dataclass(frozen=True)
class ManyDeletions:
    """More deletions than the worker takes unless told so: ``gone`` of ``held`` connectors that files answer for."""

    gone: Sequence[DeleteConnector]
    held: int
    percent: int
    scope: Scope

    @property
    def message(self) -> str:
        """How many of how many, where, and the way out."""
        some = [action.name for action in self.gone[:_SHOWN]]
        names = ", ".join(some) + (", …" if len(self.gone) > _SHOWN else "")
        where = self._where()
        way_out = (
            f"If it is meant, start the worker with {KEY}={self._enough}"
            if self.scope.origin == WORKER
            else "If it is meant, say so: penstock apply --delete-many, or 'delete_many': true in a request"
        )
        return (
            f"{len(self.gone)} of the {self.held} connectors that {where} declared before would be deleted ({names}): "
            f"more than {self.percent} % ({KEY}). Is a folder not mounted, or files missing? {way_out}."
        )

    @property
    def problem(self) -> Problem:
        """What a worker says of its own files."""
        hint = "The pipelines that would lose connectors stay as they were."
        return Problem(self.message, ", ".join(self.scope.paths), suggestion=hint)

    def without(self, actions: Sequence[Action]) -> list[Action]:
        """What is left when the pipelines that would lose connectors stay as they are."""
        pipelines = {action.pipeline for action in self.gone}
        return [action for action in actions if action.pipeline not in pipelines]

    @property
    def _enough(self) -> int:
        """The least share that allows it."""
        return -(-100 * len(self.gone) // self.held)

    def _where(self) -> str:
        paths = self.scope.paths
        if not paths:
            return "these files"
        return ", ".join(paths[:_SHOWN]) + (f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else "")


def too_many(actions: Sequence[Action], held: int, percent: int, scope: Scope) -> ManyDeletions | None:
    """Whether so many of the ``held`` connectors would be deleted that somebody should have said so."""
    gone = [action for action in actions if isinstance(action, DeleteConnector)]
    if len(gone) < FEW or 100 * len(gone) <= percent * held:
        return None
    return ManyDeletions(gone, held, percent, scope)

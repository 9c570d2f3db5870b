"""Which hook a connector is owed, from its active and its wanted configuration. No side effects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

Raw = Mapping[str, str | None]


class Hook(Enum):
    """The lifecycle hooks, by what happened to the connector."""

    CREATED = "created"
    UPDATED = "updated"
    DELETED = "deleted"


@dataclass(frozen=True)
class Due:
    """What must happen before a start: ``replaced`` (of another class) must be cleaned up, then ``hook`` be called."""

    hook: Hook | None
    replaced: Raw | None = None


def due(active: Raw | None, wanted: Raw, same_class: Callable[[Raw, Raw], bool]) -> Due:
    """The rules of the active configuration.

    Configurations are compared as they are written, references unresolved.
    """
    if active is None:
        return Due(Hook.CREATED)
    if not same_class(active, wanted):
        return Due(Hook.CREATED, replaced=active)
    if dict(active) != dict(wanted):
        return Due(Hook.UPDATED)
    return Due(None)

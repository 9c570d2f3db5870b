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
    """What must happen before a start: clean up after ``leftovers``, then call ``hook`` (an update from ``old``)."""

    hook: Hook | None
    old: Raw | None = None
    leftovers: tuple[Raw, ...] = ()


def due(active: Raw | None, doubtful: Raw | None, wanted: Raw, same_class: Callable[[Raw, Raw], bool]) -> Due:
    """The rules of the active configuration.

    ``doubtful`` is the configuration of a call whose result nobody knows. Configurations are compared as they are
    written, references unresolved.
    """
    if active is None:
        abandoned = doubtful is not None and dict(doubtful) != dict(wanted)
        return Due(Hook.CREATED, leftovers=_those(doubtful) if abandoned else ())
    if not same_class(active, wanted):
        return Due(Hook.CREATED, leftovers=_those(active, doubtful))
    if dict(active) != dict(wanted):
        return Due(Hook.UPDATED, active)
    if doubtful is not None and dict(doubtful) != dict(wanted):
        return Due(Hook.UPDATED, doubtful)
    return Due(None)


def _those(*configs: Raw | None) -> tuple[Raw, ...]:
    return tuple(config for config in configs if config is not None)

"""What of each connector belongs to this worker of a cluster, as the group's leader has decided."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from penstock.storage.config_snapshot import ConfigSnapshot

from .group_protocol import CONNECTOR, Unit
from .ownership import Ownership


class ClusterOwnership(Ownership):
    """Changed and asked on the runtime's loop."""

    shared = True

    def __init__(self) -> None:
        self._held: dict[str, frozenset[int]] = {}
        self._offset = 0

    def take(self, units: Iterable[Unit], offset: int) -> None:
        """From now on these are ours, as of the config topic up to ``offset``."""
        held: dict[str, set[int]] = {}
        for unit in units:
            held.setdefault(unit.connector, set()).add(unit.task)
        self._held = {name: frozenset(numbers) for name, numbers in held.items()}
        self._offset = offset

    def clear(self) -> None:
        """Nothing is ours."""
        self._held = {}

    @property
    def is_empty(self) -> bool:
        return not self._held

    def has_part(self, connector: str) -> bool:
        return connector in self._held

    def connector(self, connector: str) -> bool:
        return CONNECTOR in self._held.get(connector, ())

    def tasks(self, connector: str, snapshot: ConfigSnapshot) -> Collection[int]:
        """None before a round of the group came after their commit: by then every worker has stopped older ones."""
        entry = snapshot.entries.get(connector)
        if entry is None or entry.inconsistent or entry.committed_at >= self._offset:
            return ()
        return {n for n in self._held.get(connector, ()) if 0 <= n < len(entry.tasks)}


def configured_units(snapshot: ConfigSnapshot) -> frozenset[Unit]:
    """Every connector and task that should run somewhere."""
    units = set()
    for name in snapshot.connectors():
        units.add(Unit(name))
        units.update(Unit(name, number) for number in range(len(snapshot.task_configs(name))))
    return frozenset(units)

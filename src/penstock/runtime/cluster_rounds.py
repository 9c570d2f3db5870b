"""The leader's part in a round of the group: what everybody reports goes in, what everybody runs comes out."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping

from penstock.storage.config_snapshot import ConfigSnapshot

from .assignment import CooperativeAssignor, Round, eager_round
from .cluster_ownership import configured_units
from .forwarding import worker_id_of
from .group_protocol import CONFIG_MISMATCH, EAGER, Assignment, MemberState, Unit
from .statuses import Statuses


class ClusterRounds:
    """Remembers rounds that were completed; one that failed on its way leaves no trace.

    ``read_by_all`` is how far every member had read the config topic, and stopped what it must not run any more, before
    the last round. Only the leader knows.
    """

    def __init__(self, max_delay_ms: int) -> None:
        self._max_delay_ms = max_delay_ms
        self._assignor = CooperativeAssignor(max_delay_ms)
        self._next: CooperativeAssignor | None = None
        self._next_owners: dict[Unit, str] = {}
        self._owners: dict[Unit, str] = {}
        self._alive: frozenset[str] = frozenset()
        self._next_read = 0
        self.read_by_all = 0

    def decide(
        self,
        members: Mapping[str, MemberState],
        version: int,
        leader: str,
        snapshot: ConfigSnapshot | None,
        was_leader: bool,
        abandoned: Callable[[Collection[str]], frozenset[Unit]] = lambda alive: frozenset(),
    ) -> dict[str, Assignment]:
        """What to tell each member. Without a ``snapshot`` the leader has not read far enough, and says so.

        ``abandoned`` tells what workers other than these have left without a farewell.
        """
        url = members[leader].url
        self._next_read = min(state.offset for state in members.values())
        self._alive = frozenset(worker_id_of(state.url) for state in members.values())
        if snapshot is None:
            offset = max(state.offset for state in members.values())
            return {member: Assignment(leader, url, offset, error=CONFIG_MISMATCH) for member in members}
        if version == EAGER:
            outcome = eager_round(members, configured_units(snapshot))
        else:
            outcome = self._cooperative(members, snapshot, was_leader, abandoned(self._alive))
        self._next_owners = {unit: members[member].url for member, units in outcome.assigned.items() for unit in units}
        return {
            member: Assignment(
                leader,
                url,
                snapshot.position,
                outcome.assigned[member] - (frozenset() if version == EAGER else state.owned),
                outcome.revoked.get(member, frozenset()),
                outcome.delay_ms,
            )
            for member, state in members.items()
        }

    def completed(self, as_leader: bool) -> None:
        """The round reached everybody."""
        if as_leader and self._next is not None:
            self._assignor = self._next
        self._next = None
        self._owners = self._next_owners if as_leader else {}
        self.read_by_all = self._next_read if as_leader else 0

    def owner_url(self, unit: Unit) -> str | None:
        """Where a connector or task runs. Only the leader knows."""
        return self._owners.get(unit)

    def disown_dead(self, statuses: Statuses) -> None:
        """What is shown as running on workers that are gone does not run. Call when the round has its generation: what
        an older one says of a task is taken for the late farewell of a former owner."""
        statuses.disown(self._alive)

    def _cooperative(
        self,
        members: Mapping[str, MemberState],
        snapshot: ConfigSnapshot,
        was_leader: bool,
        abandoned: frozenset[Unit],
    ) -> Round:
        assignor = copy.copy(self._assignor) if was_leader else CooperativeAssignor(self._max_delay_ms)
        held_back = _held_back(members, snapshot)
        owned = {member: state.owned - held_back for member, state in members.items()}
        outcome = assignor.assign(owned, configured_units(snapshot) - held_back, abandoned)
        self._next = assignor
        given_up = {member: state.owned & held_back for member, state in members.items()}
        revoked = {member: outcome.revoked.get(member, frozenset()) | units for member, units in given_up.items()}
        return Round(outcome.assigned, {m: units for m, units in revoked.items() if units}, outcome.delay_ms)


def _held_back(members: Mapping[str, MemberState], snapshot: ConfigSnapshot) -> frozenset[Unit]:
    """Tasks of connectors whose older tasks some member may still run, since it has not read of the new ones.

    Nobody gets them in this round: the member stops what it has, comes again, and then they are dealt out.
    """
    behind = {
        unit.connector
        for state in members.values()
        for unit in state.owned
        if not unit.is_connector
        and unit.connector in snapshot
        and snapshot.entries[unit.connector].committed_at >= state.offset
    }
    units = {Unit(name, number) for name in behind for number in range(len(snapshot.task_configs(name)))}
    owned = {unit for state in members.values() for unit in state.owned if unit.connector in behind}
    return frozenset(unit for unit in units | owned if not unit.is_connector)

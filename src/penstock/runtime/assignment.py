"""Who runs what: the leader's decision in each round of the group, from what members run and what is configured."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .group_protocol import Unit

Owned = Mapping[str, frozenset[Unit]]

TOLERATED_SPREAD = 2
"""While members stay the same, deletions may leave one with so many units more than another: moving costs more."""


@dataclass(frozen=True)
class Round:
    """The outcome for every member: what it has from now on and what it must give up; when to meet again."""

    assigned: Mapping[str, frozenset[Unit]]
    revoked: Mapping[str, frozenset[Unit]] = field(default_factory=dict)
    delay_ms: int = 0


def eager_round(members: Iterable[str], configured: Iterable[Unit]) -> Round:
    """Everybody has stopped everything: connectors, then tasks, are dealt out in turn."""
    names = sorted(members)
    hands: dict[str, set[Unit]] = {name: set() for name in names}
    ordered = sorted(configured, key=lambda unit: (not unit.is_connector, unit))
    for number, unit in enumerate(ordered):
        hands[names[number % len(names)]].add(unit)
    return Round({name: frozenset(units) for name, units in hands.items()})


class CooperativeAssignor:
    """Moves as little as possible. The leader keeps one; a member that becomes the leader starts with a new one.

    What a vanished member ran waits for ``max_delay_ms``, in case it comes back, and is then given to others. Members
    that came with empty hands meanwhile get it at once: they are the vanished ones, restarted. Nothing waits that was
    abandoned: its member was given up after a session in which it could have come back.
    """

    def __init__(self, max_delay_ms: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_delay_ms = max_delay_ms
        self._clock = clock
        self._given: frozenset[Unit] = frozenset()
        self._members: frozenset[str] = frozenset()
        self._size = 0
        self._due: float | None = None
        self._newcomers: frozenset[str] = frozenset()
        self._unbalanced = True

    def assign(self, owned: Owned, configured: frozenset[Unit], abandoned: frozenset[Unit] = frozenset()) -> Round:
        """One round: ``owned`` is what each member says it runs, ``configured`` what should run."""
        self._unbalanced = self._unbalanced or owned.keys() != self._members
        hands, revoked = _without_leftovers(owned, configured)
        running = frozenset().union(*hands.values(), *revoked.values())
        lost = (self._given & configured) - running
        waiting = self._waiting(lost - abandoned, owned)
        preferred = sorted(self._newcomers & owned.keys()) if lost and not waiting else []
        if preferred:
            deal(lost, {name: hands[name] for name in preferred})
        deal(configured - running - waiting - frozenset().union(*hands.values()), hands)
        if not waiting:
            self._due = None
            self._newcomers = frozenset()
            for name, units in self._moves(hands).items():
                hands[name] -= units
                revoked[name] = revoked.get(name, frozenset()) | units
        self._remember(owned, frozenset().union(*hands.values()) | waiting)
        left = 0 if self._due is None else max(1, int((self._due - self._clock()) * 1000))
        gone = {name: units for name, units in revoked.items() if units}
        return Round({name: frozenset(units) for name, units in hands.items()}, gone, left)

    def _moves(self, hands: Mapping[str, set[Unit]]) -> dict[str, frozenset[Unit]]:
        """What is given up for balance: always after members came or went, else only where it is worth the move."""
        uneven = any(_spread(hands, kind) > TOLERATED_SPREAD for kind in (True, False))
        wanted, self._unbalanced = self._unbalanced or uneven, False
        return balancing(hands) if wanted else {}

    def _waiting(self, lost: frozenset[Unit], owned: Owned) -> frozenset[Unit]:
        """The lost units that nobody gets in this round."""
        self._newcomers |= {name for name in owned if name not in self._members and not owned[name]}
        nobody_runs_anything = not any(owned.values())
        if not lost or not self._max_delay_ms or nobody_runs_anything:
            return frozenset()
        now = self._clock()
        if self._due is None:
            self._due = now + self._max_delay_ms / 1000
        came_back = bool(self._newcomers & owned.keys()) and len(owned) >= self._size
        return frozenset() if came_back or now >= self._due else lost

    def _remember(self, owned: Owned, given: frozenset[Unit]) -> None:
        self._given = given
        self._members = frozenset(owned)
        self._size = max(self._size, len(owned)) if self._due is not None else len(owned)


def deal(units: Iterable[Unit], hands: Mapping[str, set[Unit]]) -> None:
    """Give each unit to the member with the fewest of its kind, and of those to one without tasks of its connector."""
    loads = {name: Counter(unit.is_connector for unit in hand) for name, hand in hands.items()}
    spread = {name: Counter(unit.connector for unit in hand) for name, hand in hands.items()}
    for unit in sorted(units, key=lambda unit: (not unit.is_connector, unit)):
        name = min(hands, key=lambda name: (loads[name][unit.is_connector], spread[name][unit.connector], name))
        hands[name].add(unit)
        loads[name][unit.is_connector] += 1
        spread[name][unit.connector] += 1


def balancing(hands: Mapping[str, set[Unit]]) -> dict[str, frozenset[Unit]]:
    """What members with too much give up, connectors and tasks apart, so that nobody has two more than another."""
    given_up: dict[str, frozenset[Unit]] = {}
    for is_connector in (True, False):
        kind = {name: sorted(u for u in hand if u.is_connector is is_connector) for name, hand in hands.items()}
        share, more = divmod(sum(map(len, kind.values())), max(1, len(kind)))
        for rank, name in enumerate(sorted(kind, key=lambda name: (-len(kind[name]), name))):
            surplus = len(kind[name]) - share - (rank < more)
            if surplus > 0:
                given_up[name] = given_up.get(name, frozenset()) | frozenset(_crowded_first(kind[name])[:surplus])
    return given_up


def _spread(hands: Mapping[str, set[Unit]], connectors: bool) -> int:
    """How many units of a kind the busiest member has more than the idlest."""
    counts = [sum(unit.is_connector is connectors for unit in hand) for hand in hands.values()]
    return max(counts) - min(counts)


def _crowded_first(units: Sequence[Unit]) -> list[Unit]:
    """Units of the connector with most of them here come first: giving them up spreads it."""
    count = Counter(unit.connector for unit in units)
    return sorted(units, key=lambda unit: (-count[unit.connector], unit.connector, -unit.task))


def _without_leftovers(
    owned: Owned, configured: frozenset[Unit]
) -> tuple[dict[str, set[Unit]], dict[str, frozenset[Unit]]]:
    """What members keep, and what they must give up: what is not configured any more or runs more than once."""
    times = Counter(unit for units in owned.values() for unit in units)
    hands: dict[str, set[Unit]] = {}
    revoked: dict[str, frozenset[Unit]] = {}
    for name, units in owned.items():
        revoked[name] = frozenset(unit for unit in units if unit not in configured or times[unit] > 1)
        hands[name] = set(units - revoked[name])
    return hands, revoked

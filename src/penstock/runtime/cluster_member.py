"""A worker as a member of its cluster: takes part in rounds of the group, and follows the config topic."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any

from penstock.storage.config_reader import ConfigListener
from penstock.storage.config_records import Restart

from .cluster_ownership import ClusterOwnership, configured_units
from .cluster_rounds import ClusterRounds
from .farewells import Farewells
from .group_members import members_after
from .group_protocol import EAGER, VERSIONS, Assignment, MemberState, Unit
from .logging import Loggers
from .membership import GroupSettings, Joined, Membership
from .metrics import GroupView, Rebalances
from .requests import RestartRequest, State, TaskId, WorkerInfo
from .restart import plan_restart
from .services import Services
from .worker import Worker

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.02
LEASE_LOOK_SECONDS = 0.1


class ClusterMember(ConfigListener):
    """Called by three threads: the group's (``Participant``), the log's (``ConfigListener``), and the runtime's loop.

    What runs only changes on the loop. ``workers`` are the members after the last round; only the leader knows them.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        services: Services,
        worker: Worker,
        ownership: ClusterOwnership,
        loggers: Loggers,
        settings: GroupSettings,
        rounds: ClusterRounds,
        sync_seconds: float,
        farewells: Farewells,
    ) -> None:
        self._loop = loop
        self._services = services
        self._worker = worker
        self._ownership = ownership
        self._loggers = loggers
        self._settings = settings
        self._sync_seconds = sync_seconds
        self._farewells = farewells
        self._held: frozenset[Unit] = frozenset()
        self._names: set[str] = set()
        self._began_at = 0
        self._removed_at: dict[str, int] = {}
        self._offset = 0
        self._closed = False
        self._lost = False
        self._delayed: asyncio.TimerHandle | None = None
        self._watching: asyncio.Task[None] | None = None
        self.rounds = rounds
        self.membership = Membership(settings, self)
        self.joined_as: Joined | None = None
        self.assignment: Assignment | None = None
        self.workers: Sequence[WorkerInfo] = ()
        self._next_workers: Sequence[WorkerInfo] = ()
        self.rebalances = Rebalances()
        self.on_round: Callable[[], None] = lambda: None
        self.on_lead: Callable[[], None] = lambda: None

    @property
    def generation(self) -> int:
        return self.joined_as.generation if self.joined_as is not None else 0

    @property
    def is_member(self) -> bool:
        """Whether this worker has a place in the group, for all it knows."""
        return self.joined_as is not None and self.membership.lease.is_valid

    @property
    def is_leader(self) -> bool:
        """Whether this worker leads the group, and can prove it: a round has come since it last lost its place."""
        return self.is_member and not self._lost and self.joined_as is not None and self.joined_as.is_leader

    @property
    def leader_url(self) -> str | None:
        """Where the leader is; ``None`` when nobody knows."""
        if not self.is_member or self.assignment is None or self.is_leader:
            return None
        return self.assignment.leader_url or None

    def has_worker(self, worker_id: str) -> bool:
        """Whether a worker was there in the last round. Only the leader knows."""
        return any(worker.worker_id == worker_id for worker in self.workers)

    @property
    def group(self) -> GroupView:
        """What is known of the group, for metrics."""
        version = 0 if self.joined_as is None else self.joined_as.version
        protocol = next(name for name, number in VERSIONS.items() if number == version)
        leader = "" if self.assignment is None else self.assignment.leader_url
        held = self._held
        connectors = sum(unit.is_connector for unit in held)
        name = "eager" if version == EAGER else protocol
        meters, tasks = self.membership.meters, len(held) - connectors
        return GroupView(leader, self.generation, name, self.rebalances, meters, connectors, tasks)

    def start(self) -> None:
        """Join the group and follow the config topic. Called on the loop."""
        self._services.configs.listen(self)
        snapshot = self._services.configs.snapshot()
        self._names.update(snapshot.connectors())
        self._began_at = snapshot.position
        self._watching = self._loop.create_task(self._watch_lease(), name="lease")
        self.membership.start()

    async def stop(self) -> None:
        """Give up what runs and leave the group, so that others take over at once."""
        self._closed = True
        if self._watching is not None:
            self._watching.cancel()
        if self._delayed is not None:
            self._delayed.cancel()
        await self._worker.stop()
        await asyncio.to_thread(self._farewells.say)
        await asyncio.to_thread(self.membership.stop)

    def has_stopped_everywhere(self, name: str) -> bool:
        """Whether no worker runs anything that it ran before the connector was last stopped or removed.

        A round has come since then, and before a round every member ends what it has to. Only the leader knows.
        """
        entry = self._services.configs.snapshot().entries.get(name)
        stopped = -1 if entry is None else entry.committed_at
        return self.rounds.read_by_all >= max(self._removed_at.get(name, self._began_at), stopped + 1)

    # What the group asks, on its own thread

    def state(self) -> MemberState:
        snapshot = self._services.configs.snapshot()
        self._held &= configured_units(snapshot)
        return MemberState(self._settings.url, self._offset, self._held)

    def settle(self) -> None:
        self.rebalances.begin()
        if self.joined_as is not None and self.joined_as.version == EAGER:
            self._held = frozenset()
            self._on_loop(self._ownership.clear)
            self._on_loop(self._worker.keep_all)
        elif self.joined_as is not None and self.joined_as.is_leader:
            self._farewells.hear()
        self._offset = self._services.configs.snapshot().position
        self._wait_until_quiet()

    def assign(self, members: Mapping[str, MemberState], version: int, leader: str) -> Mapping[str, Assignment]:
        known = all(self._reaches(state.offset) for state in members.values())
        was_leader = self.joined_as is not None and self.joined_as.is_leader
        snapshot = self._services.configs.snapshot()
        abandoned = self._farewells.missing
        decided = self.rounds.decide(members, version, leader, snapshot if known else None, was_leader, abandoned)
        self._next_workers = members_after(members, decided, version)
        return decided

    def joined(self, assignment: Assignment, membership: Joined) -> None:
        if assignment.error or not self._reaches(assignment.offset):
            log.warning("The config topic is not read far enough yet (to %d): joining again", assignment.offset)
            self.membership.rejoin()
            return
        self.rounds.completed(membership.is_leader)
        self.rebalances.complete()
        before = frozenset() if membership.version == EAGER else self._held - assignment.revoked
        self._held = before | assignment.assigned
        log.info(
            "Joined the group %s, generation %d, as %s: %d connectors and tasks are ours, %d to be given up",
            self._settings.group,
            membership.generation,
            "leader" if membership.is_leader else "member",
            len(self._held),
            len(assignment.revoked),
        )
        if assignment.delay_ms and membership.is_leader:
            log.info("What a worker ran that has left waits %g s for it to come back", assignment.delay_ms / 1000)
        self._on_loop(self._take, assignment, membership)
        if assignment.revoked:
            self.membership.rejoin()

    def expelled(self) -> None:
        self._held = frozenset()
        self._on_loop(self._lose)
        self._wait_until_quiet()

    # What the config topic tells, on the log's thread

    def connector_updated(self, connector: str) -> None:
        self._on_loop(self._updated, connector)

    def connector_removed(self, connector: str) -> None:
        self._on_loop(self._removed, connector, self._services.configs.snapshot().position)

    def tasks_updated(self, connector: str) -> None:
        self._on_loop(self._tasks_updated, connector)

    def target_state_changed(self, connector: str) -> None:
        self._on_loop(self._worker.keep, connector)

    def lifecycle_changed(self, connector: str) -> None:
        self._on_loop(self._hooks_told, connector)

    def restart_requested(self, restart: Restart) -> None:
        self._on_loop(self._restart, restart)

    def logger_level_set(self, namespace: str, level: str) -> None:
        self._on_loop(self._loggers.set, namespace, level)

    # What changes, on the loop

    def _take(self, assignment: Assignment, membership: Joined) -> None:
        if self._closed:
            return
        gained = membership.is_leader and not self.is_leader
        self.joined_as, self.assignment, self._lost = membership, assignment, False
        self.workers = self._next_workers if membership.is_leader else ()
        if gained:
            self.on_lead()
        if membership.is_leader:
            self.rounds.disown_dead(self._services.statuses)
        self._ownership.take(self._held, assignment.offset)
        self._removed_at = {name: at for name, at in self._removed_at.items() if at > self.rounds.read_by_all}
        self._worker.keep_all()
        if self._delayed is not None:
            self._delayed.cancel()
            self._delayed = None
        if assignment.delay_ms:
            self._delayed = self._loop.call_later(assignment.delay_ms / 1000, self.membership.rejoin)
        self.on_round()

    def _updated(self, connector: str) -> None:
        if Unit(connector) in self._held:
            self._worker.reconfigure(connector)
        elif connector not in self._names:
            self._names.add(connector)
            self.membership.rejoin()

    def _removed(self, connector: str, position: int) -> None:
        self._names.discard(connector)
        self._removed_at[connector] = position
        self._worker.remove(connector)
        self._services.cleanups.look()
        self.membership.rejoin()

    def _hooks_told(self, connector: str) -> None:
        self._worker.keep(connector)
        self._services.cleanups.look()

    def _tasks_updated(self, connector: str) -> None:
        self._worker.keep(connector)
        self.membership.rejoin()

    def _restart(self, restart: Restart) -> None:
        """Of a restart with flags, what runs here."""
        status = self._services.statuses.of(restart.connector)
        if status is None:
            return
        plan = plan_restart(RestartRequest(restart.connector, restart.only_failed, restart.include_tasks), status)
        mine = self._ownership.tasks(restart.connector, self._services.configs.snapshot())
        tasks = [number for number in plan.restart_tasks if number in mine]
        connector = plan.restart_connector and self._ownership.connector(restart.connector)
        if connector or tasks:
            self._show_restarting(restart.connector, connector, tasks)
            done = self._worker.restart(restart.connector, connector, tasks)
            done.add_done_callback(_note_failure)

    def _lose(self) -> None:
        """Nothing is ours any more, for all we can prove."""
        self._lost = True
        self._held = frozenset()
        self._ownership.clear()
        self._worker.keep_all()
        self.on_round()

    def _show_restarting(self, name: str, connector: bool, tasks: Sequence[int]) -> None:
        """At once, however long it takes to stop what runs: who asked for the restart waits for it."""
        if connector:
            self._services.statuses.connector(name, State.RESTARTING)
        for number in tasks:
            self._services.statuses.task(TaskId(name, number), State.RESTARTING)

    async def _watch_lease(self) -> None:
        """Stop tasks in good time when heartbeats are not answered."""
        while True:
            await asyncio.sleep(LEASE_LOOK_SECONDS)
            if self.membership.lease.is_ending and not self._ownership.is_empty:
                log.warning("No heartbeat was answered for most of the session timeout: stopping all tasks")
                self._lose()
                self.membership.rejoin()

    def _wait_until_quiet(self) -> None:
        limit = 2 * self._services.stop_seconds + 2
        waiting = asyncio.run_coroutine_threadsafe(self._quiet(), self._loop)
        try:
            waiting.result(min(limit, self._settings.rebalance_ms / 2000))
        except FutureTimeoutError:
            waiting.cancel()
            log.warning("Not everything that moves to other workers has stopped in time")

    async def _quiet(self) -> None:
        while self._worker.is_leaving:
            await asyncio.sleep(LOOK_SECONDS)

    def _reaches(self, offset: int) -> bool:
        """Wait for the log to be read up to ``offset``, within reason."""
        until = time.monotonic() + self._sync_seconds
        while self._services.configs.snapshot().position < offset:
            if time.monotonic() > until:
                return False
            time.sleep(LOOK_SECONDS)
        return True

    def _on_loop(self, function: Callable[..., Any], *arguments: Any) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *arguments)


def _note_failure(done: asyncio.Future[None]) -> None:
    if not done.cancelled() and done.exception() is not None:
        log.warning("restart: %s", done.exception())

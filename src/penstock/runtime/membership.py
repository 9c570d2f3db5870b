"""Membership in the Kafka group of the workers: joining, heartbeats, the lease, and leaving."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from kafka.coordinator.base import BaseCoordinator
from kafka.errors import IllegalGenerationError, KafkaError, MemberIdRequiredError, RebalanceInProgressError, for_code
from kafka.net.compat import KafkaNetClient
from kafka.protocol.consumer import HeartbeatRequest, LeaveGroupRequest

from . import group_protocol as protocol
from .former_member import FormerMember
from .group_protocol import Assignment, MemberState
from .lease import Lease, boot_time
from .metrics_group import GroupMeters

log = logging.getLogger(__name__)

JOIN_SECONDS = 0.5
LOOK_SECONDS = 0.2
FIRST_RETRY_SECONDS = 0.2
LONGEST_RETRY_SECONDS = 5.0
LEAVE_SECONDS = 3.0


@dataclass(frozen=True)
class GroupSettings:
    """Who we are and how the group works. ``client`` says where the brokers are, in kafka-python's words.

    ``folder`` is the worker's own, where it finds after a crash what its name in the group was.
    """

    group: str
    url: str
    session_ms: int = 10_000
    heartbeat_ms: int = 1_000
    rebalance_ms: int = 60_000
    protocol: str = "sessioned"
    client: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None


class Participant(Protocol):
    """What a member of the group asks of its worker."""

    def state(self) -> MemberState:
        """What to tell the leader. Called just before each join."""

    def settle(self) -> None:
        """Return when what must stop has stopped. Called before each join; heartbeats go on meanwhile."""

    def assign(self, members: Mapping[str, MemberState], version: int, leader: str) -> Mapping[str, Assignment]:
        """The leader's decision. Runs on the network thread: be quick."""

    def joined(self, assignment: Assignment, membership: Joined) -> None:
        """A round is over."""

    def expelled(self) -> None:
        """The group does not know this member any more: stop everything. Returns when nothing can be committed."""


@dataclass(frozen=True)
class Joined:
    """A completed round as this member sees it."""

    generation: int
    member: str
    leader: str
    version: int

    @property
    def is_leader(self) -> bool:
        return self.member == self.leader


class GivenUp(KafkaError):  # type: ignore[misc]
    """The group has forgotten us amid a join: what runs must stop before we come again under another name."""


class Membership:
    """Keeps a worker in the group from a thread of its own; kafka-python's network thread sends the heartbeats."""

    def __init__(self, settings: GroupSettings, participant: Participant) -> None:
        self._settings = settings
        self._participant = participant
        self.lease = Lease(settings.session_ms / 1000)
        self.meters = GroupMeters()
        self._coordinator: ConnectCoordinator | None = None
        self._wake = threading.Event()
        self._stopping = False
        self._rejoin = False
        self._member = ""
        self._former = FormerMember(settings.folder, settings.group)
        self._dismissed = False
        self._thread = threading.Thread(target=self._run, name="group-membership", daemon=True)

    def start(self) -> None:
        """Begin to join; returns at once."""
        self._thread.start()

    def rejoin(self) -> None:
        """Ask for a new round. May be called at any time, from any thread."""
        self._rejoin = True
        self._wake.set()

    def stop(self) -> None:
        """Leave the group, so that others take over at once."""
        self._stopping = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(2 * LEAVE_SECONDS + JOIN_SECONDS)
        self.lease.end()

    def _run(self) -> None:
        wait = FIRST_RETRY_SECONDS
        while not self._stopping:
            try:
                if self._coordinator is None:
                    self._coordinator = ConnectCoordinator(self._settings, self._participant, self.lease, self.meters)
                self._look(self._coordinator)
                wait = FIRST_RETRY_SECONDS
            except KafkaError as error:
                log.warning("The group %s cannot be joined now: %s", self._settings.group, error)
                self._wake.wait(wait)
                wait = min(2 * wait, LONGEST_RETRY_SECONDS)
            except Exception:
                log.exception("Membership in the group %s failed; joining again", self._settings.group)
                self._wake.wait(wait)
                wait = min(2 * wait, LONGEST_RETRY_SECONDS)
        if self._coordinator is not None and self._coordinator.leave():
            self._former.forget()

    def _look(self, coordinator: ConnectCoordinator) -> None:
        self._wake.wait(LOOK_SECONDS)
        self._wake.clear()
        coordinator.poll_heartbeat()
        if self._member and coordinator.member != self._member:
            log.warning("The group %s has given up this worker", self._settings.group)
            self._member = coordinator.known_as = ""
            self.lease.end()
            self._participant.expelled()
        if self._rejoin:
            self._rejoin = False
            coordinator.request_rejoin()
        if not coordinator.need_rejoin():
            return
        self._participant.settle()
        self._dismiss_former(coordinator)
        try:
            while not self._stopping and not coordinator.ensure_active_group(timeout_ms=int(JOIN_SECONDS * 1000)):
                coordinator.poll_heartbeat()
        except GivenUp:
            self._wake.set()
            return
        outcome = coordinator.outcome
        if outcome is None or self._stopping:
            return
        coordinator.outcome = None
        if self._member != coordinator.member:
            self._former.remember(coordinator.member)
        self._member = coordinator.known_as = coordinator.member
        self._participant.joined(*outcome)

    def _dismiss_former(self, coordinator: ConnectCoordinator) -> None:
        """Before the first join: whoever we were before a crash is dead, and the group does not have to find out."""
        former = "" if self._dismissed else self._former.read()
        self._dismissed = True
        if former and coordinator.dismiss(former):
            log.info("The group %s does not wait for %s any more, who was killed", self._settings.group, former)


class ConnectCoordinator(BaseCoordinator):  # type: ignore[misc]
    """Kafka Connect's side of the group protocol. Its coroutines run on the network thread."""

    def __init__(self, settings: GroupSettings, participant: Participant, lease: Lease, meters: GroupMeters) -> None:
        connection = {
            **settings.client,
            "client_id": f"{settings.group}-member",
            "request_timeout_ms": min(settings.session_ms, 30_000),
            "reconnect_backoff_max_ms": 1_000,
        }
        self._network = KafkaNetClient(**connection)
        self._network._net.start()
        self._aside = KafkaNetClient(net=self._network._net, **connection)
        version = self._network.get_broker_version(timeout_ms=settings.session_ms)
        self._aside.get_broker_version(timeout_ms=settings.session_ms)
        super().__init__(
            self._network,
            group_id=settings.group,
            session_timeout_ms=settings.session_ms,
            heartbeat_interval_ms=settings.heartbeat_ms,
            max_poll_interval_ms=settings.rebalance_ms,
            request_timeout_ms=connection["request_timeout_ms"],
            api_version=version,
        )
        self._participant = participant
        self._names = protocol.offered(settings.protocol)
        self._lease = lease
        self._meters = meters
        self._told: Assignment | None = None
        self._leader = ""
        self._joining = False
        self._answered = 0.0
        self.outcome: tuple[Assignment, Joined] | None = None
        self.known_as = ""
        """The name under which our work is ours, as far as the worker knows."""

    @property
    def member(self) -> str:
        """Our name in the group; empty while we have none."""
        generation = self._generation
        return "" if generation.is_lost() else str(generation.member_id)

    def protocol_type(self) -> str:
        return "connect"

    def group_protocols(self) -> list[tuple[str, bytes]]:
        state = self._participant.state()
        versions = [(name, protocol.VERSIONS[name]) for name in self._names]
        return [(name, protocol.write_member(state, version, self._told)) for name, version in versions]

    def leave(self) -> bool:
        """Say farewell and close all connections. ``False`` when the group may not have heard it."""
        try:
            self.close(timeout_ms=int(LEAVE_SECONDS * 1000))
            self._aside._manager.close()
            self._network.close()
        except Exception as error:
            log.info("Leaving the group: %s", error)
            return False
        return True

    def dismiss(self, member: str) -> bool:
        """Say farewell for somebody who cannot any more. ``False`` when the group does not know him, or not answer."""
        try:
            return bool(self._net.run(self._dismiss, member))
        except Exception as error:
            log.info("The group does not know yet that %s is gone: %s", member, error)
            return False

    async def _dismiss(self, member: str) -> bool:
        milliseconds = int(LEAVE_SECONDS * 1000)
        if not await self.ensure_coordinator_ready_async(timeout_ms=milliseconds):
            return False
        identity = LeaveGroupRequest.MemberIdentity(member_id=member, group_instance_id=None, reason="it was killed")
        request = LeaveGroupRequest(group_id=self.group_id, member_id=member, members=[identity])
        sent = self._manager.send(request, node_id=self.coordinator_id)
        answer = await self._manager.wait_for(sent, milliseconds)
        return not answer.error_code and not any(one.error_code for one in answer.members)

    def _perform_assignment(self, leader_id: str, protocol_name: str, members: Sequence[Any]) -> dict[str, bytes]:
        version = protocol.VERSIONS[protocol_name]
        states = {member.member_id: protocol.read_member(bytes(member.metadata)) for member in members}
        decided = self._participant.assign(states, version, leader_id)
        return {member: protocol.write_assignment(assignment, version) for member, assignment in decided.items()}

    async def _on_join_complete_async(
        self, generation: int, member_id: str, protocol_name: str, member_assignment_bytes: bytes
    ) -> None:
        self._told = protocol.read_assignment(bytes(member_assignment_bytes))
        version = protocol.VERSIONS[protocol_name]
        self.outcome = self._told, Joined(generation, member_id, self._told.leader, version)

    async def _do_join_and_sync_async(self) -> Any:
        if self.known_as and self._generation.member_id != self.known_as:
            raise GivenUp(f"{self.known_as} is not a member any more")
        self._joining = True
        if self.member:
            self._manager.call_soon(self._heartbeats_while_joining)
        try:
            with self._meters.rebalancing(MemberIdRequiredError):
                answer = await super()._do_join_and_sync_async()
        finally:
            self._joining = False
        self._lease.renew(self._answered)
        return answer

    def _process_join_group_response(self, response: Any, send_time: float) -> Any:
        answer = super()._process_join_group_response(response, send_time)
        self._answered = boot_time()
        self._meters.joins.record(time.monotonic() - send_time)
        return answer

    def _process_sync_group_response(self, response: Any, send_time: float) -> Any:
        answer = super()._process_sync_group_response(response, send_time)
        self._meters.syncs.record(time.monotonic() - send_time)
        return answer

    def _handle_heartbeat_response(self, response: Any, send_time: float) -> None:
        self._meters.heartbeats.record(time.monotonic() - send_time)
        super()._handle_heartbeat_response(response, send_time)

    async def _send_heartbeat_request(self) -> None:
        asked = boot_time()
        try:
            await super()._send_heartbeat_request()
        except RebalanceInProgressError:
            self._lease.renew(asked)
            raise
        self._lease.renew(asked)

    async def _heartbeats_while_joining(self) -> None:
        """A join waits for the slowest member, and its connection with it; another one shows that we are alive."""
        generation = self._generation
        while self._joining and self._generation is generation and self.coordinator_id is not None:
            asked, began = boot_time(), time.monotonic()
            beat = HeartbeatRequest(
                group_id=self.group_id,
                generation_id=generation.generation_id,
                member_id=generation.member_id,
                group_instance_id=None,
            )
            try:
                answer = await self._aside._manager.send(beat, node_id=self.coordinator_id)
                self._meters.heartbeats.record(time.monotonic() - began)
                if for_code(answer.error_code) in (IllegalGenerationError,):
                    return
                if not answer.error_code or for_code(answer.error_code) is RebalanceInProgressError:
                    self._lease.renew(asked)
            except Exception as error:
                log.debug("A heartbeat beside a join was not answered: %s", error)
            await self._net.sleep(self.config["heartbeat_interval_ms"] / 1000)

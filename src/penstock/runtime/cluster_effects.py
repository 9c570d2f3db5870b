"""What requests have as effect in a cluster: workers follow the config topic by themselves."""

from __future__ import annotations

import asyncio

from .cluster_member import ClusterMember
from .connector_offsets import ConnectorOffsets
from .requests import RequestError, TargetState
from .services import Services
from .statuses import HELD

LOOK_SECONDS = 0.05
LOOKS_BEFORE_ROUND = 40
SLACK_SECONDS = 15.0


class ClusterEffects:
    """Nothing needs to be told; but whoever changes offsets has to wait until nothing runs anywhere.

    Then it knows all source offsets that any worker has committed.
    """

    def __init__(self, services: Services, member: ClusterMember, offsets: ConnectorOffsets) -> None:
        self._services = services
        self._member = member
        self._offsets = offsets

    def keep(self, name: str) -> None:
        """Every worker reads it in the config topic."""

    def reconfigure(self, name: str) -> None:
        """Every worker reads it in the config topic."""

    def remove(self, name: str) -> None:
        """Every worker reads it in the config topic."""

    async def settled(self, name: str) -> None:
        """Wait until all workers say that the connector has stopped, or is gone, and know what it has committed."""
        seconds = 2 * self._services.stop_seconds + SLACK_SECONDS
        try:
            await asyncio.wait_for(self.ended(name), seconds)
        except TimeoutError:
            raise RequestError(
                f"Failed to alter consumer group offsets for connector {name} either because its tasks haven't stopped "
                "completely yet or the connector was resumed before the request to alter its offsets could be "
                "successfully completed. If the connector is in a stopped state, this operation can be safely retried. "
                "If it doesn't eventually succeed, the Connect cluster may need to be restarted to get rid of the "
                "zombie sink tasks."
            ) from None
        await self._offsets.know(name, self._services)

    async def ended(self, name: str) -> None:
        """Wait without a limit until nothing of the connector runs. Asks for a round of the group if none comes."""
        looks = 0
        while not self._is_over(name):
            await asyncio.sleep(LOOK_SECONDS)
            looks += 1
            if not looks % LOOKS_BEFORE_ROUND and self._waits_for_round(name):
                self._member.membership.rejoin()

    def _waits_for_round(self, name: str) -> bool:
        return self._member.is_leader and not self._member.has_stopped_everywhere(name)

    def _is_over(self, name: str) -> bool:
        if not self._member.has_stopped_everywhere(name):
            return False
        status = self._services.statuses.of(name)
        snapshot = self._services.configs.snapshot()
        if status is None:
            return True
        if name in snapshot and snapshot.target_state(name) is not TargetState.STOPPED:
            return True
        if any(part.state in HELD for _, part in status.tasks):
            return False
        return status.connector.state not in HELD

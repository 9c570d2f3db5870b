"""What requests have as effect in a cluster: workers follow the config topic by themselves."""

from __future__ import annotations

import asyncio

from .requests import RequestError, State, TargetState
from .services import Services

LOOK_SECONDS = 0.05
SLACK_SECONDS = 15.0
RUNNING = (State.RUNNING, State.PAUSED, State.RESTARTING)


class ClusterEffects:
    """Nothing needs to be told; but whoever changes offsets has to wait until nothing runs anywhere."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def keep(self, name: str) -> None:
        """Every worker reads it in the config topic."""

    def reconfigure(self, name: str) -> None:
        """Every worker reads it in the config topic."""

    def remove(self, name: str) -> None:
        """Every worker reads it in the config topic."""

    async def settled(self, name: str) -> None:
        """Wait until all workers say that the connector has stopped, or is gone."""
        seconds = 2 * self._services.stop_seconds + SLACK_SECONDS
        try:
            await asyncio.wait_for(self.ended(name), seconds)
        except asyncio.TimeoutError:
            raise RequestError(
                f"Failed to alter consumer group offsets for connector {name} either because its tasks haven't stopped "
                "completely yet or the connector was resumed before the request to alter its offsets could be "
                "successfully completed. If the connector is in a stopped state, this operation can be safely retried. "
                "If it doesn't eventually succeed, the Connect cluster may need to be restarted to get rid of the "
                "zombie sink tasks."
            ) from None

    async def ended(self, name: str) -> None:
        """The same without a limit."""
        while not self._is_over(name):
            await asyncio.sleep(LOOK_SECONDS)

    def _is_over(self, name: str) -> bool:
        status = self._services.statuses.of(name)
        snapshot = self._services.configs.snapshot()
        if status is None:
            return True
        if name in snapshot and snapshot.target_state(name) is not TargetState.STOPPED:
            return True
        if any(part.state in RUNNING for _, part in status.tasks):
            return False
        return status.connector.state not in RUNNING

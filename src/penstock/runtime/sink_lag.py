"""How far a sink is behind its topics, wherever its tasks run and whether they run at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.api.errors import PluginError
from penstock.topics.errors import TopicError
from penstock.topics.interface import TopicHome, TopicPartition

from .connector_config import ConnectorConfig
from .requests import RequestError
from .services import Services
from .subscription import Subscription
from .topic_homes import connector_clients, in_kafka

Lags = Mapping[TopicPartition, int | None]
"""Records behind; ``None`` for a position beyond the end, which does not say what the sink will read next."""


class SinkLags:
    """Counts what lies between a group's positions and the ends of the topics that its sink reads."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def of(self, name: str, config: Mapping[str, str | None]) -> Lags:
        """Records not yet committed, for each partition there is. ``RequestError`` when it cannot be found out."""
        try:
            return await self._services.user_code(f"lag of {name}", lambda: self._measured(config))
        except (PluginError, TopicError) as error:
            raise RequestError(f"The lag of {name} cannot be found out: {error}") from error

    def _measured(self, config: Mapping[str, str | None]) -> Lags:
        parsed = self._services.parse(self._services.resolve(config))
        subscription = Subscription.of(parsed, 1, in_kafka(self._services.config.properties))
        home, from_latest = self._home(parsed, subscription)
        positions = home.positions(subscription.group)
        lags: dict[TopicPartition, int | None] = {}
        for topic, count in home.topics().items():
            if not subscription.wants(topic):
                continue
            for number, end in enumerate(home.end_offsets(topic)[:count]):
                at = TopicPartition(topic, number)
                position = positions.get(at)
                if position is None:
                    position = end if from_latest else _start(home, at, end)
                lags[at] = end - position if position <= end else None
        return lags

    def _home(self, parsed: ConnectorConfig, subscription: Subscription) -> tuple[TopicHome, bool]:
        """The topics as the sink sees them, and whether it begins at their end. Looking at them moves no positions."""
        worker, home = self._services.config.properties, self._services.topics
        if not in_kafka(worker):
            return home, subscription.from_latest
        clients = connector_clients(worker, parsed)
        onlooker = replace(clients, reset="earliest", group="")
        return home.for_connector(onlooker).waiting(), clients.reset == "latest"


def _start(home: TopicHome, at: TopicPartition, end: int) -> int:
    """Where a sink without a position begins: at the earliest record that is kept."""
    found = home.ranges({at: None}, 1, 1)
    return found[0].start if found else end

"""What clients complain about while they go on trying: logged, but not every 50 ms."""

from __future__ import annotations

import logging
import time

from confluent_kafka import KafkaError

logger = logging.getLogger(__name__)

AGAIN_SECONDS = 30.0


class Complaints:
    """The ``error_cb`` of one client. ``last`` is the newest reason: that all brokers are down is none."""

    def __init__(self, client: str) -> None:
        self._client = client
        self._told: dict[str, float] = {}
        self.last: str | None = None

    def __call__(self, error: KafkaError) -> None:
        if error.code() != KafkaError._ALL_BROKERS_DOWN:
            self.last = error.str()
        now = time.monotonic()
        if now - self._told.get(error.name(), -AGAIN_SECONDS) >= AGAIN_SECONDS:
            self._told[error.name()] = now
            logger.warning("Kafka %s: %s", self._client, error.str())

"""Forgetting single positions of a group, which librdkafka's admin client cannot do and kafka-python's can."""

from __future__ import annotations

from collections.abc import Collection

from ..interface import TopicPartition
from .clients import Settings

SECONDS = 30.0


def delete_positions(admin: Settings, group: str, places: Collection[TopicPartition]) -> None:
    """Blocks. Raises ``kafka.errors.KafkaError`` (a ``GroupSubscribedToTopicError`` when somebody consumes)."""
    from kafka import TopicPartition as Place
    from kafka.admin import KafkaAdminClient

    from .python_client import python_settings

    client = KafkaAdminClient(
        **python_settings(dict(admin)),
        client_id=dict(admin).get("client.id") or "penstock",
        request_timeout_ms=int(SECONDS * 1000),
    )
    try:
        client.delete_group_offsets(group, [Place(at.topic, at.partition) for at in places])
    finally:
        client.close()

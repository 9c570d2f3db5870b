"""Writing positions of groups: with our own protocol where the client settings allow it, else by the admin client.

librdkafka's admin client (2.16) takes the whole process down when the connection to a coordinator is lost while it asks
something of it, so it is used only for settings that nothing else can honour.
"""

from __future__ import annotations

import logging
import threading
import zlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException
from confluent_kafka import TopicPartition as Place

from ..interface import TopicPartition
from .cluster import ANSWER_SECONDS, Cluster
from .errors import is_late
from .wire.brokers import LOST
from .wire.connection import Unsupported
from .wire.errors import Answered
from .wire.group_offsets import GroupOffsets, Position
from .wire.options import ADMIN, Options, options_for

logger = logging.getLogger(__name__)

COMMIT_SECONDS = 8.0

_THREADS = 2


class AdminCommitter:
    """Through librdkafka's admin client."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def commit(self, group: str, places: list[Place]) -> Future[None]:
        """One try. Fails with ``KafkaException`` or ``TimeoutError``."""
        admin, done = self._cluster.admin, Future[None]()

        def answered(answer: Future[Any]) -> None:
            error = answer.exception() or _first_error(answer.result().topic_partitions)
            if error is None:
                done.set_result(None)
                return
            if is_late(error):
                self._cluster.renew(admin)
            done.set_exception(error)

        request = [ConsumerGroupTopicPartitions(group, places)]
        asked = admin.alter_consumer_group_offsets(request, request_timeout=COMMIT_SECONDS)
        asked[group].add_done_callback(answered)
        return done

    def delete(self, group: str) -> Future[None]:
        """Forget a group."""
        asked = self._cluster.admin.delete_consumer_groups([group], request_timeout=ANSWER_SECONDS)
        found: Future[None] = asked[group]
        return found

    def stop(self) -> None:
        """Nothing to stop."""


class WireCommitter:
    """With our own protocol, from threads of its own; what a broker does not understand goes the other way.

    A group is always served by the same thread, so that its positions are written in order.
    """

    def __init__(self, cluster: Cluster, options: Options) -> None:
        self._options = replace(options, connect_seconds=COMMIT_SECONDS, answer_seconds=COMMIT_SECONDS)
        self._admin = AdminCommitter(cluster)
        self._pools = [ThreadPoolExecutor(1, thread_name_prefix="kafka-groups") for _ in range(_THREADS)]
        self._local = threading.local()

    def commit(self, group: str, places: list[Place]) -> Future[None]:
        """One try. Fails with ``KafkaException`` or ``TimeoutError``."""
        positions = {TopicPartition(place.topic, place.partition): _position(place) for place in places}
        return self._submit(
            group, lambda client: client.commit(group, positions), lambda: self._admin.commit(group, places)
        )

    def delete(self, group: str) -> Future[None]:
        """Forget a group."""
        return self._submit(group, lambda client: client.delete(group), lambda: self._admin.delete(group))

    def stop(self) -> None:
        """Leave what is not written."""
        for pool in self._pools:
            pool.shutdown(wait=False, cancel_futures=True)

    def _submit(
        self, group: str, call: Callable[[GroupOffsets], None], otherwise: Callable[[], Future[None]]
    ) -> Future[None]:
        pool = self._pools[zlib.crc32(group.encode()) % _THREADS]
        return pool.submit(self._tried, call, otherwise)

    def _tried(self, call: Callable[[GroupOffsets], None], otherwise: Callable[[], Future[None]]) -> None:
        client = getattr(self._local, "client", None)
        if client is None:
            client = self._local.client = GroupOffsets(self._options)
        try:
            call(client)
        except Unsupported as reason:
            logger.debug("librdkafka's client is used: %s", reason)
            otherwise().result(ANSWER_SECONDS)
        except Answered as error:
            raise KafkaException(KafkaError(error.code, retriable=error.passing)) from error
        except LOST as error:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT, str(error))) from error


def _position(place: Place) -> Position:
    """Metadata ends with a zero, as librdkafka's Python client writes it, and must find it to read no further."""
    return Position(place.offset, f"{place.metadata}\0" if place.metadata else "")


Committer = AdminCommitter | WireCommitter


def committer_for(cluster: Cluster) -> Committer:
    """What the settings of a cluster's clients allow."""
    options = options_for(cluster.settings, ADMIN)
    return AdminCommitter(cluster) if options is None else WireCommitter(cluster, options)


def _first_error(places: list[Place] | None) -> BaseException | None:
    return next((KafkaException(place.error) for place in places or [] if place.error is not None), None)

"""Where the partitions of an internal topic end, asked until every leader has answered."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

Offsets = dict[int, int]

FIRST_SECONDS = 2.0
"""The client waits so long for a leader that has gone, and learns of its successor only for the next question. Longer
after each time in vain: a broker may just be slow."""
PAUSE_SECONDS = 0.1

_FORBIDDEN = frozenset([KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED])
_LATEST: Any = OffsetSpec.latest()  # type: ignore[no-untyped-call]


class Ends:
    """One question. ``found`` ends with the next offset of each partition, before or after open transactions.

    After ``seconds`` in vain, and at once where it is not allowed, it fails with what ``failure`` makes of the last
    error. May be asked on any thread.
    """

    def __init__(
        self,
        admin: AdminClient,
        topic: str,
        partitions: int,
        seconds: float,
        failure: Callable[[BaseException], BaseException],
        isolation: IsolationLevel,
    ) -> None:
        self.found: Future[Offsets] = Future()
        self._admin = admin
        self._topic = topic
        self._partitions = partitions
        self._until = time.monotonic() + seconds
        self._failure = failure
        self._isolation = isolation
        self._patience = FIRST_SECONDS
        self._offsets: Offsets = {}
        self._problem: BaseException | None = None
        self._lock = threading.Lock()

    def ask(self) -> Future[Offsets]:
        """Ask for what is not known yet."""
        left = [number for number in range(self._partitions) if number not in self._offsets]
        waiting = set(left)
        asked = {TopicPartition(self._topic, number): _LATEST for number in left}
        patience = max(0.1, min(self._patience, self._until - time.monotonic()))
        self._patience *= 2
        try:
            answers = self._admin.list_offsets(asked, isolation_level=self._isolation, request_timeout=patience)
        except Exception as error:
            self.found.set_exception(self._failure(error))
            return self.found
        for at, answer in answers.items():
            answer.add_done_callback(partial(self._note, waiting, at.partition))
        return self.found

    def _note(self, waiting: set[int], partition: int, answer: Future[Any]) -> None:
        with self._lock:
            try:
                self._offsets[partition] = told_offset(answer.result())
            except Exception as error:
                self._problem = error
            waiting.discard(partition)
            if waiting:
                return
        self._round_is_over()

    def _round_is_over(self) -> None:
        if len(self._offsets) == self._partitions:
            self.found.set_result(self._offsets)
        elif self._problem is not None and (time.monotonic() > self._until or _is_final(self._problem)):
            self.found.set_exception(self._failure(self._problem))
        else:
            again = threading.Timer(PAUSE_SECONDS, self.ask)
            again.daemon = True
            again.start()


def _is_final(error: BaseException) -> bool:
    """Whether asking again would not help."""
    cause = error.args[0] if error.args else None
    return isinstance(cause, KafkaError) and cause.code() in _FORBIDDEN


def told_offset(answer: Any) -> int:
    """Raises ``KafkaException`` where a leader did not answer, which the client tells by a number that is no offset."""
    offset = int(answer.offset)
    if offset < 0:
        raise KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE))
    return offset

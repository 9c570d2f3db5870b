"""Topics that only take commits while this worker may believe that its tasks are its own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, cast

from penstock.storage.errors import PassingStorageError
from penstock.topics.interface import SinkCommit, SourceCommit, TopicHome

REFUSED = (
    "This worker has lost touch with its group (no heartbeat was answered for the session timeout), so other workers "
    "may run its tasks by now: the batch was not committed. Tasks go on when the worker has joined the group again."
)


class LeasedTopics:
    """Everything as in the home itself, but for commits."""

    def __init__(self, home: TopicHome, is_valid: Callable[[], bool]) -> None:
        self._home = home
        self._is_valid = is_valid

    def __getattr__(self, name: str) -> Any:
        return getattr(self._home, name)

    def commit_source(self, commit: SourceCommit) -> Future[None]:
        return self._home.commit_source(commit) if self._is_valid() else _refused()

    def commit_sink(self, commit: SinkCommit) -> Future[None]:
        return self._home.commit_sink(replace(commit, is_allowed=self._is_valid)) if self._is_valid() else _refused()

    def require_ownership(self) -> None:
        if not self._is_valid():
            raise PassingStorageError(REFUSED)

    def for_connector(self, clients: Any) -> TopicHome:
        return leased(self._home.for_connector(clients), self._is_valid)

    def waiting(self) -> TopicHome:
        return leased(self._home.waiting(), self._is_valid)


def leased(home: TopicHome, is_valid: Callable[[], bool]) -> TopicHome:
    """The same topics, whose commits fail without a lease."""
    return cast(TopicHome, LeasedTopics(home, is_valid))


def _refused() -> Future[None]:
    future: Future[None] = Future()
    future.set_exception(PassingStorageError(REFUSED))
    return future

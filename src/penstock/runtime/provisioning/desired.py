"""What pipeline files want, free of how it was written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penstock.runtime.requests import OffsetEntry, TargetState

from .problems import Problem

WORKER = "worker"
API = "api"


@dataclass(frozen=True)
class Place:
    """Where something is declared. ``paths`` lead from configuration keys to where they are written."""

    file: str
    document: int
    path: str
    paths: Mapping[str, str] = field(default_factory=dict)

    def problem(self, message: str, suggestion: str = "", key: str = "", pipeline: str | None = None) -> Problem:
        path = self.paths.get(key, f"{self.path}.config") if key else self.path
        return Problem(message, self.file, path, suggestion, document=self.document, pipeline=pipeline)


@dataclass(frozen=True)
class DesiredConnector:
    """``config`` is whole: name, class and transforms included. ``state`` is ``None`` where it is left to the API."""

    name: str
    pipeline: str
    config: Mapping[str, str | None]
    state: TargetState | None
    place: Place
    offsets: Sequence[OffsetEntry] = ()
    description: str = ""


@dataclass(frozen=True)
class DesiredTopic:
    """``partitions`` is ``None`` where it is left to the topics' home."""

    name: str
    pipeline: str
    partitions: int | None
    settings: Mapping[str, str]
    place: Place


@dataclass(frozen=True)
class DesiredPipeline:
    id: str
    place: Place
    connectors: Sequence[DesiredConnector] = ()
    topics: Sequence[DesiredTopic] = ()


@dataclass(frozen=True)
class Scope:
    """What else a set of files answers for: connectors of these that it no longer declares are to be deleted.

    ``paths`` are files and folders, ``origin`` is who speaks: the worker answers for all that its own files made. A
    set that is not ``whole``, since a path of it could not be read, answers for nothing but the pipelines in it.
    """

    paths: Sequence[str] = ()
    origin: str = API
    whole: bool = True

    def holds(self, file: str, origin: str) -> bool:
        if not self.whole:
            return False
        if self.origin == WORKER and origin == WORKER:
            return True
        return any(file == path or file.startswith(path.rstrip("/") + "/") for path in self.paths)


@dataclass(frozen=True)
class Desired:
    """All pipelines of a set of files, with the problems found in reading them.

    ``unread`` are files whose text could not be understood: what they declared stays as it is.
    """

    pipelines: Sequence[DesiredPipeline]
    scope: Scope
    problems: Sequence[Problem] = ()
    unread: frozenset[str] = frozenset()

    @property
    def connectors(self) -> Sequence[DesiredConnector]:
        return [connector for pipeline in self.pipelines for connector in pipeline.connectors]

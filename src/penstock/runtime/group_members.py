"""The workers of a group and what each of them runs after a round: known to its leader."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from .forwarding import worker_id_of
from .group_protocol import EAGER, Assignment, MemberState, Unit
from .requests import WorkerInfo


def members_after(
    members: Mapping[str, MemberState], decided: Mapping[str, Assignment], version: int
) -> list[WorkerInfo]:
    """Every member of a round that was decided like this, by worker id; their versions are not known yet."""
    found = []
    for member, told in decided.items():
        before = frozenset() if version == EAGER else members[member].owned - told.revoked
        found.append(worker_info(members[member].url, member == told.leader, before | told.assigned))
    return sorted(found, key=lambda info: info.worker_id)


def worker_info(url: str, leader: bool, units: Collection[Unit], version: str | None = None) -> WorkerInfo:
    """A worker that has to run these connectors and tasks."""
    connectors = sum(unit.is_connector for unit in units)
    return WorkerInfo(worker_id_of(url), url, leader, connectors, len(units) - connectors, version)


def with_versions(workers: Sequence[WorkerInfo], versions: Mapping[str, str]) -> list[WorkerInfo]:
    """The same with versions by worker id, as far as they are known."""
    return [replace(worker, version=versions.get(worker.worker_id)) for worker in workers]

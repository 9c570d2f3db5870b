"""Several workers of one group: they join, leave and are killed."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import psutil

from .api import Api
from .on_kafka import OnKafka
from .system import START_SECONDS, free_port
from .usage import tree
from .waiting import wait_for

LEAVE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Member:
    """A worker of the group."""

    port: int
    process: subprocess.Popen[bytes]
    api: Api

    @property
    def worker_id(self) -> str:
        return f"127.0.0.1:{self.port}"


class Cluster:
    """The group of a system whose broker runs."""

    def __init__(self, system: OnKafka) -> None:
        self._system = system
        self.members: list[Member] = []

    def join(self) -> Member:
        """One more worker, the first with the address of the system; returns when it answers."""
        port = free_port() if self.members else self._system.port
        member = Member(port, self._system.launch_at(port), Api(f"http://127.0.0.1:{port}"))
        wait_for(lambda: self._answers(member), f"worker {port} answers", START_SECONDS, pause=0.02)
        self.members.append(member)
        return member

    def _answers(self, member: Member) -> bool:
        if member.process.poll() is not None:
            raise RuntimeError(f"Worker {member.port} ended with {member.process.returncode} while it started")
        return member.api.answers()

    def leave(self, member: Member) -> None:
        """Ask a worker to end and wait until it has."""
        self.members.remove(member)
        member.process.send_signal(signal.SIGTERM)
        member.process.wait(LEAVE_SECONDS)
        member.api.close()

    def kill(self, member: Member) -> None:
        """``kill -9`` of a worker and all that it has started."""
        self.members.remove(member)
        for process in tree([member.process.pid]):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        member.process.wait()
        member.api.close()

    @property
    def worker_ids(self) -> set[str]:
        """Of those that are there."""
        return {member.worker_id for member in self.members}

    @property
    def pids(self) -> Sequence[int]:
        return [member.process.pid for member in self.members]


Placement = Mapping[str, str]


def moved(before: Placement, after: Placement, names: Sequence[str]) -> int:
    """How many of these run on another worker than before."""
    return sum(before.get(name) != after.get(name) for name in names)


def spread(placement: Placement, names: Sequence[str], workers: set[str]) -> tuple[int, int]:
    """The fewest and the most of these that one of the workers runs."""
    counts = Counter(placement[name] for name in names if name in placement)
    return min(counts[worker] for worker in workers), max(counts[worker] for worker in workers)

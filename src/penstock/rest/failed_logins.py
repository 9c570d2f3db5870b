"""Clients that give wrong passwords: logged, and checked ever more slowly, each address for itself."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from .problems import too_many_tries

FREE_FAILURES = 5
FIRST_WAIT_SECONDS = 0.25
LONGEST_WAIT_SECONDS = 10.0
FORGET_SECONDS = 600.0
LOG_SECONDS = 10.0
_MOST_WAITING = 3
_MOST_ADDRESSES = 10_000
log = logging.getLogger(__name__)


@dataclass
class _Client:
    """``waiting``: how many checks for this address have begun and not ended."""

    failures: int = 0
    failed: float = 0.0
    waiting: int = 0
    unlogged: int = 0
    logged: float = float("-inf")
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def is_patient(self) -> bool:
        return self.failures <= FREE_FAILURES or self.waiting <= _MOST_WAITING


class FailedLogins:
    """Remembers addresses with failures for a while. Lives on the REST server's loop.

    After some failures each further check for an address waits longer than the one before, and only few may wait. They
    wait one after the other and hold nothing meanwhile that checks for other addresses need.
    """

    def __init__(self) -> None:
        self._clients: dict[str, _Client] = {}

    @asynccontextmanager
    async def turn(self, address: str) -> AsyncIterator[None]:
        """Around a check of a password; raises an ``HttpProblem`` (429) when too many wait already."""
        client = self._client(address)
        client.waiting += 1
        try:
            _require_patience(client)
            async with client.turn:
                _require_patience(client)
                await asyncio.sleep(_wait(client))
                yield
        finally:
            client.waiting -= 1
            if not client.waiting and not client.failures:
                self._clients.pop(address, None)

    def note(self, address: str, user: str | None) -> None:
        """Somebody at ``address`` gave wrong credentials, for a ``user`` if there is one of that name."""
        client, now = self._client(address), time.monotonic()
        client.failures += 1
        client.failed = now
        client.unlogged += 1
        if now - client.logged >= LOG_SECONDS:
            shown = "an unknown user or token" if user is None else user
            log.warning("Failed logins from %s: %d, the last one as %s", address, client.unlogged, shown)
            client.logged, client.unlogged = now, 0

    def _client(self, address: str) -> _Client:
        if address not in self._clients and len(self._clients) >= _MOST_ADDRESSES:
            self._forget()
        client = self._clients.setdefault(address, _Client())
        if client.failures and time.monotonic() - client.failed > FORGET_SECONDS:
            client.failures = 0
        return client

    def _forget(self) -> None:
        """Make room: for those who failed last, and those who wait."""
        idle = [address for address, client in self._clients.items() if not client.waiting]
        for address in sorted(idle, key=lambda one: self._clients[one].failed)[: _MOST_ADDRESSES // 10]:
            del self._clients[address]


def _wait(client: _Client) -> float:
    """What is left of the time that has to pass after the last failure."""
    if client.failures <= FREE_FAILURES:
        return 0.0
    doublings = min(client.failures - FREE_FAILURES - 1, 16)
    whole = min(FIRST_WAIT_SECONDS * 2.0**doublings, LONGEST_WAIT_SECONDS)
    return max(0.0, client.failed + whole - time.monotonic())


def _require_patience(client: _Client) -> None:
    if not client.is_patient:
        raise too_many_tries(int(LONGEST_WAIT_SECONDS))

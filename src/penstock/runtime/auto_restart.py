"""Starts again by itself what failed here, where the connector's ``errors.restart.*`` say so."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .logging import connector_context
from .requests import State, TargetState
from .restart_policy import PREFIX, RestartPolicy, restart_policy
from .services import Services

log = logging.getLogger(__name__)

Restart = Callable[[str, bool, Sequence[int]], "asyncio.Future[None]"]


class Part(NamedTuple):
    """A connector instance (``task`` is ``None``) or one of its tasks."""

    connector: str
    task: int | None

    def __str__(self) -> str:
        return f"connector {self.connector}" if self.task is None else f"task {self.connector}-{self.task}"


@dataclass
class Attempts:
    """What was done for one part. ``made`` counts since it was last well, ``total`` since it was started by a user.

    ``next_try`` is in milliseconds since 1970.
    """

    config: Mapping[str, str | None] = field(default_factory=dict)
    made: int = 0
    total: int = 0
    limit: int | None = None
    next_try: int | None = None
    given_up: bool = False
    ours: bool = False
    running_since: float | None = None
    timer: asyncio.TimerHandle | None = None

    def cancel(self) -> None:
        """No restart is planned any more."""
        if self.timer is not None:
            self.timer.cancel()
        self.timer, self.next_try = None, None


class AutoRestarts:
    """Told of every status that this worker writes, so it only acts for what runs here. Lives on the runtime's loop.

    Nothing is kept over a restart of the worker: that starts everything, and attempts are counted from the beginning.
    So they are when a user restarts, stops or reconfigures the part, or when it moves to another worker.
    """

    def __init__(self, services: Services, restart: Restart) -> None:
        self._services = services
        self._restart = restart
        self._attempts: dict[Part, Attempts] = {}
        self._failures: dict[Part, object] = {}
        self._considering: set[asyncio.Task[None]] = set()

    def of(self, connector: str, task: int | None = None) -> Attempts:
        """What was done for a part; any thread may ask."""
        return self._attempts.get(Part(connector, task)) or Attempts()

    def observe(self, connector: str, task: int | None, state: State) -> None:
        """A status was written."""
        part = Part(connector, task)
        if state is State.FAILED:
            failure = self._failures[part] = object()
            with connector_context(connector, "worker" if task is None else f"task-{task}"):
                thinking = asyncio.get_running_loop().create_task(self._consider(part, failure))
            self._considering.add(thinking)
            thinking.add_done_callback(self._considering.discard)
            return
        self._failures.pop(part, None)
        found = self._attempts.get(part)
        if found is None:
            return
        found.cancel()
        if state is State.RUNNING:
            found.running_since = found.running_since or time.monotonic()
        elif state is State.RESTARTING and found.ours:
            found.ours = False
        elif state is not State.PAUSED:
            del self._attempts[part]

    async def _consider(self, part: Part, failure: object) -> None:
        """Plan the next attempt for what has just failed, or give it up, unless its state is another one already."""
        config = self._services.configs.snapshot().connector_config(part.connector)
        own = {key: value for key, value in (config or {}).items() if key.startswith(PREFIX)}
        if config is None or not own:
            return
        try:
            policy = await self._services.user_code(
                "errors.restart.*", lambda: restart_policy(self._services.resolve(own))
            )
        except Exception as error:
            log.error("%s failed and is not restarted: %s", part, error)
            return
        if policy.enabled and self._failures.get(part) is failure:
            self._plan(part, config, policy)

    def _plan(self, part: Part, config: Mapping[str, str | None], policy: RestartPolicy) -> None:
        found = self._attempts.setdefault(part, Attempts())
        found.cancel()
        now, since = time.monotonic(), found.running_since
        if config != found.config or (since is not None and now - since >= policy.window_seconds):
            found.made = 0
        found.config, found.limit, found.running_since = config, policy.attempts, None
        found.given_up = policy.is_spent(found.made)
        if found.given_up:
            log.error("%s failed again after %d automatic restarts and stays FAILED", part, found.made)
            return
        delay = policy.delay(found.made)
        number = f"{found.made + 1} of {policy.attempts}" if policy.attempts is not None else f"{found.made + 1}"
        log.warning("%s failed; automatic restart %s in %g s", part, number, delay)
        found.next_try = int((time.time() + delay) * 1000)
        found.timer = asyncio.get_running_loop().call_later(delay, self._try, part)

    def _try(self, part: Part) -> None:
        found = self._attempts.get(part)
        if found is None:
            return
        found.cancel()
        if not self._is_wanted(part):
            del self._attempts[part]
            return
        found.made += 1
        found.total += 1
        found.ours = True
        log.info("%s is restarted automatically", part)
        tasks = () if part.task is None else (part.task,)
        self._restart(part.connector, part.task is None, tasks).add_done_callback(_forget)

    def _is_wanted(self, part: Part) -> bool:
        """Whether the part still belongs here. That it is still FAILED is known: any other state cancels the timer.

        The status store is not asked: it may not have taken the failure yet.
        """
        ownership, snapshot = self._services.ownership, self._services.configs.snapshot()
        known = snapshot.connector_config(part.connector) is not None
        if not known or snapshot.target_state(part.connector) is TargetState.STOPPED:
            return False
        if part.task is None:
            return ownership.connector(part.connector)
        return part.task in ownership.tasks(part.connector, snapshot)


def _forget(done: asyncio.Future[None]) -> None:
    """What became of it is in the status."""
    if not done.cancelled():
        done.exception()

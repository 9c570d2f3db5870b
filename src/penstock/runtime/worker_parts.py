"""The parts that every worker is put together from, alone or in a cluster."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from penstock.topics.interface import TopicHome

from .cleanups import Cleanups, Peers
from .hooks import Hooks
from .planning import Planner
from .pump import PumpServices
from .services import Services
from .spark_host import SparkHost
from .worker import Worker

T = TypeVar("T")


class RuntimeLoop:
    """The event loop of a worker, on a thread of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="penstock-runtime", daemon=True)

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> None:
        self._thread.start()

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run it on the loop, from another thread."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run it on the loop and wait for it."""
        return self.begin(work).result()

    def post(self, function: Callable[..., object], *arguments: Any) -> None:
        """Call it on the loop soon; not at all when the loop is closed."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(function, *arguments)

    def stop(self) -> None:
        """End the thread, started or not."""
        if self.is_running:
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join()
        self.loop.close()


def pump_services(services: Services, spark: SparkHost, topics: TopicHome) -> PumpServices:
    """What the pumps of a worker use; ``topics`` is where they commit."""
    return PumpServices(
        services.calls,
        Planner(services.calls, services.call_seconds),
        spark.dispatcher,
        topics,
        services.offsets,
        services.use_topic,
        services.call_seconds,
        services.stop_seconds,
        lambda: spark.ready.result().session,
    )


def hook_seconds(services: Services) -> float:
    """How long a lifecycle hook may take."""
    return float(services.config.lifecycle_hook_timeout_ms) / 1000


def attach(
    services: Services,
    worker: Worker,
    ended: Callable[[str], Awaitable[None]],
    peers: Peers | None = None,
    may_call: Callable[[], bool] = lambda: True,
) -> None:
    """Hooks, clean-ups, and whom the stores tell. ``ended`` is what clean-ups wait for.

    ``peers`` are the workers of a cluster; ``may_call`` tells whether this one may still call a hook.
    """
    configs, here = services.configs, None if peers is None else peers.here
    services.hooks = Hooks(
        configs,
        services.calls,
        services.connector_plugin,
        services.resolve,
        hook_seconds(services),
        here,
        may_call,
    )
    services.cleanups = Cleanups(configs, services.hooks, ended, worker.keep, peers)
    services.removed = worker.forget
    services.tasks_changed = worker.tasks_changed

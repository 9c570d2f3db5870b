"""The REST server: sockets, threads and uvicorn around the application."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Callable
from dataclasses import replace

import uvicorn

from penstock.api.errors import ConfigError
from penstock.runtime.herder import Herder
from penstock.runtime.listeners import Listener

from .app import RestApp
from .origins import LocalApp, is_loopback, own_names
from .protocol import RestProtocol
from .routing import Route
from .settings import ListenerGroup, RestSettings
from .static_files import StaticFiles
from .table import ROUTES
from .tls import TlsSettings

_BACKLOG = 2048
_KEEP_ALIVE_SECONDS = 90
_GRACE_SECONDS = 5
log = logging.getLogger(__name__)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_started: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_started = on_started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_started()


class RestServer:
    """Serves the API on every listener from one thread with one event loop."""

    def __init__(self, herder: Herder, settings: RestSettings) -> None:
        self._herder = herder
        self._settings = settings
        self._servers: list[tuple[_Server, socket.socket]] = []
        self._thread: threading.Thread | None = None
        self._started = threading.Semaphore(0)
        self.urls: tuple[str, ...] = ()
        self.admin_urls: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """The first listener's URL, with the port it got."""
        return self.urls[0]

    def start(self) -> None:
        """Returns when all listeners take requests. ``ConfigError`` when one cannot be opened."""
        main, admin = self._routes()
        try:
            self.urls = self._open(self._settings.main, main, StaticFiles())
            if self._settings.admin is not None:
                self.admin_urls = self._open(self._settings.admin, admin)
        except BaseException:
            self._close_sockets()
            raise
        self._thread = threading.Thread(target=self._run, name="rest", daemon=True)
        self._thread.start()
        for _ in self._servers:
            self._started.acquire()
        log.info("REST API on %s", ", ".join((*self.urls, *self.admin_urls)))

    def stop(self, grace_seconds: int = _GRACE_SECONDS) -> None:
        """Stops listening and returns when the thread has ended.

        Requests under way have ``grace_seconds`` to end; what is left is told that the worker shuts down.
        """
        for server, _ in self._servers:
            server.config.timeout_graceful_shutdown = grace_seconds
            server.should_exit = True
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._servers = []

    def _routes(self) -> tuple[list[Route], list[Route]]:
        if self._settings.admin is None:
            return list(ROUTES), []
        return [r for r in ROUTES if not r.admin], [r for r in ROUTES if r.admin]

    def _open(self, group: ListenerGroup, routes: list[Route], page: StaticFiles | None = None) -> tuple[str, ...]:
        urls = []
        app = RestApp(self._herder, self._settings, routes, page)
        names = own_names([*self._settings.names, *(listener.host for listener in group.listeners)])
        for listener in group.listeners:
            opened = _listen(group.key, listener)
            served = LocalApp(app, names) if is_loopback(opened.getsockname()[0]) else app
            config = _uvicorn_config(served, group.tls if listener.protocol == "https" else None)
            self._servers.append((_Server(config, self._started.release), opened))
            urls.append(_url(listener, opened))
        return tuple(urls)

    def _close_sockets(self) -> None:
        for _, opened in self._servers:
            opened.close()
        self._servers = []

    def _run(self) -> None:
        loop = _new_event_loop()
        asyncio.set_event_loop(loop)
        try:
            loop.run_until_complete(asyncio.gather(*(s.serve(sockets=[opened]) for s, opened in self._servers)))
        except BaseException:
            log.exception("The REST server ended unexpectedly")
            for _ in self._servers:
                self._started.release()
        finally:
            _finish(loop)
            loop.close()


def _finish(loop: asyncio.AbstractEventLoop) -> None:
    """Let cancelled requests send their last answer."""
    left = asyncio.all_tasks(loop)
    if left:
        loop.run_until_complete(asyncio.wait(left, timeout=1))


def _new_event_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def _uvicorn_config(app: RestApp | LocalApp, tls: TlsSettings | None) -> uvicorn.Config:
    context = tls.context() if tls else None
    config = uvicorn.Config(
        app,
        http=RestProtocol,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=_BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
    )
    config.load()
    config.ssl = context
    return config


def _listen(key: str, listener: Listener) -> socket.socket:
    everywhere = not listener.host
    dual = everywhere and socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if dual or ":" in listener.host else socket.AF_INET
    try:
        return socket.create_server(
            (listener.host, listener.port), family=family, backlog=_BACKLOG, dualstack_ipv6=dual
        )
    except OSError as error:
        raise ConfigError(
            f"{key}: cannot listen on {listener}: {error.strerror or error}. Free the address, or name another one."
        ) from None


def _url(listener: Listener, opened: socket.socket) -> str:
    return replace(listener, port=opened.getsockname()[1]).local_url

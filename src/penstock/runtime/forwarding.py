"""Requests that another worker of the cluster has to answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

import httpx2

from penstock.storage.config_records import SessionKey

from .requests import BadRequest, Conflict, RequestError
from .session_keys import NoSessionKey, SigningSettings, sign, sign_question

SECONDS = 30.0

CONFIG_POSITION = "x-penstock-config-position"
"""The header with the position of the config log up to which a worker had read it when it made task configs."""

NO_LEADER = "Cannot complete request momentarily due to no known leader URL, likely because a rebalance was underway."
TOO_MANY_HOPS = "Cannot complete request because of a conflicting operation (e.g. worker rebalance)"


class AskAnotherWorker(RequestError):
    """The worker at ``url`` can do it. The REST server asks it in the caller's place."""

    status = 409

    def __init__(self, url: str) -> None:
        super().__init__(NO_LEADER)
        self.url = url


class NoLeader(Conflict):
    """Nobody knows at the moment who could do it."""

    def __init__(self) -> None:
        super().__init__(NO_LEADER)


def worker_id_of(url: str) -> str:
    """``host:port`` of a worker's URL, as its statuses show it."""
    return urlsplit(url).netloc


def elsewhere(url: str | None) -> RequestError:
    """What a request fails with that belongs to the worker at ``url``, if anybody knows it."""
    return AskAnotherWorker(url) if url else NoLeader()


def config_position(headers: Mapping[str, str]) -> int | None:
    """What the header says, if it is there. Raises ``BadRequest``."""
    given = headers.get(CONFIG_POSITION)
    if given is None:
        return None
    try:
        return int(given)
    except ValueError:
        raise BadRequest(f"The header {CONFIG_POSITION} must be a number, not {given!r}") from None


class InternalClient:
    """Signed requests to another worker, for what users cannot ask. Runs on the runtime's loop."""

    def __init__(self, settings: SigningSettings, key: Callable[[], SessionKey | None], verify: Any = True) -> None:
        self._settings = settings
        self._key = key
        self._http = httpx2.AsyncClient(timeout=SECONDS, verify=verify)

    async def put_tasks(self, url: str, name: str, configs: Sequence[Mapping[str, str | None]], known: int) -> None:
        """Hand task configs of a connector to the leader, made by whoever had read the config log up to ``known``."""
        body = json.dumps([dict(config) for config in configs], separators=(",", ":")).encode()
        position = {CONFIG_POSITION: str(known)}
        await self._send("POST", url, f"/connectors/{quote(name, safe='')}/tasks", body, position)

    async def fence(self, url: str, name: str) -> None:
        """Ask the leader to fence old tasks of a connector."""
        await self._send("PUT", url, f"/connectors/{quote(name, safe='')}/fence", b"")

    async def ask(self, url: str, path: str, **query: str) -> Any:
        """What another worker knows by itself, as JSON."""
        key = self._key()
        asked = self._http.build_request(
            "GET", url.rstrip("/") + path, params={**query, "forward": "false"}, headers={"Accept": "application/json"}
        )
        if key is not None:
            asked.headers.update(sign_question(asked.url.raw_path, key, self._settings))
        answer = await self._http.send(asked)
        answer.raise_for_status()
        return answer.json()

    async def close(self) -> None:
        await self._http.aclose()

    async def _send(
        self, method: str, url: str, path: str, body: bytes, more_headers: Mapping[str, str] | None = None
    ) -> None:
        key = self._key()
        if key is None:
            raise NoSessionKey("There is no session key yet to sign requests to other workers with")
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        headers |= {**sign(body, key, self._settings), **(more_headers or {})}
        try:
            answer = await self._http.request(
                method, url.rstrip("/") + path, params={"forward": "false"}, content=body, headers=headers
            )
        except httpx2.HTTPError as error:
            raise RequestError(f"IO Error trying to forward REST request: {error!r}") from error
        if answer.status_code >= 300:
            failed = RequestError(f"{url} answered {answer.status_code}: {answer.text[:500]}")
            failed.status = answer.status_code
            raise failed

"""Asks a service for pages and takes them apart."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin

from penstock.api import PluginError

from .client import Answer, HttpClient, refusal, same_origin, shown
from .keys import PARAMS, prefixed
from .position import Cursor, Page
from .texts import MISSING, fill, find, for_json

CURSOR, LINK, NONE = "cursor", "link", "none"


class Pages:
    """The pages of one service. ``own`` are the source's parsed keys, ``settings`` all of its configuration."""

    def __init__(self, own: Mapping[str, Any], settings: Mapping[str, str]) -> None:
        self._client = HttpClient(settings)
        self._url: str = own["http.url"]
        self._method: str = own["http.method"]
        self._body: str = own["http.body"]
        self._paging: str = own["paging"]
        self._cursor_param: str = own["cursor.param"]
        self._cursor_path: str = own["cursor.path"]
        self._link_path: str = own["link.path"]
        self._records_path: str = own["records.path"]
        self._params = prefixed(settings, PARAMS)
        if own["limit.param"]:
            self._params[own["limit.param"]] = str(own["limit"])

    def fetch(self, cursor: Cursor) -> Page:
        """One page. ``RetriableError`` when the service does not answer now, ``PluginError`` when it refuses."""
        url, params = self._url, dict(self._params)
        if self._paging == LINK and cursor is not None:
            url, params = self._linked(str(cursor)), {}
        elif self._paging == CURSOR and cursor is not None and self._cursor_param:
            params[self._cursor_param] = str(cursor)
        answer = self._client.request(self._method, url, params or None, self._filled_body(cursor), self._headers())
        if not answer.ok:
            raise refusal(self._method, url, answer)
        content = self._parse(url, answer)
        return Page(self._records(url, content), self._next(content, answer, url))

    def _headers(self) -> dict[str, str]:
        accept = {"Accept": "application/json"}
        return {**accept, "Content-Type": "application/json"} if self._body else accept

    def _filled_body(self, cursor: Cursor) -> bytes | None:
        if not self._body:
            return None
        return fill(self._body, {"cursor": "" if cursor is None else cursor}, for_json).encode()

    def _linked(self, link: str) -> str:
        """The address of a page. Secrets go with the request, so it must not lead elsewhere."""
        url = urljoin(self._url, link)
        if not same_origin(url, self._url):
            raise PluginError(
                f"The next page is said to be at {shown(url)}, another service than {shown(self._url)}. It is not"
                " asked, since requests carry credentials. If that is right, give http.url the address the links have."
            )
        return url

    def _parse(self, url: str, answer: Answer) -> Any:
        if not answer.body:
            return None
        try:
            return json.loads(answer.body)
        except ValueError as error:
            kind = answer.headers.get("content-type", "an unknown type")
            begin = answer.body[:100].decode("utf-8", "replace")
            raise PluginError(f"{shown(url)} answered no JSON but {kind}: {error}. It begins with: {begin}") from None

    def _records(self, url: str, content: Any) -> list[Any]:
        found = None if content is None else find(content, self._records_path)
        if found is MISSING:
            keys = ", ".join(sorted(content)) if isinstance(content, dict) else type(content).__name__
            raise PluginError(
                f"The answer of {shown(url)} has nothing at records.path={self._records_path}. At its top are: {keys}"
            )
        if found is None:
            return []
        if isinstance(found, dict) and not self._records_path and self._paging == NONE:
            return [found]
        if not isinstance(found, list):
            place = f"records.path={self._records_path}" if self._records_path else "its top (records.path is not set)"
            raise PluginError(f"The answer of {shown(url)} has no list at {place}, but {type(found).__name__}")
        return found

    def _next(self, content: Any, answer: Answer, url: str) -> Cursor:
        if self._paging == NONE:
            return None
        if self._paging == LINK:
            found = find(content, self._link_path) if self._link_path else answer.next_link
            return urljoin(url, found) if isinstance(found, str) and found else None
        found = find(content, self._cursor_path)
        if found is MISSING or found is None or found is False or found == "":
            return None
        if isinstance(found, bool) or not isinstance(found, str | int | float):
            raise PluginError(
                f"The answer of {shown(url)} has no cursor at cursor.path={self._cursor_path}, but"
                f" {json.dumps(found)[:100]}. A cursor is text or a number."
            )
        return found

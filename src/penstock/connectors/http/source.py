"""Reads a JSON service page by page; the cursor it gives is the source offset."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from penstock.api import (
    Config,
    ConfigDef,
    ConfigError,
    ConfigKey,
    Importance,
    Plan,
    PluginError,
    Progress,
    Record,
    SourceConnector,
    SourceOffset,
    SourceOffsets,
    SourcePartition,
    SourceTask,
    Split,
    Type,
    at_least,
    non_empty_string,
    one_of,
)

from . import subscription
from .keys import REQUEST, SHARED, add, check_shared, web_address
from .pages import CURSOR, LINK, NONE, Pages
from .position import Position, check_offset
from .subscription import Subscription
from .texts import MISSING, fill, find, for_json, placeholders

URL = "url"
PAGING, RECORDS = "Paging", "Records"
LONGEST_READ_SECONDS = 5.0
"""A batch asks for no further page after this time, so that a pause never waits long."""

CONFIG = (
    ConfigDef(
        ConfigKey(
            "topic", Type.STRING, importance=Importance.HIGH, doc="The topic to write to.", validator=non_empty_string
        ),
        ConfigKey(
            "http.url",
            Type.STRING,
            importance=Importance.HIGH,
            doc="The address of the first page. It is also the source partition: another one is read from its start.",
            validator=web_address,
            group=REQUEST,
        ),
        ConfigKey(
            "http.method",
            Type.STRING,
            "GET",
            Importance.MEDIUM,
            "GET or POST. Parameters of the query are set with http.params.<name>, headers with http.headers.<name>.",
            one_of("GET", "POST"),
            REQUEST,
        ),
        ConfigKey(
            "http.body",
            Type.STRING,
            "",
            Importance.LOW,
            "The JSON to send with POST; {cursor} is filled in.",
            None,
            REQUEST,
        ),
        ConfigKey(
            "paging",
            Type.STRING,
            CURSOR,
            Importance.HIGH,
            "What leads to the next page: cursor (a value in the answer, given back in a parameter), link (an address"
            " in the answer or in the Link header), or none (a single page, whose records are all new at each poll).",
            one_of(CURSOR, LINK, NONE),
            PAGING,
        ),
        ConfigKey(
            "cursor.param",
            Type.STRING,
            "",
            Importance.HIGH,
            "The parameter of the query that carries the cursor.",
            None,
            PAGING,
        ),
        ConfigKey(
            "cursor.path",
            Type.STRING,
            "",
            Importance.HIGH,
            "Where the answer has the next cursor, such as paging.next, or items.-1.id for the id of the last record."
            " Nothing there means that this was the last page for now.",
            None,
            PAGING,
        ),
        ConfigKey(
            "cursor.initial", Type.STRING, "", Importance.LOW, "The cursor of the very first request.", None, PAGING
        ),
        ConfigKey(
            "link.path",
            Type.STRING,
            "",
            Importance.MEDIUM,
            "With paging=link: where the answer has the address of the next page. Not set: the Link header.",
            None,
            PAGING,
        ),
        ConfigKey(
            "limit.param",
            Type.STRING,
            "",
            Importance.LOW,
            "The parameter of the query that says how many records a page may have, if there is one.",
            None,
            PAGING,
        ),
        ConfigKey("limit", Type.INT, 100, Importance.LOW, "The value of limit.param.", at_least(1), PAGING),
        ConfigKey(
            "batch.max.pages",
            Type.INT,
            20,
            Importance.LOW,
            "How many pages are read before records and cursor are committed.",
            at_least(1),
            PAGING,
        ),
        ConfigKey(
            "poll.interval.ms",
            Type.LONG,
            10_000,
            Importance.MEDIUM,
            "How long to wait after the last page, or an empty one, before the service is asked again.",
            at_least(0),
            PAGING,
        ),
        ConfigKey(
            "records.path",
            Type.STRING,
            "",
            Importance.HIGH,
            "Where the answer has its list of records, such as data.items. Not set: the answer is the list.",
            None,
            RECORDS,
        ),
        ConfigKey(
            "record.key.path",
            Type.STRING,
            "",
            Importance.MEDIUM,
            "Where a record has its key, such as id or order.id. Not set: records have no keys.",
            None,
            RECORDS,
        ),
    )
    + SHARED
    + subscription.KEYS
)


class HttpSourceTask(SourceTask):
    """Source partition ``{"url"}`` → ``{"cursor"}``, and how many records of its page are known.

    The driver only keeps the time between polls; executors ask.
    """

    def configure(self, config: Mapping[str, str]) -> None:
        super().configure(config)
        own = CONFIG.parse(config)
        self._topic: str = own["topic"]
        self._key_path: str = own["record.key.path"]
        self._max_pages: int = own["batch.max.pages"]
        self._poll_seconds = own["poll.interval.ms"] / 1000
        self._first: str | None = own["cursor.initial"] or None
        self._grows = own["paging"] != NONE
        self._partition = {URL: own["http.url"]}
        self._pages = Pages(own, config)
        self._asked: float | None = None

    def plan(self, offsets: SourceOffsets) -> Plan | None:
        offset = offsets.get(self._partition)
        now = time.monotonic()
        waiting = self._asked is not None and now < self._asked + self._poll_seconds
        if Position.of(offset).caught_up and waiting:
            return None
        self._asked = now
        return Plan([Split({"offset": offset})])

    def read(self, split: Split) -> Iterator[Record | Progress]:
        before: SourceOffset | None = split.payload["offset"]
        position = Position.of(before, self._first)
        deadline = time.monotonic() + LONGEST_READ_SECONDS
        for _ in range(self._max_pages):
            page = self._pages.fetch(position.cursor)
            for value in page.records[position.taken if self._grows else 0 :]:
                yield Record(topic=self._topic, key=self._key(value), value=value)
            position = position.after(page, self._grows)
            if position.caught_up or time.monotonic() > deadline:
                break
        if position.offset() != before:
            yield Progress(self._partition, position.offset())

    def _key(self, value: Any) -> Any:
        if not self._key_path:
            return None
        key = find(value, self._key_path)
        if key is MISSING:
            begin = json.dumps(value)[:200]
            raise PluginError(f"A record has nothing at record.key.path={self._key_path}. It begins with: {begin}")
        return key


class HttpSource(SourceConnector):
    """Reads a paged JSON service by cursor, and keeps a subscription there for as long as the connector exists."""

    version = "0.1.0"
    task = HttpSourceTask
    config = CONFIG

    def validate(self, settings: Config) -> Mapping[str, Sequence[str]]:
        errors: dict[str, list[str]] = {}
        own = CONFIG.parse(settings)
        check_shared(settings, errors)
        subscription.check(settings, errors)
        in_body = "cursor" in placeholders(own["http.body"])
        if own["paging"] == CURSOR:
            if not own["cursor.path"]:
                add(errors, "cursor.path", "paging=cursor needs cursor.path: where the answer has the next cursor")
            if not own["cursor.param"] and not in_body:
                add(errors, "cursor.param", "paging=cursor needs cursor.param, or {cursor} in http.body")
        if own["http.body"] and own["http.method"] != "POST":
            add(errors, "http.body", "a body is only sent with http.method=POST")
        if own["http.body"]:
            try:
                json.loads(fill(own["http.body"], {"cursor": "1"}, for_json))
            except ValueError as error:
                add(errors, "http.body", f"this is not JSON: {error}")
        return errors

    def task_configs(self, max_tasks: int) -> Sequence[Config]:
        return [dict(self.settings)]

    def alter_offsets(self, config: Config, offsets: Sequence[tuple[SourcePartition, SourceOffset | None]]) -> bool:
        """Check that each offset is one this connector could have made."""
        for partition, offset in offsets:
            if offset is None:
                continue
            if set(partition or {}) != {URL}:
                raise ConfigError(f"A partition must have '{URL}' and nothing else: {partition}")
            check_offset(offset)
        return True

    def on_created(self, config: Config) -> None:
        subscription.move(None, Subscription.of(config))

    def on_updated(self, old: Config, new: Config) -> None:
        subscription.move(Subscription.of(old), Subscription.of(new))

    def on_deleted(self, old: Config) -> None:
        subscription.move(Subscription.of(old), None)

"""Posts records to an HTTP service, in batches or one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.api import (
    Config,
    ConfigDef,
    ConfigKey,
    DataError,
    Importance,
    Record,
    SinkConnector,
    SinkTask,
    Type,
    at_least,
    one_of,
)
from penstock.api.values import to_text

from .bodies import ARRAY, AS_IS, AS_JSON, CONTENT_TYPES, ENCODERS, LINES, SINGLE, joined
from .client import HttpClient, refusal
from .keys import REQUEST, SHARED, add, check_shared, web_address
from .pacing import Pace
from .texts import fill, for_url, placeholders, unknown_placeholders

BATCHES = "Batches"
OF_A_RECORD = ("key", "partition", "offset")
SKIP, SEND, DELETE = "skip", "send", "delete"
TASKS = "http.tasks"

ABOUT_RECORDS = frozenset({400, 409, 412, 413, 422})
"""Answers that say something about the records and not about us: the others would be the same for every record."""

CONFIG = (
    ConfigDef(
        ConfigKey(
            "http.url",
            Type.STRING,
            importance=Importance.HIGH,
            doc="Where to send records. {topic}, {key}, {partition} and {offset} are filled in; the last three need"
            " batch.format=single.",
            validator=web_address,
            group=REQUEST,
        ),
        ConfigKey(
            "http.method",
            Type.STRING,
            "POST",
            Importance.MEDIUM,
            "POST, PUT or PATCH. Headers are set with http.headers.<name>.",
            one_of("POST", "PUT", "PATCH"),
            REQUEST,
        ),
        ConfigKey(
            "batch.format",
            Type.STRING,
            ARRAY,
            Importance.HIGH,
            "What a request carries: array (a JSON array of values), lines (one value a line) or single (one record).",
            one_of(ARRAY, LINES, SINGLE),
            BATCHES,
        ),
        ConfigKey(
            "batch.max.records",
            Type.INT,
            500,
            Importance.MEDIUM,
            "The most records of a request with array or lines.",
            at_least(1),
            BATCHES,
        ),
        ConfigKey(
            "value.format",
            Type.STRING,
            AS_JSON,
            Importance.MEDIUM,
            "json: values are written as JSON. raw: text and bytes are sent as they are.",
            one_of(AS_JSON, AS_IS),
            BATCHES,
        ),
        ConfigKey(
            "null.values",
            Type.STRING,
            SKIP,
            Importance.MEDIUM,
            "What becomes of records without a value: skip, send (as null), or delete (a DELETE request to the record's"
            " address; needs {key} in http.url).",
            one_of(SKIP, SEND, DELETE),
            BATCHES,
        ),
        ConfigKey(
            "rate.limit",
            Type.DOUBLE,
            0.0,
            Importance.MEDIUM,
            "The most requests a second, all tasks together. 0: no limit.",
            at_least(0),
            BATCHES,
        ),
        ConfigKey(
            "idempotency.header",
            Type.STRING,
            "",
            Importance.LOW,
            "A header such as Idempotency-Key that gets topic, partition and offset of the record, so that the service"
            " can recognise a request that is repeated after a crash. Needs batch.format=single.",
            None,
            BATCHES,
        ),
    )
    + SHARED
)


@dataclass(frozen=True)
class _Item:
    """A record on its way out; ``body`` is ``None`` when it is to be deleted."""

    record: Record
    url: str
    body: bytes | None


class HttpSinkTask(SinkTask):
    """Sends records in topic order; a crash or a lasting failure in a batch repeats it from its beginning."""

    def configure(self, config: Mapping[str, str]) -> None:
        super().configure(config)
        own = CONFIG.parse(config)
        self._client = HttpClient(config)
        self._url: str = own["http.url"]
        self._method: str = own["http.method"]
        self._shape: str = own["batch.format"]
        self._most = 1 if self._shape == SINGLE else own["batch.max.records"]
        self._encode = ENCODERS[own["value.format"]]
        self._nulls: str = own["null.values"]
        self._pace = Pace(own["rate.limit"] / int(config.get(TASKS, "1")))
        self._once: str = own["idempotency.header"]
        self._names = placeholders(self._url)
        self._headers = {"Content-Type": CONTENT_TYPES[self._shape]}

    def put(self, records: Iterable[Record]) -> Mapping[str, Any] | None:
        batch: list[_Item] = []
        for item in self._items(records):
            if batch and (len(batch) == self._most or item.url != batch[0].url):
                self._send(batch)
                batch = []
            batch.append(item)
        if batch:
            self._send(batch)
        return None

    def _items(self, records: Iterable[Record]) -> Iterator[_Item]:
        for record in records:
            if record.value is None and self._nulls == SKIP:
                continue
            try:
                deleted = record.value is None and self._nulls == DELETE
                yield _Item(record, self._address(record), None if deleted else self._encode(record))
            except (DataError, TypeError, ValueError) as error:
                self.context.report(record, error)

    def _address(self, record: Record) -> str:
        if not self._names:
            return self._url
        values: dict[str, object] = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
        if "key" in self._names:
            if record.key is None:
                raise DataError(f"http.url is {self._url}, but the record has no key")
            values["key"] = to_text(record.key, record.key_schema)
        return fill(self._url, values, for_url)

    def _send(self, items: Sequence[_Item]) -> None:
        """Send a batch. If the service refuses it for what is in it, halves tell which records are to blame."""
        first = items[0]
        deleted = first.body is None
        method = "DELETE" if deleted else self._method
        body = None if deleted else joined([item.body or b"" for item in items], self._shape)
        self._pace.wait()
        answer = self._client.request(method, first.url, body=body, headers=self._headers_for(first.record, deleted))
        if answer.ok or (deleted and answer.status in (404, 410)):
            return
        error = refusal(method, first.url, answer)
        if not self._is_about_records(answer.status):
            raise error
        if len(items) == 1:
            self.context.report(first.record, error)
            return
        middle = len(items) // 2
        self._send(items[:middle])
        self._send(items[middle:])

    def _is_about_records(self, status: int) -> bool:
        return status in ABOUT_RECORDS or (status in (404, 410) and "key" in self._names)

    def _headers_for(self, record: Record, deleted: bool) -> dict[str, str]:
        headers = {} if deleted else dict(self._headers)
        if self._once:
            headers[self._once] = f"{record.topic}-{record.partition}-{record.offset}"
        return headers


class HttpSink(SinkConnector):
    """Posts records to an HTTP service in batches, with retries, a rate limit and authentication."""

    version = "0.1.0"
    task = HttpSinkTask
    config = CONFIG

    def validate(self, settings: Config) -> Mapping[str, Sequence[str]]:
        errors: dict[str, list[str]] = {}
        own = CONFIG.parse(settings)
        check_shared(settings, errors)
        url, single = own["http.url"], own["batch.format"] == SINGLE
        unknown = unknown_placeholders(url, ("topic", *OF_A_RECORD))
        if unknown:
            add(
                errors,
                "http.url",
                f"{{{unknown[0]}}} means nothing here; {{topic}}, {{key}}, {{partition}} and {{offset}} do",
            )
        needing = [name for name in OF_A_RECORD if name in placeholders(url)]
        if needing and not single:
            add(errors, "http.url", f"{{{needing[0]}}} needs batch.format=single: a batch has many of them")
        if own["idempotency.header"] and not single:
            add(
                errors, "idempotency.header", "this needs batch.format=single: batches may be cut differently next time"
            )
        if own["null.values"] == DELETE and not ("key" in placeholders(url) and single):
            add(errors, "null.values", "delete needs {key} in http.url and batch.format=single")
        return errors

    def task_configs(self, max_tasks: int) -> Sequence[Config]:
        return [{**self.settings, TASKS: str(max_tasks)} for _ in range(max_tasks)]

    def alter_offsets(self, config: Config, offsets: Mapping[tuple[str, int], int | None]) -> bool:
        return True

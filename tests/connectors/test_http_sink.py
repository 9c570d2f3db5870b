"""HttpSink: batches, addresses, trouble with a service and trouble with records."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from penstock.api import PluginError, Record, RetriableError, SinkContext
from penstock.connectors.http import HttpSink
from penstock.connectors.http.sink import HttpSinkTask
from tests.support.web_service import Asked, Reply, WebService, reply


@pytest.fixture
def service() -> Iterator[WebService]:
    with WebService() as running:
        yield running


class Sender:
    """One task, and the records it reported."""

    def __init__(self, service: WebService, keys: Mapping[str, str] | None = None, tolerant: bool = True) -> None:
        self.task = HttpSinkTask()
        self.config = {"http.url": f"{service.url}/in", "retry.backoff.ms": "1", **(keys or {})}
        self.task.configure(self.config)
        self.reported: list[tuple[Any, str]] = []
        self.task.context = SinkContext("c", 0, None, self._report)
        self._tolerant = tolerant

    def _report(self, record: Record, error: Exception) -> None:
        self.reported.append((record.value, str(error)))
        if not self._tolerant:
            raise error

    def put(self, *values: Any, **attributes: Any) -> None:
        records = [Record(value, topic="t", partition=0, offset=n, **attributes) for n, value in enumerate(values)]
        self.task.put(records)


def bodies(service: WebService) -> list[Any]:
    return [asked.json for asked in service.asked]


def test_records_travel_in_arrays_of_a_limited_size_and_in_order(service: WebService) -> None:
    Sender(service, {"batch.max.records": "2"}).put({"a": 1}, {"a": 2}, {"a": 3})
    assert bodies(service) == [[{"a": 1}, {"a": 2}], [{"a": 3}]]
    assert {asked.method for asked in service.asked} == {"POST"}
    assert service.asked[0].headers["content-type"] == "application/json"


def test_records_travel_in_lines(service: WebService) -> None:
    Sender(service, {"batch.format": "lines", "http.headers.content-type": "x/lines"}).put({"a": 1}, "zwölf")
    assert service.asked[0].body.decode() == '{"a":1}\n"zwölf"\n'
    assert service.asked[0].headers["content-type"] == "x/lines"


def test_single_records_go_to_addresses_made_of_topic_and_key(service: WebService) -> None:
    keys = {"http.url": f"{service.url}/{{topic}}/{{key}}?o={{offset}}", "batch.format": "single", "http.method": "PUT"}
    Sender(service, keys).put({"a": 1}, key="../x y?&")
    (asked,) = service.asked
    assert (asked.method, asked.path, asked.params) == ("PUT", "/t/..%2Fx%20y%3F%26", {"o": "0"})
    assert asked.json == {"a": 1}


def test_a_batch_goes_to_one_address(service: WebService) -> None:
    sender = Sender(service, {"http.url": f"{service.url}/{{topic}}"})
    sender.task.put([Record(n, topic=topic) for n, topic in enumerate(["a", "a", "b", "a"])])
    assert [(asked.path, asked.json) for asked in service.asked] == [("/a", [0, 1]), ("/b", [2]), ("/a", [3])]


def test_values_become_json(service: WebService) -> None:
    when = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
    Sender(service).put({"b": b"\x00\xff", "d": Decimal("1.10"), "t": when, "m": {1: [None, True]}})
    assert bodies(service) == [
        [{"b": "AP8=", "d": "1.10", "t": "2024-05-06T07:08:09.000Z", "m": {"1": [None, True]}}]
    ]  # fmt: skip


def test_raw_values_are_sent_as_they_are(service: WebService) -> None:
    sender = Sender(service, {"value.format": "raw"})
    sender.put('{"already": "json"}', b"[1]", {"not": "text"})
    assert service.asked[0].body == b'[{"already": "json"},[1]]'
    assert "value.format=json" in sender.reported[0][1]


def test_records_that_are_no_json_are_reported_alone(service: WebService) -> None:
    sender = Sender(service)
    sender.put(1, float("nan"), object(), 2)
    assert bodies(service) == [[1, 2]]
    assert len(sender.reported) == 2


@pytest.mark.parametrize(("nulls", "sent"), [("skip", [["a"]]), ("send", [["a", None]])])
def test_records_without_a_value_are_skipped_or_sent(service: WebService, nulls: str, sent: Any) -> None:
    Sender(service, {"null.values": nulls}).put("a", None)
    assert bodies(service) == sent


def test_records_without_a_value_can_be_deletions(service: WebService) -> None:
    keys = {"http.url": f"{service.url}/{{key}}", "batch.format": "single", "null.values": "delete"}
    sender = Sender(service, keys)
    service.script.append(reply(None, 404))
    sender.put(None, key="k")
    assert [(asked.method, asked.path, asked.body) for asked in service.asked] == [("DELETE", "/k", b"")]
    assert sender.reported == []


def test_a_record_without_the_key_its_address_needs_is_reported(service: WebService) -> None:
    sender = Sender(service, {"http.url": f"{service.url}/{{key}}", "batch.format": "single"})
    sender.put("a")
    assert "has no key" in sender.reported[0][1]
    assert service.asked == []


def test_a_repeated_single_record_can_be_recognised(service: WebService) -> None:
    sender = Sender(service, {"batch.format": "single", "idempotency.header": "Idempotency-Key"})
    sender.put("a", "b")
    sender.put("a", "b")
    assert [asked.headers["idempotency-key"] for asked in service.asked] == ["t-0-0", "t-0-1"] * 2


# -- trouble with the service


def test_busy_services_are_asked_again_after_the_time_they_want(service: WebService) -> None:
    service.script += [reply(None, 429, Retry_After="1"), reply(None, 502)]
    began = time.monotonic()
    Sender(service).put("a")
    assert bodies(service) == [["a"]] * 3
    assert time.monotonic() - began >= 1


def test_services_that_stay_away_are_left_to_the_runtime(service: WebService) -> None:
    service.script += [reply(None, 500)] * 3
    with pytest.raises(RetriableError, match=r"POST .* had no success in 3 tries; .* 500 Internal Server Error"):
        Sender(service, {"retry.max": "2"}).put("a")
    service.down()
    with pytest.raises(RetriableError, match="no answer"):
        Sender(service, {"retry.max": "0"}).put("a")


def test_a_connection_that_breaks_is_opened_again(service: WebService) -> None:
    sender = Sender(service, {"retry.max": "0"})
    sender.put("a")
    service.down()
    with pytest.raises(RetriableError):
        sender.put("b")
    service.up()
    sender.put("b")
    assert bodies(service) == [["a"], ["b"]]


@pytest.mark.parametrize("status", [401, 403, 404, 405, 415])
def test_refusals_that_concern_every_record_fail_the_task(service: WebService, status: int) -> None:
    service.script.append(reply({"error": "no"}, status))
    sender = Sender(service)
    with pytest.raises(PluginError, match=f"answered {status} .*no"):
        sender.put("a", "b")
    assert sender.reported == []
    assert len(service.asked) == 1


def test_not_more_requests_a_second_than_allowed(service: WebService) -> None:
    sender = Sender(service, {"batch.format": "single", "rate.limit": "20", "http.tasks": "2"})
    began = time.monotonic()
    sender.put(*range(6))
    assert time.monotonic() - began >= 0.5, "this task may send 10 a second: five gaps"


def test_tasks_share_the_rate_limit() -> None:
    sink = HttpSink()
    sink.configure({"http.url": "http://h/", "rate.limit": "20"})
    assert [config["http.tasks"] for config in sink.task_configs(2)] == ["2", "2"]


# -- trouble with records


def refusing(*bad: Any, status: int = 422) -> Any:
    def accept(asked: Asked) -> Reply:
        content = asked.json
        values = content if isinstance(content, list) else [content]
        wrong = [value for value in values if value in bad]
        return reply({"error": f"bad: {wrong}"}, status) if wrong else reply({})

    return accept


@pytest.mark.parametrize("status", [400, 409, 413, 422])
def test_bad_records_are_told_apart_and_the_others_arrive_once(service: WebService, status: int) -> None:
    service.accept = refusing(3, 6, status=status)
    sender = Sender(service)
    sender.put(*range(8))
    assert [value for value, _ in sender.reported] == [3, 6]
    assert f"answered {status}" in sender.reported[0][1]
    assert "bad: [3]" in sender.reported[0][1]
    good = [asked.json for asked in service.asked if not {3, 6} & set(asked.json)]
    assert sorted(value for values in good for value in values) == [0, 1, 2, 4, 5, 7]
    assert [value for values in good for value in values] == [0, 1, 2, 4, 5, 7], "still in order"


def test_a_bad_record_that_is_not_tolerated_stops_the_batch(service: WebService) -> None:
    service.accept = refusing(1)
    with pytest.raises(PluginError, match=r"bad: \[1\]"):
        Sender(service, {"batch.format": "single"}, tolerant=False).put(0, 1, 2)
    assert bodies(service) == [0, 1]


def test_an_unknown_address_of_one_key_concerns_that_record_only(service: WebService) -> None:
    service.script.append(reply(None, 404))
    sender = Sender(service, {"http.url": f"{service.url}/{{key}}", "batch.format": "single", "http.method": "PATCH"})
    sender.put("a", "b", key="k")
    assert [value for value, _ in sender.reported] == ["a"]
    assert len(service.asked) == 2


# -- configuration


@pytest.mark.parametrize(
    ("changes", "key", "text"),
    [
        ({"http.url": "http://h/{key}"}, "http.url", "{key} needs batch.format=single"),
        ({"http.url": "http://h/{kee}"}, "http.url", "{kee} means nothing here"),
        ({"idempotency.header": "X"}, "idempotency.header", "batch.format=single"),
        ({"null.values": "delete"}, "null.values", "{key} in http.url"),
        ({"auth.type": "header"}, "auth.header.name", "needs auth.header.name"),
    ],
)
def test_validation_names_the_key(changes: dict[str, str], key: str, text: str) -> None:
    assert HttpSink().validate({"http.url": "http://h/"}) == {}
    found = HttpSink().validate({"http.url": "http://h/", **changes})
    assert text in found[key][0]


def test_secrets_are_passwords() -> None:
    types = {key.name: key.type.value for key in HttpSink.config.keys}
    assert {types[key] for key in ("auth.password", "auth.token", "auth.header.value")} == {"PASSWORD"}

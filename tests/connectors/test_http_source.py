"""HttpSource: pages, cursors, polls, trouble, subscriptions."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from penstock.api import (
    ConfigError,
    PluginError,
    Progress,
    Record,
    RetriableError,
    SourceOffset,
    SourceOffsets,
    SourcePartition,
)
from penstock.connectors.http import HttpSource
from penstock.connectors.http import source as source_module
from penstock.connectors.http.source import HttpSourceTask
from tests.support.web_service import WebService, reply


@pytest.fixture
def service() -> Iterator[WebService]:
    with WebService() as running:
        yield running


def settings(service: WebService, **more: str) -> dict[str, str]:
    """A source of the service's events; ``paging_x`` sets ``paging.x``."""
    return {
        "name": "events",
        "topic": "t",
        "http.url": f"{service.url}/events",
        "records.path": "data.items",
        "cursor.param": "cursor",
        "cursor.path": "paging.next",
        "retry.backoff.ms": "1",
        "poll.interval.ms": "0",
        **{key.replace("_", "."): value for key, value in more.items()},
    }


class Reader(SourceOffsets):
    """Drives one task as the runtime does: plan, read, commit."""

    def __init__(self, config: Mapping[str, str], offset: SourceOffset | None = None) -> None:
        self.task = HttpSourceTask()
        self.task.configure(config)
        self.partition = {"url": config["http.url"]}
        self.offset = offset

    def get(self, partition: SourcePartition) -> SourceOffset | None:
        assert partition == self.partition
        return self.offset

    def all(self) -> Sequence[tuple[SourcePartition, SourceOffset]]:
        return []

    def batch(self) -> list[Record]:
        """The records of the next batch, committed."""
        plan = self.task.plan(self)
        assert plan is not None
        records: list[Record] = []
        for item in self.task.read(plan.splits[0]):
            if isinstance(item, Progress):
                assert item.partition == self.partition
                self.offset = item.offset
            else:
                assert isinstance(item, Record)
                records.append(item)
        return records

    def values(self) -> list[Any]:
        return [record.value for record in self.batch()]


def test_pages_are_followed_by_their_cursor_and_the_cursor_is_the_offset(service: WebService) -> None:
    service.events = [{"id": n} for n in range(5)]
    reader = Reader(settings(service, record_key_path="id", batch_max_pages="2"))
    first = reader.batch()
    assert [(record.topic, record.key, record.value) for record in first] == [("t", n, {"id": n}) for n in range(4)]
    assert reader.offset == {"cursor": 4}
    assert reader.values() == [{"id": 4}]
    assert reader.offset == {"cursor": 4, "taken": 1, "caught_up": True}


def test_what_is_added_to_the_last_page_is_read_once(service: WebService) -> None:
    service.events = ["a", "b", "c"]
    reader = Reader(settings(service))
    assert reader.values() == ["a", "b", "c"]
    assert reader.values() == []
    service.events += ["d"]
    assert reader.values() == ["d"]
    service.events += ["e", "f", "g"]
    assert reader.values() == ["e", "f", "g"]
    assert reader.offset == {"cursor": 6, "taken": 1, "caught_up": True}


def test_a_new_reader_goes_on_from_the_committed_offset(service: WebService) -> None:
    service.events = list("abcdef")
    assert Reader(settings(service), {"cursor": 4}).values() == ["e", "f"]
    assert Reader(settings(service), {"cursor": 2, "taken": 1, "caught_up": True}).values() == ["d", "e", "f"]


def test_a_cursor_from_the_last_record_needs_nothing_else_in_the_answer(service: WebService) -> None:
    def since(asked: Any) -> Any:
        after = int(asked.params.get("since", "0"))
        return reply([{"id": number} for number in range(after + 1, min(after + 3, 6))])

    service.accept = since
    config = settings(service, records_path="", cursor_param="since", cursor_path="-1.id", cursor_initial="2")
    reader = Reader({**config, "http.url": f"{service.url}/log"})
    assert [value["id"] for value in reader.values()] == [3, 4, 5]
    assert reader.offset == {"cursor": 5, "caught_up": True}
    assert reader.values() == []
    assert [asked.params["since"] for asked in service.asked] == ["2", "4", "5", "5"]


def test_links_in_the_header_are_followed_and_relative_ones_too(service: WebService) -> None:
    service.script += [
        reply([1, 2], Link=f'<{service.url}/list?page=2>; rel="next", <{service.url}/list>; rel="first"'),
        reply([3], Link='</list?page=3>; rel="next"'),
        reply([4]),
        reply([4, 5]),
    ]
    reader = Reader({**settings(service, paging="link", records_path=""), "http.url": f"{service.url}/list?page=1"})
    assert reader.values() == [1, 2, 3, 4]
    assert reader.offset == {"cursor": f"{service.url}/list?page=3", "taken": 1, "caught_up": True}
    assert reader.values() == [5]
    assert [asked.params["page"] for asked in service.asked] == ["1", "2", "3", "3"]


def test_links_in_the_answer_are_followed(service: WebService) -> None:
    service.script += [reply({"items": [1], "next": "?page=2"}), reply({"items": [2], "next": None})]
    config = settings(service, paging="link", link_path="next", records_path="items")
    assert Reader(config).values() == [1, 2]


def test_a_link_to_another_service_is_refused_because_of_the_credentials(service: WebService) -> None:
    with WebService() as other:
        service.script.append(reply({"items": [1], "next": f"{other.url}/steal"}))
        config = settings(service, paging="link", link_path="next", records_path="items", auth_type="bearer")
        with pytest.raises(PluginError, match="another service"):
            Reader({**config, "auth.token": "secret"}).batch()
        assert other.asked == []


def test_without_paging_every_poll_brings_the_whole_answer(service: WebService) -> None:
    service.accept = lambda asked: reply({"temperature": 21})
    reader = Reader({**settings(service, paging="none", records_path=""), "http.url": f"{service.url}/weather"})
    assert reader.values() == [{"temperature": 21}]
    assert reader.values() == [{"temperature": 21}]


def test_posts_carry_the_cursor_in_their_body(service: WebService) -> None:
    service.accept = lambda asked: reply({"items": [1], "next": 'a"b' if asked.json["after"] == "" else None})
    body = '{"after": "{cursor}", "filter": {"kind": "order"}}'
    config = settings(service, http_method="POST", http_body=body, records_path="items", cursor_path="next")
    assert Reader({**config, "cursor.param": "", "http.url": f"{service.url}/search"}).values() == [1, 1]
    assert [asked.json for asked in service.asked] == [
        {"after": "", "filter": {"kind": "order"}},
        {"after": 'a"b', "filter": {"kind": "order"}},
    ]
    assert service.asked[0].headers["content-type"] == "application/json"


def test_parameters_headers_and_limits_are_sent_beside_those_of_the_address(service: WebService) -> None:
    config = settings(service, limit_param="limit", limit="7")
    config |= {"http.url": f"{service.url}/events?kind=a%20b", "http.params.lang": "de", "http.headers.Accept": "x/y"}
    Reader(config).batch()
    assert service.asked[0].params == {"kind": "a b", "lang": "de", "limit": "7"}
    assert service.asked[0].headers["accept"] == "x/y"


@pytest.mark.parametrize(
    ("keys", "header", "value"),
    [
        ({"auth.type": "basic", "auth.user": "me", "auth.password": "pw"}, "authorization", "Basic bWU6cHc="),
        ({"auth.type": "bearer", "auth.token": "t0ken"}, "authorization", "Bearer t0ken"),
        ({"auth.type": "header", "auth.header.name": "X-Api-Key", "auth.header.value": "k"}, "x-api-key", "k"),
    ],
)
def test_requests_identify_us(service: WebService, keys: dict[str, str], header: str, value: str) -> None:
    Reader(settings(service) | keys).batch()
    assert service.asked[0].headers[header] == value


# -- polls


def test_a_source_that_has_caught_up_waits_for_the_poll_interval(service: WebService) -> None:
    service.events = list("abc")
    reader = Reader(settings(service, poll_interval_ms="300", batch_max_pages="1"))
    assert reader.values() == ["a", "b"]
    assert reader.values() == ["c"], "there was more, so there is no wait"
    assert [reader.task.plan(reader) for _ in range(50)] == [None] * 50
    asked = len(service.asked)
    deadline = time.monotonic() + 5
    while reader.task.plan(reader) is None:
        assert time.monotonic() < deadline
    assert len(service.asked) == asked, "planning never asks the service"


def test_a_restarted_source_asks_at_once(service: WebService) -> None:
    reader = Reader(settings(service, poll_interval_ms="3600000"), {"cursor": 4, "caught_up": True})
    assert reader.task.plan(reader) is not None


def test_an_empty_page_counts_as_caught_up_even_with_a_new_cursor(service: WebService) -> None:
    service.script.append(reply({"data": {"items": []}, "paging": {"next": "2030"}}))
    reader = Reader(settings(service, poll_interval_ms="3600000"))
    assert reader.values() == []
    assert reader.offset == {"cursor": "2030", "caught_up": True}
    assert reader.task.plan(reader) is None


def test_a_long_read_ends_between_pages(service: WebService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "LONGEST_READ_SECONDS", 0)
    service.events = list("abcdef")
    reader = Reader(settings(service))
    assert reader.values() == ["a", "b"]
    assert reader.offset == {"cursor": 2}


def test_an_idle_poll_commits_nothing_new(service: WebService) -> None:
    service.events = ["a"]
    reader = Reader(settings(service))
    reader.batch()
    plan = reader.task.plan(reader)
    assert plan is not None
    assert list(reader.task.read(plan.splits[0])) == []


# -- trouble


@pytest.mark.parametrize("status", [408, 425, 429, 500, 503])
def test_answers_that_may_pass_are_asked_for_again(service: WebService, status: int) -> None:
    service.events = ["a"]
    service.script += [reply({"error": "busy"}, status)] * 2
    assert Reader(settings(service)).values() == ["a"]
    assert len(service.asked) == 3


def test_retry_after_decides_the_pause(service: WebService) -> None:
    service.events = ["a"]
    service.script.append(reply(None, 429, Retry_After="1"))
    began = time.monotonic()
    assert Reader(settings(service)).values() == ["a"]
    assert time.monotonic() - began >= 1


def test_retry_after_may_be_a_date_and_is_limited(service: WebService) -> None:
    service.events = ["a"]
    service.script.append(reply(None, 503, Retry_After="Fri, 31 Dec 2999 23:59:59 GMT"))
    began = time.monotonic()
    assert Reader(settings(service, retry_backoff_max_ms="200")).values() == ["a"]
    assert 0.2 <= time.monotonic() - began < 60


def test_a_service_that_stays_down_is_left_to_the_runtime(service: WebService) -> None:
    service.down()
    with pytest.raises(RetriableError, match=r"GET http://127\.0\.0\.1:\d+/events had no success in 3 tries") as caught:
        Reader(settings(service, retry_max="2")).batch()
    assert "no answer" in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (reply({"error": "who are you"}, 401), "401 Unauthorized: .*who are you.* Check auth.type"),
        (reply(None, 404), "GET http://[^?]*/events answered 404 Not Found"),
        (reply(None, 301, Location="https://new.example/"), "not followed; use the address https://new.example/"),
        ((200, {"Content-Type": "text/html"}, b"<html>"), "no JSON but text/html.*<html>"),
        (reply({"rows": []}), "nothing at records.path=data.items. At its top are: rows"),
        (reply({"data": {"items": {"a": 1}}}), "no list at records.path=data.items, but dict"),
        (reply({"data": {"items": []}, "paging": {"next": {"a": 1}}}), "no cursor at cursor.path=paging.next"),
    ],
)
def test_answers_that_will_not_change_fail_the_task_and_say_why(service: WebService, answer: Any, text: str) -> None:
    service.script.append(answer)
    with pytest.raises(PluginError, match=text) as caught:
        Reader(settings(service, **{"http_params_key": "secret"})).batch()
    assert not isinstance(caught.value, RetriableError)
    assert "secret" not in str(caught.value)
    assert len(service.asked) == 1


def test_no_content_and_null_mean_no_records(service: WebService) -> None:
    service.script += [reply(None, 204), reply({"data": {"items": None}, "paging": {}})]
    reader = Reader(settings(service))
    assert reader.values() == []
    assert reader.values() == []


def test_an_answer_that_is_too_long_is_not_taken_in(service: WebService) -> None:
    service.events = ["x" * 1000]
    with pytest.raises(PluginError, match=r"longer than 500 bytes.*http\.answer\.max\.bytes"):
        Reader(settings(service, http_answer_max_bytes="500")).batch()


def test_a_record_without_its_key_names_the_path(service: WebService) -> None:
    service.events = [{"name": "a"}]
    with pytest.raises(PluginError, match=r'record\.key\.path=id.*\{"name": "a"\}'):
        Reader(settings(service, record_key_path="id")).batch()


# -- configuration and offsets


@pytest.mark.parametrize(
    ("changes", "key", "text"),
    [
        ({"cursor.path": ""}, "cursor.path", "needs cursor.path"),
        ({"cursor.param": ""}, "cursor.param", "or {cursor} in http.body"),
        ({"auth.type": "bearer"}, "auth.token", "auth.type=bearer needs auth.token"),
        ({"auth.type": "basic", "auth.user": "me"}, "auth.password", "auth.type=basic needs auth.password"),
        ({"http.body": "{}"}, "http.body", "http.method=POST"),
        ({"http.method": "POST", "http.body": "{"}, "http.body", "this is not JSON"),
        ({"http.headers.A B": "c"}, "http.headers.A B", "cannot be the name of a header"),
        ({"http.headers.A": "b\r\nc: d"}, "http.headers.A", "control characters"),
        ({"subscription.url": "http://h/s", "subscription.body": "{id}"}, "subscription.body", "this is not JSON"),
        ({"subscription.url": "http://h/{x}"}, "subscription.url", "{x} means nothing here"),
    ],
)
def test_validation_names_the_key(service: WebService, changes: dict[str, str], key: str, text: str) -> None:
    assert HttpSource().validate(settings(service)) == {}
    found = HttpSource().validate(settings(service) | changes)
    assert list(found) == [key]
    assert text in found[key][0]


@pytest.mark.parametrize("url", ["", "example.com", "ftp://example.com", "http://", "http://h:x/", "http://[/"])
def test_addresses_must_be_web_addresses(service: WebService, url: str) -> None:
    found = HttpSource.config.validate(settings(service) | {"http.url": url})["http.url"].errors
    assert url == "" or "Invalid value" in found[0]


def test_a_password_in_the_address_is_refused_without_being_shown(service: WebService) -> None:
    found = HttpSource.config.validate(settings(service) | {"http.url": "https://me:hunter2@example.com/"})
    (error,) = found["http.url"].errors
    assert "auth.password" in error
    assert "hunter2" not in error


@pytest.mark.parametrize(
    "url",
    [
        "https://me:hunter2@example.com/list?token=hunter2&page=1",
        "https://me:hunter2@example.com/list#hunter2",
        "https://me:hunter2@example.com:port/list?token=hunter2",
        "https://me:hun/hunter2@example.com/list",
        "https://me:hun@hunter2@example.com/list",
        "ftp://me:hunter2@example.com/list?token=hunter2",
        "example.com/list?token=hunter2",
    ],
)
def test_an_address_that_is_refused_is_shown_without_password_and_query(service: WebService, url: str) -> None:
    (error,) = HttpSource.config.validate(settings(service) | {"http.url": url})["http.url"].errors
    assert "hunter2" not in error
    assert "example.com" in error


@pytest.mark.parametrize(
    ("partition", "offset", "text"),
    [
        ({"url": "u"}, {"cursor": "a"}, None),
        ({"url": "u"}, {"cursor": None, "taken": 3}, None),
        ({"url": "u"}, None, None),
        ({"file": "u"}, {"cursor": "a"}, "must have 'url'"),
        ({"url": "u"}, {"page": 1}, "must have 'cursor'"),
        ({"url": "u"}, {"cursor": ["a"]}, "text, a number or null"),
        ({"url": "u"}, {"cursor": "a", "taken": -1}, "0 or more"),
        ({"url": "u"}, {"cursor": "a", "caught_up": 1}, "true or false"),
    ],
)
def test_offsets_from_outside_are_checked(service: WebService, partition: Any, offset: Any, text: str | None) -> None:
    if text is None:
        assert HttpSource().alter_offsets(settings(service), [(partition, offset)])
    else:
        with pytest.raises(ConfigError, match=text):
            HttpSource().alter_offsets(settings(service), [(partition, offset)])


# -- the subscription


def subscribed(service: WebService, **more: str) -> dict[str, str]:
    return settings(service, subscription_url=f"{service.url}/subscriptions", **more)


def test_the_subscription_is_made_moved_and_removed_by_hooks(service: WebService) -> None:
    body = '{"callback": "{topic}", "of": "{name}", "feed": "{url}"}'
    first = subscribed(service, subscription_body=body)
    HttpSource().on_created(first)
    assert service.subscriptions == {"events": {"callback": "t", "of": "events", "feed": f"{service.url}/events"}}

    changed = {**first, "topic": 'q"uote'}
    HttpSource().on_updated(first, changed)
    assert service.subscriptions["events"]["callback"] == 'q"uote'

    moved = {**changed, "subscription.id": "new/id"}
    HttpSource().on_updated(changed, moved)
    assert list(service.subscriptions) == ["new%2Fid"]
    assert [asked.method for asked in service.asked[-2:]] == ["PUT", "DELETE"], "the new one is there first"

    HttpSource().on_deleted(moved)
    assert service.subscriptions == {}


def test_hooks_may_be_repeated(service: WebService) -> None:
    config, moved = subscribed(service), subscribed(service, subscription_id="other")
    for _ in range(2):
        HttpSource().on_created(config)
    assert list(service.subscriptions) == ["events"]
    for _ in range(2):
        HttpSource().on_updated(config, moved)
    assert list(service.subscriptions) == ["other"]
    for _ in range(2):
        HttpSource().on_deleted(moved)
    assert service.subscriptions == {}


def test_a_subscription_that_is_no_longer_wanted_is_removed_by_the_update(service: WebService) -> None:
    HttpSource().on_created(subscribed(service))
    HttpSource().on_updated(subscribed(service), settings(service))
    assert service.subscriptions == {}
    HttpSource().on_updated(settings(service), subscribed(service))
    assert list(service.subscriptions) == ["events"]


def test_services_that_take_posts_are_told_the_id_in_the_body(service: WebService) -> None:
    config = subscribed(service, subscription_method="POST", subscription_body='{"id": "{id}", "topic": "{topic}"}')
    HttpSource().on_created(config)
    HttpSource().on_updated(config, {**config, "topic": "u"})
    assert service.subscriptions == {"events": {"id": "events", "topic": "u"}}


def test_without_a_subscription_hooks_ask_nothing(service: WebService) -> None:
    HttpSource().on_created(settings(service))
    HttpSource().on_deleted(settings(service))
    assert service.asked == []


def test_a_refused_subscription_fails_the_hook_and_says_why(service: WebService) -> None:
    service.script.append(reply({"error": "no such feed"}, 422))
    with pytest.raises(PluginError, match=r"PUT .*/subscriptions/events answered 422 .*no such feed"):
        HttpSource().on_created(subscribed(service))
    service.script.append(reply({"error": "locked"}, 423))
    with pytest.raises(PluginError, match=r"DELETE .* answered 423"):
        HttpSource().on_deleted(subscribed(service))


def test_removing_is_tried_once_for_the_runtime_comes_back(service: WebService) -> None:
    service.script += [reply(None, 503)] * 2
    with pytest.raises(RetriableError):
        HttpSource().on_deleted(subscribed(service))
    assert len(service.asked) == 1

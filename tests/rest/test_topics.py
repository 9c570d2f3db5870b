"""Topics over HTTP: where they begin and end, and the records in them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from pathlib import Path

import httpx2
import pytest

from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration


@pytest.fixture
def lines(api: httpx2.Client, config: Mapping[str, str]) -> str:
    """A topic with the lines 0 to 24."""
    topic = f"lines-{uuid.uuid4().hex[:8]}"
    Path(config["file"]).write_text("".join(f"line {number}\n" for number in range(25)))
    string = {"value.converter": "org.apache.kafka.connect.storage.StringConverter"}
    created = api.post("/connectors", json={"name": topic, "config": {**config, **string, "topic": topic}})
    assert created.status_code == 201, created.text
    wait_until(lambda: api.get(f"/topics/{topic}").json()["partitions"][0]["end"] == 25, "the lines are there")
    return topic


def test_a_topic_tells_where_it_begins_and_ends(api: httpx2.Client, lines: str) -> None:
    assert api.get(f"/topics/{lines}").json() == {
        "name": lines,
        "partitions": [{"partition": 0, "start": 0, "end": 25}],
        "settings": {},
    }
    assert lines in [topic["name"] for topic in api.get("/topics").json()]


def test_records_come_page_by_page(api: httpx2.Client, lines: str) -> None:
    seen, place, pages = [], None, 0
    while True:
        page = api.get(f"/topics/{lines}/records", params={"limit": 10, **({"from": place} if place else {})}).json()
        seen += [record["value"]["text"] for record in page["records"]]
        place, pages = page["next"], pages + 1
        if not page["more"]:
            break
    assert seen == [f"line {number}" for number in range(25)]
    assert (place, pages) == ("0:25", 3)
    assert api.get(f"/topics/{lines}/records", params={"from": place}).json()["records"] == []


def test_offsets_at_a_time(api: httpx2.Client, lines: str) -> None:
    first = api.get(f"/topics/{lines}/records", params={"limit": 1}).json()["records"][0]["timestamp"]

    def at(when: object) -> object:
        return api.get(f"/topics/{lines}/offsets", params={"at": str(when)}).json()["offsets"]

    assert at("earliest") == [0]
    assert at("latest") == [25]
    assert at(first) == [0]
    assert at(first + 3_600_000) == [25]


WRONG = [
    ("/topics/none", 404, "Topic none not found"),
    ("/topics/none/records", 404, "Topic none not found"),
    ("/topics/{lines}/records?limit=0", 400, "limit must be between 1 and 1000, not 0"),
    ("/topics/{lines}/records?limit=x", 400, "limit must be a number, not 'x'"),
    ("/topics/{lines}/records?from=1:0", 400, "Topic {lines} has no partition 1; it has 1, counted from 0"),
    ("/topics/{lines}/records?from=a", 400, "from must look like 0:17,1:4 (partition and offset), not 'a'"),
    ("/topics/{lines}/offsets?at=soon", 400, "at must be earliest, latest or milliseconds since 1970, not 'soon'"),
]


def test_what_cannot_be_answered_says_why(api: httpx2.Client, lines: str) -> None:
    answers = [api.get(path.replace("{lines}", lines)) for path, _, _ in WRONG]
    assert [(answer.status_code, answer.json()["message"]) for answer in answers] == [
        (status, text.replace("{lines}", lines)) for _, status, text in WRONG
    ]

"""The table of a topic's records."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Route, expect

pytestmark = pytest.mark.integration

KEYS = ["97a46c8", "New York", "x" * 200]


def test_a_short_key_stands_in_one_line_and_a_long_one_leaves_room_for_the_value(page: Page) -> None:
    def records(route: Route) -> None:
        found = [
            {
                "partition": 0,
                "offset": at,
                "timestamp": 1,
                "key": {"text": key},
                "value": {"text": "v" * 500},
                "headers": [],
            }
            for at, key in enumerate(KEYS)
        ]
        route.fulfill(
            json={"records": found if "from=0%3A0" in route.request.url else [], "next": "0:3", "more": False}
        )

    topic = {"name": "keyed", "partitions": [{"partition": 0, "start": 0, "end": 3}], "settings": {}}
    page.route("**/topics/keyed", lambda route: route.fulfill(json=topic))
    page.route("**/topics/keyed/records?*", records)
    page.goto("#/topics/keyed")
    cells = page.locator("td.key")
    expect(cells).to_have_text(list(reversed(KEYS)))
    lines = """node => {
      const text = document.createRange();
      text.selectNodeContents(node);
      return Math.round(text.getBoundingClientRect().height / parseFloat(getComputedStyle(node).lineHeight));
    }"""
    long, *short = cells.all()
    assert [cell.evaluate(lines) for cell in short] == [1, 1]
    assert 200 < long.evaluate("node => node.clientWidth") < 300

"""Differences of configurations, as they are shown."""

from __future__ import annotations

import pytest

from penstock.cli.client.config_changes import as_data, compare, shown


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("db.password", "hunter22", "[hidden]"),
        ("value.converter.basic.auth.user.info", "me:hunter22", "[hidden]"),
        ("ssl.keystore.key", "-----BEGIN", "[hidden]"),
        ("connection.url", "postgresql://me:hunter22@db/orders", "postgresql://me:[hidden]@db/orders"),
        (
            "connection.url",
            "jdbc:postgresql://db/orders?password=hunter22",
            "jdbc:postgresql://db/orders?password=[hidden]",
        ),
        ("db.password", "${env:DB_PASSWORD}", "${env:DB_PASSWORD}"),
        ("file", "orders.txt", "orders.txt"),
        ("file", None, "null"),
    ],
)
def test_no_secret_is_shown_wherever_it_stands(key: str, value: str | None, text: str) -> None:
    assert shown(key, value) == text


def test_a_changed_secret_is_a_difference_without_its_values() -> None:
    changes = compare({"db.password": "old", "topic": "a"}, {"db.password": "new", "topic": "a"})
    assert as_data(changes) == [{"key": "db.password", "before": "[hidden]", "after": "[hidden]"}]

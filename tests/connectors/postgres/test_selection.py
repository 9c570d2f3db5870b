"""Which tables a connector captures, by its lists of patterns."""

from __future__ import annotations

import pytest

from penstock.api.errors import ConfigError
from penstock.connectors.postgres.catalog import Selection

LISTS = ("table.include.list", "table.exclude.list", "schema.include.list", "schema.exclude.list")


def selection(**lists: list[str]) -> Selection:
    return Selection.of({name: lists.get(name.replace(".", "_")) for name in LISTS})


@pytest.mark.parametrize(
    ("pattern", "table", "taken"),
    [
        (r"public\.orders", "orders", True),
        (r"PUBLIC\.Orders", "orders", True),
        (r"public\.order", "orders", False),
        (r"\Qpublic.orders\E", "orders", True),
        (r"public\.[a-z&&[^o]]+", "orders", False),
        (r"public\.\w+", "\xe9t\xe9", False),
        ("public\\.\xc9T\xc9", "\xe9t\xe9", False),
    ],
)
def test_a_pattern_takes_the_tables_that_it_takes_in_debezium(pattern: str, table: str, taken: bool) -> None:
    """Debezium compiles them with ``Pattern.CASE_INSENSITIVE``, which is about ASCII letters."""
    assert selection(table_include_list=[pattern]).takes("public", table) is taken


def test_what_is_excluded_is_not_taken() -> None:
    assert not selection(table_exclude_list=["public.orders"]).takes("public", "orders")
    assert not selection(schema_exclude_list=["PUBLIC"]).takes("public", "orders")
    assert selection(schema_include_list=["public"]).takes("public", "orders")


def test_a_pattern_that_is_none_is_told_with_its_key() -> None:
    with pytest.raises(
        ConfigError, match=r"table.include.list: not a regular expression over schema.table: .*Unclosed"
    ):
        selection(table_include_list=["public.(orders"])

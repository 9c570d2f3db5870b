"""Rows of a binary COPY become columns of texts, whatever is in them."""

from __future__ import annotations

import struct

import pytest

from penstock.connectors.postgres.catalog import Column
from penstock.connectors.postgres.copied_rows import as_text, columns_of
from penstock.connectors.postgres.types import TypeInfo

HEADER = b"PGCOPY\n\xff\r\n\x00" + struct.pack(">ii", 0, 0)
TRAILER = struct.pack(">h", -1)


def row(*cells: str | None) -> bytes:
    encoded = [None if cell is None else cell.encode() for cell in cells]
    sized = [struct.pack(">i", -1) if cell is None else struct.pack(">i", len(cell)) + cell for cell in encoded]
    return struct.pack(">h", len(cells)) + b"".join(sized)


def test_texts_nulls_and_empty_texts_are_told_apart() -> None:
    rows = [("1", None, 'a "quoted", text\n'), ("22", "", "ünïcode"), ("333", "x" * 70_000, None)]
    messages = [HEADER + row(*rows[0]), *(row(*each) for each in rows[1:]), TRAILER]
    columns = columns_of(messages, True, 3)
    assert list(zip(*(column.to_pylist() for column in columns), strict=True)) == rows


def test_a_later_part_of_a_copy_has_no_header() -> None:
    assert [column.to_pylist() for column in columns_of([row("a"), row("b")], False, 1)] == [["a", "b"]]
    assert [column.to_pylist() for column in columns_of([TRAILER], False, 1)] == [[]]


def test_a_copy_without_rows_has_no_rows() -> None:
    assert [len(column) for column in columns_of([HEADER + TRAILER], True, 2)] == [0, 0]


def test_a_row_with_another_number_of_columns_is_refused() -> None:
    with pytest.raises(ValueError, match="ends where it should not"):
        columns_of([row("a", "b")], False, 1)


def test_columns_are_asked_for_as_the_server_writes_them() -> None:
    assert as_text(Column('a"b', 25, TypeInfo(25, output="textout"))) == '"a""b"'
    assert as_text(Column("flag", 16, TypeInfo(16, output="boolout"))) == 'pg_catalog.textin(boolout("flag"))'
    assert as_text(Column("later", 23, TypeInfo(23))) == '"later"::text'

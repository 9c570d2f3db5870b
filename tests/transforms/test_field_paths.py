"""Paths to nested fields."""

from __future__ import annotations

import pytest

from penstock.api.errors import ConfigError, DataError
from penstock.api.record import INT32, STRING, struct_schema
from penstock.transforms.field_path import FieldPath, split_path


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("a", ("a",)),
        ("a.b.c", ("a", "b", "c")),
        ("`a.b`.c", ("a.b", "c")),
        ("a.`b.c`", ("a", "b.c")),
        ("a.b.", ("a", "b", "")),
        ("..", ("", "", "")),
        ("", ()),
        ("`a`b`.c", ("a`b", "c")),
        (r"`a\`.b`.c", ("a`.b", "c")),
        ("a`b.c", ("a`b", "c")),
        ("``.a", ("", "a")),
    ],
)
def test_paths_are_split_at_dots_outside_of_backticks(path: str, steps: tuple[str, ...]) -> None:
    assert split_path(path) == steps


@pytest.mark.parametrize("path", ["`a", "a.`b", "`a.b\\`"])
def test_an_open_backtick_is_refused(path: str) -> None:
    with pytest.raises(ConfigError, match="Incomplete backtick pair in path"):
        split_path(path)


def test_a_struct_on_the_way_may_be_null() -> None:
    inner = struct_schema(("b", INT32), optional=True)
    outer = struct_schema(("a", inner))
    path = FieldPath("a.b", "v2")
    assert path.field_in(outer) == ("b", INT32)
    assert path.value_in_struct(outer, {"a": {"b": 1}}, with_default=True) == 1
    assert path.value_in_struct(outer, {}, with_default=True) is None


def test_a_step_into_something_flat_is_an_error() -> None:
    path = FieldPath("a.b", "V2")
    with pytest.raises(DataError, match="Cannot look up fields on non-struct type"):
        path.field_in(struct_schema(("a", STRING)))
    with pytest.raises(DataError, match=r"\[nested field access\], found: java.lang.Long"):
        path.value_in_map({"a": 1})


def test_version_one_takes_the_text_as_a_name() -> None:
    assert FieldPath("a.b", "V1").value_in_map({"a.b": 1, "a": {"b": 2}}) == 1

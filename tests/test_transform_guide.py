"""The code of the guide to transforms runs, and its configurations are valid."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest

from penstock.api import Record, Transform
from penstock.runtime.plugins import Plugins
from penstock.runtime.providers import References
from penstock.runtime.validation import validate
from penstock.testing import records, run_transform
from penstock.transforms.python_function import PythonFunction

GUIDE = (Path(__file__).parents[1] / "docs" / "guides" / "transforms.md").read_text()
RECORDS = (Path(__file__).parents[1] / "docs" / "records.md").read_text()


def _blocks(text: str, language: str) -> list[str]:
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```$", text, re.M | re.S)
    return [re.sub(rf"^{indent}", "", block, flags=re.M) for indent, block in found]


@pytest.fixture(scope="module")
def shop() -> Iterator[ModuleType]:
    """Everything the guide defines, as one module."""
    module = ModuleType("shop")
    sys.modules["shop"] = module
    exec("\n".join(_blocks(GUIDE, "python")), vars(module))
    yield module
    del sys.modules["shop"]


TESTS = re.findall(r"^def (test_\w+)", GUIDE, re.M)


@pytest.mark.parametrize("name", TESTS)
def test_the_tests_of_the_guide_pass(shop: ModuleType, name: str) -> None:
    vars(shop)[name]()


def test_the_transform_of_the_guide_is_as_short_as_it_says(shop: ModuleType) -> None:
    source = next(block for block in _blocks(GUIDE, "python") if "class Discount" in block)
    body = [line for line in source.partition("class ")[2].splitlines() if line.strip()]
    assert len(body) <= 10
    assert issubclass(shop.Discount, Transform)


def test_the_functions_of_the_guide_work(shop: ModuleType) -> None:
    large = run_transform(PythonFunction, records([{"total": 200}, {"total": 3}]), {"function": "shop:only_large"})
    assert large.values == [{"total": 200}]
    settings = {"function": "shop:with_tax", "takes": "table"}
    taxed = run_transform(PythonFunction, records([{"total": 100.0}, {"total": None}]), settings)
    assert [set(value) for value in taxed.values] == [{"total", "tax"}]
    assert taxed.values[0]["tax"] == pytest.approx(8.1)
    assert isinstance(shop.with_tax(pa.table({"total": [1.0]})), pa.Table)


@pytest.mark.parametrize("block", _blocks(GUIDE, "json"))
def test_the_configurations_of_the_guide_are_valid(shop: ModuleType, block: str) -> None:
    config: dict[str, Any] = {"name": "c", "connector.class": "FileStreamSink", "topics": "t", "file": "f"}
    given = json.loads(block)
    if "transforms" not in given:
        given |= {"transforms": "sql", "transforms.sql.type": "Sql"}
    found = validate(Plugins(), {}, References({}), {**config, **given})
    errors = {entry["value"]["name"]: entry["value"]["errors"] for entry in found.configs if entry["value"]["errors"]}
    assert errors == {}


def test_the_page_of_the_record_model_shows_code_that_works() -> None:
    call, schemas = _blocks(RECORDS, "python")
    names = call.strip().removeprefix("Record(").removesuffix(")").split(", ")
    assert names == list(Record.__dataclass_fields__)
    made: dict[str, Any] = {}
    exec(schemas, made)
    assert [field.name for field in made["ORDER"].fields] == ["id", "customer", "total", "at", "tags"]


def test_the_table_of_types_is_what_the_code_does() -> None:
    from penstock.api.arrow import arrow_type
    from penstock.api.logical import DATE, TIME, TIMESTAMP, decimal_schema
    from penstock.api.record import Schema, SchemaType, array_schema, map_schema, struct_schema

    rows = dict(re.findall(r"^\| (\w+)[^|]*\|[^|]*\| `([^`]*)`", RECORDS, re.M))
    inner = Schema(SchemaType.INT64)
    schemas = {kind.name: Schema(kind) for kind in SchemaType if kind.name in rows}
    schemas |= {"ARRAY": array_schema(inner), "MAP": map_schema(inner, inner), "STRUCT": struct_schema(("a", inner))}
    schemas |= {"Decimal": decimal_schema(2), "Date": DATE, "Time": TIME, "Timestamp": TIMESTAMP}
    assert schemas.keys() == rows.keys()
    for name, schema in schemas.items():
        shown = rows[name].replace("scale", "2").replace("timestamp[ms, UTC]", "timestamp[ms, tz=UTC]")
        short = {"float32": "float", "float64": "double", "date32": "date32[day]"}.get(shown, shown)
        assert str(arrow_type(schema)).startswith(short), name

"""Each form for columns that we ship takes records of some observed case: none is there in vain, or dead.

Whether what it makes of them is right is seen by comparing both ways, but a form that declines all passes there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.api import Batch
from penstock.api.batch import Column
from penstock.api.record import INT64, OPTIONAL_STRING, struct_schema
from penstock.converters.json import shape_book
from penstock.converters.registry.converter import RegistryConverter
from penstock.spark.splits import ErrorPolicy, PluginRef, TaskSpec
from tests.records.batches import items_of, put_case, write_items
from tests.records.observing import USED, Form, observed, shipped_forms
from tests.records.runner import plugins
from tests.spark.chain_cases import KeepingMixed, json_spec
from tests.spark.pumping import Given, Keeping, MemoryTopics, here, put_all, read_all
from tests.support.registry import RegistryServer

CASES = Path(__file__).parent / "public"
ROWS = 5


@pytest.fixture(autouse=True)
def _small_batches_take_columns_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape_book, "FEWEST_ROWS", 1)


@pytest.fixture
def registry() -> Iterator[RegistryServer]:
    with RegistryServer() as server:
        yield server


def test_the_forms_are_found_by_looking_at_the_classes() -> None:
    found = {str(form) for form in shipped_forms(plugins())}
    assert found >= {"FlattenValue.apply_batch", "RecordIsTombstone.test_batch", "JsonConverter.decode_parts"}
    assert found >= {"CastKey.apply_batch", "Filter.apply_batch", "AvroConverter.encode", "StringConverter.decode"}
    assert not found & {"HeaderFromValue.apply_batch", "LongConverter.encode", "StringConverter.decode_parts"}


def test_every_form_for_columns_takes_some_observed_case(registry: RegistryServer) -> None:
    idle = [form for form in shipped_forms(plugins()) if not takes_records(form, registry)]
    assert [str(form) for form in idle] == []


def takes_records(form: Form, registry: RegistryServer) -> bool:
    """Whether the form takes some case, tried until one is found."""
    USED.clear()
    if issubclass(form.plugin, RegistryConverter):
        through_registry(form, registry)
        return form in USED
    return any(takes_case(form, case) for case in cases_with(form.plugin.java_class))


def takes_case(form: Form, case: Mapping[str, Any]) -> bool:
    if form.name == "encode":
        write_items(case, items_of(case), observed)
    else:
        put_case(case, KeepingMixed, 1, observed)
    if form.name == "decode":
        put_case(case, Keeping, 1, observed)
    return form in USED


def cases_with(name: str) -> Iterator[dict[str, Any]]:
    return (json.loads(text) for text in sink_cases() if f'"{name}"' in text)


@cache
def sink_cases() -> list[str]:
    """Those that do not fail their task, made for columns first."""
    groups = [json.loads(path.read_text("utf-8")) for path in sorted(CASES.glob("*.json"))]
    cases = [case for group in groups if group["format"] == "records/1" for case in group["cases"]]
    wanted = [case for case in cases if case["kind"] == "sink" and "expect" in case]
    whole = [case for case in wanted if not any(e.get("error", {}).get("fatal") for e in case["expect"])]
    return [json.dumps(case) for case in sorted(whole, key=lambda case: "in_columns" not in case)]


def through_registry(form: Form, registry: RegistryServer) -> None:
    """Structs through a converter with a registry to a topic and back, for which there are no observed cases."""
    schema = struct_schema(("id", INT64), ("note", OPTIONAL_STRING), name="shop.Order")
    rows = [{"id": number, "note": None if number == 2 else f"n{number}"} for number in range(ROWS)]
    batch = Batch("orders", Column(pa.array(rows), schema))
    topics = MemoryTopics()
    read_all(topics, [batch], observed(_registry_spec(form, Given, registry)))
    where = topics.store("orders", [{"value": value} for value in topics.values("orders")])
    for task in (KeepingMixed, Keeping):
        put_all(topics, [where], observed(_registry_spec(form, task, registry)))
        assert [record.value for record in Keeping.kept] == rows


def _registry_spec(form: Form, task: type[Any], registry: RegistryServer) -> TaskSpec:
    settings = {"schema.registry.url": registry.url}
    target = PluginRef(here(form.plugin), settings)
    plain = json_spec(task, [], ErrorPolicy(), key=f"registry-{form}-{task.__name__}-{registry.url}")
    return replace(plain, value_converter=target)

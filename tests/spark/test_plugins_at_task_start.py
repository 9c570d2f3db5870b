"""Settings that transforms and converters refuse fail a task before its first record, with Kafka Connect's words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.api import DataError, Transform
from penstock.runtime.connector_config import UnknownPredicate, converter_ref, transform_chain
from penstock.runtime.plugins import Plugins
from penstock.spark import copies
from penstock.spark.errors import failure_of
from penstock.spark.splits import PluginRef, TaskSpec, TransformRef
from tests.records.casefile import same_message

from .pumping import Keeping, here, spec_for

PUBLIC = Path(__file__).parents[1] / "records" / "public"


def _cases() -> list[Any]:
    groups = [json.loads(path.read_text("utf-8")) for path in sorted(PUBLIC.glob("*.json"))]
    cases = [case for group in groups for case in group["cases"]]
    refused = [case for case in cases if case.get("config_error", {}).get("at") == "task_start"]
    return [pytest.param(case, id=case["name"]) for case in refused]


def _spec(case: dict[str, Any]) -> TaskSpec:
    plugins = Plugins()
    converters = [converter_ref(plugins, {}, case["in"], f"{role}.converter") for role in ("key", "value", "header")]
    return TaskSpec("k", "c", 0, PluginRef(here(Keeping)), *converters, transform_chain(plugins, case["config"]))


@pytest.mark.parametrize("case", _cases())
def test_the_trace_of_a_refused_configuration_begins_as_observed(case: dict[str, Any]) -> None:
    refusal = case["config_error"]
    with pytest.raises(Exception) as failed:  # noqa: PT011
        copies.check(_spec(case))
    first = failure_of(failed.value).trace.splitlines()[0]
    assert same_message(f"{refusal['exception']}: {refusal['message']}", first)


def test_a_predicate_nobody_listed_is_refused_while_parsing() -> None:
    config = {"transforms": "t", "transforms.t.type": "Filter", "transforms.t.predicate": "q"}
    with pytest.raises(UnknownPredicate):
        transform_chain(Plugins(), config)


class Moody(Transform):
    """Cannot be configured."""

    def configure(self, settings: Any) -> None:
        raise ValueError("no such mood")

    def apply(self, record: Any) -> Any:
        raise DataError("never called")


def test_any_error_of_a_transform_is_wrapped_with_its_own_name() -> None:
    spec = spec_for(Keeping, transforms=[Moody])
    with pytest.raises(copies.TransformRefused, match="ValueError: no such mood"):
        copies.check(spec)


def test_the_check_does_not_make_the_task() -> None:
    spec = spec_for("nowhere:Task")
    copies.check(spec)
    assert [ref for ref in spec.transforms if isinstance(ref, TransformRef)] == []

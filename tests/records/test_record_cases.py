"""What Kafka Connect 4.3.1 was seen to do with single records, done again: converters, transforms, predicates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.api.errors import ConfigError
from tests.records.casefile import same_message
from tests.records.runner import Pipeline, check_record, validation_errors

CASES = Path(__file__).parent / "public"


def _cases() -> list[Any]:
    groups = [json.loads(path.read_text("utf-8")) for path in sorted(CASES.glob("*.json"))]
    cases = [case for group in groups if group["format"] == "records/1" for case in group["cases"]]
    return [pytest.param(case, id=case["name"]) for case in cases]


@pytest.mark.parametrize("case", [case for case in _cases() if "expect" in case.values[0]])
def test_records_come_out_as_observed(case: dict[str, Any]) -> None:
    pipeline = Pipeline.of(case)
    for raw, expected in zip(case["records"], case["expect"], strict=True):
        if not expected.get("error", {}).get("fatal"):
            check_record(pipeline, raw, expected, is_source=case["kind"] == "source")


@pytest.mark.parametrize("case", [case for case in _cases() if "config_error" in case.values[0]])
def test_configurations_are_refused_as_observed(case: dict[str, Any]) -> None:
    refusal = case["config_error"]
    if refusal["at"] == "task_start":
        with pytest.raises(ConfigError) as failed:
            Pipeline.of(case)
        assert failed.value.exception == refusal["exception"]
        if refusal.get("message_from") != "java":
            assert same_message(refusal["message"], str(failed.value))
        return
    found = validation_errors(case)
    assert found.keys() == refusal["errors"].keys()
    for key, messages in refusal["errors"].items():
        assert len(found[key]) == len(messages)
        for expected, actual in zip(messages, found[key], strict=True):
            assert same_message(expected, actual)

"""The observed cases again, through the code that executors run: all records of a case in one batch, by both ways."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from penstock.api import Batch
from penstock.converters.json import shape_book
from tests.records.batches import comparable, items_of, put_case, write_items
from tests.records.casefile import same_message, same_record
from tests.records.runner import REPORTED, Side
from tests.spark.chain_cases import KeepingMixed
from tests.spark.pumping import Keeping

CASES = Path(__file__).parent / "public"
PREFIX = "__connect.errors."


def _cases() -> list[Any]:
    groups = [json.loads(path.read_text("utf-8")) for path in sorted(CASES.glob("*.json"))]
    cases = [case for group in groups if group["format"] == "records/1" for case in group["cases"]]
    wanted = [case for case in cases if "expect" in case and case["kind"] == "sink" and not _is_fatal(case)]
    return [pytest.param(case, id=case["name"]) for case in wanted]


def _is_fatal(case: Mapping[str, Any]) -> bool:
    return any(expected.get("error", {}).get("fatal") for expected in case["expect"])


@pytest.fixture(autouse=True)
def _small_batches_take_columns_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape_book, "FEWEST_ROWS", 1)


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("case", _cases())
def test_a_batch_of_records_comes_out_the_same_either_way(case: dict[str, Any], times: int) -> None:
    assert comparable(put_case(case, KeepingMixed, times)) == comparable(put_case(case, Keeping, times))


@pytest.mark.parametrize("case", _cases())
def test_a_batch_is_written_the_same_either_way(case: dict[str, Any]) -> None:
    items = items_of(case)
    records = [record for item in items for record in (item.records() if isinstance(item, Batch) else [item])]
    assert write_items(case, items) == write_items(case, records)


@pytest.mark.parametrize("case", [c for c in _cases() if "in_columns" in c.values[0]])
def test_as_many_records_are_columns_as_the_case_says(case: dict[str, Any]) -> None:
    found = [len(item) for item in items_of(case) if isinstance(item, Batch)]
    assert sum(found) == case["in_columns"]


@pytest.mark.parametrize("case", [c for c in _cases() if "offset.field" not in json.dumps(c.values[0]["config"])])
def test_a_batch_of_records_comes_out_as_observed(case: dict[str, Any]) -> None:
    records, letters, _ = put_case(case, KeepingMixed, times=1)
    by_place = sorted(zip(case["records"], case["expect"], strict=True), key=lambda pair: _first_place(case, pair[0]))
    sink = Side.of(case["out"])
    left, failed = iter(records), iter(letters)
    for _, expected in by_place:
        error = expected.get("error", {})
        if error and error["side"] != "out":
            _check_letter(error, {h["key"]: h["value"] for h in next(failed)["headers"]})
        elif expected != {"dropped": True}:
            record = next(left)
            if not error:
                written = (record.topic, record.partition, record.timestamp, *sink.write(record))
                assert same_record(expected["record"], *written), f"{written}\nbut expected\n{expected['record']}"
    assert next(left, None) is None
    assert next(failed, None) is None


def _first_place(case: Mapping[str, Any], raw: Mapping[str, Any]) -> int:
    """Records of one topic partition stay together, in the order in which partitions first appear."""
    places = [(other["topic"], other["partition"]) for other in case["records"]]
    return places.index((raw["topic"], raw["partition"]))


def _check_letter(expected: Mapping[str, Any], headers: Mapping[str, bytes | None]) -> None:
    found = {
        "stage": headers[f"{PREFIX}stage"],
        "class": headers[f"{PREFIX}class.name"],
        "exception": headers[f"{PREFIX}exception.class.name"],
    }
    exact_names = REPORTED[1:] if expected.get("message_from") != "java" else REPORTED[1:3]
    for name in exact_names:
        assert (found[name] or b"").decode() == expected[name]
    if expected.get("message_from") != "java":
        message = headers[f"{PREFIX}exception.message"]
        assert same_message(expected["message"], None if message is None else message.decode())

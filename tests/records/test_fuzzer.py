"""The search for differences from Kafka Connect: what it makes up, and how it makes a difference small."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

TOOLS = Path(__file__).parents[2] / "tools" / "records"


@pytest.fixture
def fuzz(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(TOOLS))
    import fuzz as module

    return module


def test_a_seed_always_makes_the_same_cases(fuzz: ModuleType) -> None:
    first, again = ([fuzz.make(7, index, None) for index in range(50)] for _ in range(2))
    assert first == again
    assert first != [fuzz.make(8, index, None) for index in range(50)]


def test_every_transform_predicate_and_converter_comes_up(fuzz: ModuleType) -> None:
    text = json.dumps([fuzz.make(1, index, None) for index in range(400)])
    named = [*fuzz.configs.SIDED, *fuzz.configs.UNSIDED, *fuzz.configs.PREDICATES]
    assert [name for name in named if f".{name}$" not in text and f'.{name}"' not in text] == []
    configs = fuzz.configs
    converters = [*configs.NUMBERS, configs.BYTES, configs.STRING, configs.JSON, configs.SIMPLE]
    assert [name for name in converters if name not in text] == []


def test_a_difference_is_made_small(fuzz: ModuleType) -> None:
    case = fuzz.make(1, 0, "Cast")
    value = {"kept": {"odd": [1, 2, 3], "plain": "x"}, "other": None}
    case["records"] = [{**case["records"][0], "value": {"text": json.dumps(value)}}] * 3

    def differing(cases: list[dict[str, Any]]) -> list[tuple[dict[str, Any], str]]:
        return [(case, "differs") for case in cases if "odd" in json.dumps(case["records"])]

    [(small, told)] = fuzz.smaller([case], differing, rounds=20)
    assert told == "differs"
    assert [record["value"] for record in small["records"]] == [{"text": '{"kept":{"odd":[]}}'}]
    assert set(small["config"]) <= {"transforms.t0.type", "transforms"}

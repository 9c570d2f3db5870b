"""The configurations of all record cases: what Kafka Connect refuses is refused with its texts, the rest passes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.runtime.plugins import Plugins
from penstock.runtime.providers import References
from penstock.runtime.validation import validate

CASES = Path(__file__).parents[1] / "records" / "public"
SINK = {"connector.class": "FileStreamSink", "name": "c", "topics": "t", "file": "f"}


def groups() -> list[Path]:
    return [
        path for path in sorted(CASES.glob("*.json")) if json.loads(path.read_text("utf-8"))["format"] == "records/1"
    ]


def errors(plugins: Plugins, config: dict[str, str]) -> dict[str, list[str]]:
    values = [entry["value"] for entry in validate(plugins, {}, References({}), {**SINK, **config}).configs]
    return {value["name"]: value["errors"] for value in values if value is not None and value["errors"]}


def same(wanted: dict[str, list[str]], found: dict[str, list[str]]) -> bool:
    """Texts that end with ``*`` go on as Java's regular expressions complain."""
    if wanted.keys() != found.keys():
        return False
    pairs = [(w, f) for key in wanted for w, f in zip(wanted[key], found[key], strict=True)]
    return all(f.startswith(w[:-1]) if w.endswith("*") else f == w for w, f in pairs)


@pytest.fixture(scope="module")
def plugins() -> Plugins:
    return Plugins()


@pytest.mark.parametrize("group", groups(), ids=lambda path: path.stem)
def test_configurations_are_accepted_and_refused_as_by_kafka_connect(plugins: Plugins, group: Path) -> None:
    wrong: list[Any] = []
    for case in json.loads(group.read_text("utf-8"))["cases"]:
        refused = case.get("config_error", {})
        wanted = refused["errors"] if refused.get("at") == "validate" else {}
        found = [errors(plugins, {**case["config"], **case[side]}) for side in ("in", "out")]
        if not any(same(wanted, side) for side in found):
            wrong.append((case["name"], wanted, found))
    assert wrong == []

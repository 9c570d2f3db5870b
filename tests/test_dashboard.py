"""The dashboard for Grafana asks only for what ``/metrics`` has."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from penstock.rest.metrics_catalog import METRICS

FILE = Path(__file__).parents[1] / "deploy" / "grafana" / "penstock.json"
METRIC = re.compile(r"\b((?:kafka_connect|penstock)_[a-z_]+)(?:\{([^}]*)\})?")
LABEL = re.compile(r'([a-z_]+)\s*(?:=~|!~|!=|=)\s*"')


def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text())
    return found


def panels() -> list[dict[str, Any]]:
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


def expressions() -> list[str]:
    return [target["expr"] for panel in panels() for target in panel["targets"]]


def test_every_metric_and_label_of_it_exists() -> None:
    variables = [one["query"] for one in dashboard()["templating"]["list"] if one["type"] == "query"]
    used = {(name, labels) for text in [*expressions(), *variables] for name, labels in METRIC.findall(text)}
    assert len(used) > 20
    for name, labels in used:
        assert name in METRICS, name
        assert set(LABEL.findall(labels)) <= set(METRICS[name].labels), (name, labels)
    for text in expressions():
        grouped = {label.strip() for group in re.findall(r"by \(([^)]*)\)", text) for label in group.split(",")}
        known = {label for name, _ in METRIC.findall(text) for label in METRICS[name].labels}
        assert grouped <= known, text


def test_rates_are_taken_of_counters_and_of_nothing_else() -> None:
    for text in expressions():
        rated = set(re.findall(r"(?:rate|increase)\(((?:kafka_connect|penstock)_[a-z_]+)", text))
        counters = {name for name, _ in METRIC.findall(text) if METRICS[name].kind == "counter"}
        assert rated == counters, text


def test_panels_are_whole() -> None:
    ids = [panel["id"] for panel in dashboard()["panels"]]
    assert len(ids) == len(set(ids))
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels()]
    assert len(places) == len(set(places))
    for panel in panels():
        assert panel["title"]
        assert panel["description"]
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
        for target in panel["targets"]:
            assert target["expr"].count("(") == target["expr"].count(")")


def test_options_are_as_grafana_s_schema_has_them() -> None:
    """What it leaves to nobody: in each variable's choice, in the options of single numbers, in legends."""
    for variable in dashboard()["templating"]["list"]:
        assert isinstance(variable["query"], str)
        assert {"text", "value"} <= variable.get("current", {"text": "", "value": ""}).keys()
    for panel in panels():
        options = panel["options"]
        if panel["type"] == "stat":
            assert {"justifyMode", "orientation", "textMode", "wideLayout", "reduceOptions"} <= options.keys()
        else:
            assert {"showLegend", "displayMode", "placement", "calcs"} <= options["legend"].keys()

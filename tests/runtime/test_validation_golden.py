"""Answers recorded from Kafka Connect, compared with what validation and plugin listings say for the same requests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx2
import pytest

from penstock.runtime.plugins import Plugins
from penstock.runtime.providers import References
from penstock.runtime.requests import RequestError
from penstock.runtime.validation import check, plugin_config, validate_for
from tests.conformance.connect_conformance import Context, compare

SCENARIOS = Path(__file__).parents[1] / "conformance" / "public"
GROUPS = ("validate-*.json", "plugins-*.json", "create-invalid-*.json", "config-coercion.json", "bodies-create.json")
WORKER = {
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "key.converter.schemas.enable": "false",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
NO_REFERENCES = References({})


@pytest.fixture(scope="module")
def plugins() -> Plugins:
    return Plugins()


def answer(plugins: Plugins, request: dict[str, Any]) -> Any:
    """What the request is answered, as far as validation and plugins decide it."""
    path = [unquote(part) for part in request["path"].strip("/").split("/")]
    if path[0] == "connectors":
        body = request["body"]
        return check(plugins, WORKER, NO_REFERENCES, {**body["config"], "name": body["name"]})
    if path[2:] == ["config", "validate"]:
        found = validate_for(path[1], plugins, WORKER, NO_REFERENCES, request["body"])
        return {
            "name": found.name,
            "error_count": found.error_count,
            "groups": list(found.groups),
            "configs": list(found.configs),
        }
    if path[2:] == ["config"]:
        return plugin_config(plugins, path[1])
    return plugins.listing(str((request.get("query") or {}).get("connectorsOnly", "true")).lower() == "true")


def is_ours(step: dict[str, Any]) -> bool:
    request = step.get("request", {})
    path, method = request.get("path", ""), request.get("method")
    if path.startswith("/connector-plugins") and "raw" not in request and step.get("expect", {}).get("status") != 405:
        return method in ("GET", "PUT")
    message = str((step.get("expect", {}).get("body") or {}) if method == "POST" else "")
    return path == "/connectors" and "Connector configuration is invalid" in message


def steps() -> list[Any]:
    found = []
    for pattern in GROUPS:
        for file in sorted(SCENARIOS.glob(pattern)):
            scenario = json.loads(file.read_text("utf-8"))
            for number, step in enumerate(scenario["steps"]):
                if is_ours(step):
                    found.append(pytest.param(scenario, step, id=f"{file.stem}-{number}"))
    return found


@pytest.mark.parametrize(("scenario", "step"), steps())
def test_the_answer_is_kafka_connects(plugins: Plugins, scenario: dict[str, Any], step: dict[str, Any]) -> None:
    context = Context(scenario, "http://worker", "/scratch")
    request = context.fill(step["request"])
    try:
        status, body = 200, answer(plugins, request)
    except RequestError as error:
        status, body = error.status, {"error_code": error.status, "message": str(error)}
    response = httpx2.Response(status, json=body, request=httpx2.Request(request["method"], "http://worker"))
    assert compare(step["expect"], response, context, step.get("compare") or {}, accept_400=True) == []

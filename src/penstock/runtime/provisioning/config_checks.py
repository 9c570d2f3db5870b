"""Whether the configurations that files want are valid, with the place of everything that is not."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from penstock.runtime.calls import CallTimedOut
from penstock.runtime.plugins import PluginKind, UnknownPlugin
from penstock.runtime.requests import RequestError, Validation
from penstock.runtime.services import Services

from .desired import DesiredConnector
from .problems import WARNING, Problem, did_you_mean

_OPEN_PREFIXES = (
    "transforms.",
    "predicates.",
    "topic.creation.",
    "producer.override.",
    "consumer.override.",
    "admin.override.",
    "key.converter.",
    "value.converter.",
    "header.converter.",
)
_MISSING = re.compile(r'Missing required configuration "([^"]+)"')
_LIKELY = 0.8


async def check_connector(connector: DesiredConnector, services: Services) -> list[Problem]:
    """Everything that is wrong with one configuration. Its ``validate()`` runs elsewhere, with a time limit."""
    name = connector.config.get("connector.class") or ""

    def validated() -> Validation:
        services.connector_plugin(connector.config)
        return services.validate_for(name, connector.config)

    await services.find_plugins()
    try:
        call = services.calls.run(f"{connector.name}: validate()", services.call_seconds, validated)
        validation = await asyncio.wrap_future(call)
    except UnknownPlugin as error:
        return [_unknown_class(connector, name, str(error), services)]
    except (RequestError, CallTimedOut) as error:
        return [connector.place.problem(str(error), key="connector.class", pipeline=connector.pipeline)]
    return [*_errors(connector, validation, services), *_strange_keys(connector, validation)]


def _unknown_class(connector: DesiredConnector, name: str, text: str, services: Services) -> Problem:
    if text.startswith("More than one"):
        return connector.place.problem(text, key="connector.class", pipeline=connector.pipeline)
    hint = did_you_mean(name, _names(services, PluginKind.SOURCE, PluginKind.SINK))
    broken = services.plugins.broken
    if not hint and broken:
        hint = f"Could not be loaded: {', '.join(map(str, broken))}."
    return connector.place.problem(
        f"There is no connector class '{name}' on this worker.",
        hint or "GET /connector-plugins lists the classes.",
        "connector.class",
        connector.pipeline,
    )


def _errors(connector: DesiredConnector, validation: Validation, services: Services) -> Iterator[Problem]:
    strange = _unknown_keys(connector.config, validation)
    for entry in validation.configs:
        value: Mapping[str, Any] | None = entry["value"]
        for error in () if value is None else value["errors"]:
            key = str(entry["value"]["name"])
            hint = _hint(key, error, strange, connector, services)
            yield connector.place.problem(error, hint, key, connector.pipeline)


def _hint(key: str, error: str, strange: list[str], connector: DesiredConnector, services: Services) -> str:
    missing = _MISSING.search(error)
    if missing:
        near = did_you_mean(key, strange)
        return near.replace("Did you mean", "Is it meant by") if near else ""
    if key.endswith((".type", ".converter")) and "could not be found" in error:
        kinds = (PluginKind.TRANSFORMATION, PluginKind.PREDICATE, PluginKind.CONVERTER, PluginKind.HEADER_CONVERTER)
        return did_you_mean(connector.config.get(key) or "", _names(services, *kinds))
    return ""


def _strange_keys(connector: DesiredConnector, validation: Validation) -> Iterator[Problem]:
    """Unknown keys are allowed, as in Kafka Connect; one that looks much like a known one is worth a word."""
    known = {str(entry["definition"]["name"]) for entry in validation.configs if entry["definition"]}
    for key in _unknown_keys(connector.config, validation):
        near = did_you_mean(key, known, _LIKELY)
        if near:
            problem = connector.place.problem(f"'{key}' is not a key of this connector.", near, key)
            yield replace(problem, severity=WARNING)


def _unknown_keys(config: Mapping[str, str | None], validation: Validation) -> list[str]:
    known = {str(entry["definition"]["name"]) for entry in validation.configs if entry["definition"]}
    return [key for key in config if key not in known and not key.startswith(_OPEN_PREFIXES)]


def _names(services: Services, *kinds: PluginKind) -> list[str]:
    return [name for entry in services.plugins.all(*kinds) for name in (entry.name, *sorted(entry.aliases))]

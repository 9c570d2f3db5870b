"""Definitions and validated values in the JSON shapes of the REST API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.api.config import ConfigKey, ConfigValue, Type
from penstock.api.config_values import render_value


@dataclass
class Findings:
    """A part of a validation: entries for the answer, its groups, and how many errors it counts."""

    configs: list[dict[str, Any]] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    error_count: int = 0

    def add(self, other: Findings) -> None:
        self.configs += other.configs
        self.groups += [group for group in other.groups if group not in self.groups]
        self.error_count += other.error_count


def definition_json(key: ConfigKey, prefix: str = "") -> dict[str, Any]:
    """How the API describes a key, its place in the group in the words of Kafka Connect before 4.3 and since."""
    return {
        "name": prefix + key.name,
        "type": key.type.value,
        "required": key.required,
        "default_value": key.default_text,
        "importance": key.importance.value,
        "documentation": key.doc,
        "group": key.group,
        "width": key.width.value,
        "display_name": key.display_name,
        "dependents": [prefix + name for name in key.dependents],
        "order": key.order,
        "order_in_group": key.order,
    }


def value_json(value: ConfigValue, type: Type | None, prefix: str = "") -> dict[str, Any]:
    """How the API shows what was found out about a value."""
    shown = type or Type.STRING
    entry = Type.STRING if shown is Type.LIST else shown
    return {
        "name": prefix + value.name,
        "value": render_value(value.value, shown),
        "recommended_values": [render_value(recommended, entry) for recommended in value.recommended],
        "errors": list(value.errors),
        "visible": value.visible,
    }


def connector_findings(keys: Mapping[str, ConfigKey], values: Mapping[str, ConfigValue]) -> Findings:
    """All keys with their values; values without a key come first, without a definition. Every error counts."""
    configs: list[dict[str, Any]] = [
        {"definition": None, "value": value_json(value, None)} for name, value in values.items() if name not in keys
    ]
    for name, key in keys.items():
        value = values.get(name)
        configs.append(
            {"definition": definition_json(key), "value": None if value is None else value_json(value, key.type)}
        )
    groups = list(dict.fromkeys(key.group for key in keys.values() if key.group is not None))
    return Findings(configs, groups, sum(len(value.errors) for value in values.values()))


def prefixed_findings(keys: Mapping[str, ConfigKey], values: Iterable[ConfigValue], prefix: str) -> Findings:
    """Values of a part (a converter, a client) under its prefix. A value with errors counts once."""
    findings = Findings()
    for value in values:
        key = keys.get(value.name)
        if key is not None and key.group is not None and key.group not in findings.groups:
            findings.groups.append(key.group)
        findings.error_count += bool(value.errors)
        findings.configs.append(
            {
                "definition": None if key is None else definition_json(key, prefix),
                "value": value_json(value, None if key is None else key.type, prefix),
            }
        )
    return findings

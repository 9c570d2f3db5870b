"""Values that came from config providers never leave a validation."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from .secret_looks import HIDDEN
from .validation_json import Findings

_SHORTEST_SECRET = 4


def mask(
    findings: Findings, config: Mapping[str, str | None], props: Mapping[str, str | None], resolved: Set[str]
) -> None:
    """Show references instead of what they stand for, and take the values out of every error text."""
    for entry in findings.configs:
        shown: dict[str, Any] | None = entry["value"]
        if shown is None:
            continue
        name = shown["name"]
        if name in resolved:
            shown["value"] = config[name]
            shown["recommended_values"] = []
            shown["errors"] = [_failed(name) for _ in shown["errors"]]
        else:
            shown["errors"] = [without_secrets(error, props, resolved) for error in shown["errors"]]


def _failed(name: str) -> str:
    return (
        f"Invalid value for configuration '{name}':"
        " the value resolved from the config provider reference failed validation"
    )


def without_secrets(text: str, props: Mapping[str, str | None], resolved: Set[str]) -> str:
    """A text for the user in which no resolved value stands; very short values cannot be told from other text."""
    secrets = {value for key in resolved if (value := props[key]) and len(value) >= _SHORTEST_SECRET}
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text

"""``errors.restart.*`` of a connector: whether and how what failed is started again by itself.

The keys are Penstock's own. Kafka Connect does not know them, so they are part of a validation only where a
configuration has one of them; otherwise the answers are Kafka Connect's, key for key.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.api.config import ConfigDef, ConfigValue, Importance, Type, Width, at_least

from .validation_fixed_keys import framework_key
from .validation_json import Findings, connector_findings

PREFIX = "errors.restart."
_GROUP = "Automatic Restart"
_MEDIUM, _LOW = Importance.MEDIUM, Importance.LOW

RESTART_KEYS = ConfigDef(
    framework_key(
        "errors.restart.enable",
        Type.BOOLEAN,
        _GROUP,
        1,
        Width.SHORT,
        "Restart What Failed",
        _MEDIUM,
        "Whether a failed task, or a failed connector, is started again by itself.",
        default=False,
    ),
    framework_key(
        "errors.restart.attempts",
        Type.INT,
        _GROUP,
        2,
        Width.SHORT,
        "Restart Attempts",
        _MEDIUM,
        "How often it is tried before it is left FAILED; -1: without end.",
        default=10,
        validator=at_least(-1),
    ),
    framework_key(
        "errors.restart.backoff.ms",
        Type.LONG,
        _GROUP,
        3,
        Width.MEDIUM,
        "First Back-off",
        _LOW,
        "How long to wait before the first restart, in milliseconds. Each further one waits twice as long.",
        default=1_000,
        validator=at_least(0),
    ),
    framework_key(
        "errors.restart.backoff.max.ms",
        Type.LONG,
        _GROUP,
        4,
        Width.MEDIUM,
        "Longest Back-off",
        _LOW,
        "The longest wait before a restart, in milliseconds.",
        default=300_000,
        validator=at_least(0),
    ),
    framework_key(
        "errors.restart.window.ms",
        Type.LONG,
        _GROUP,
        5,
        Width.MEDIUM,
        "Healthy After",
        _LOW,
        "Running for so long, in milliseconds, makes good: attempts are counted, and back off, from the beginning.",
        default=600_000,
        validator=at_least(0),
    ),
)


@dataclass(frozen=True)
class RestartPolicy:
    """The keys, parsed. ``attempts`` is ``None`` for any number."""

    enabled: bool
    attempts: int | None
    first_seconds: float
    longest_seconds: float
    window_seconds: float

    def delay(self, made: int) -> float:
        """Seconds to wait after so many attempts."""
        return min(self.first_seconds * 2.0 ** min(made, 60), self.longest_seconds)

    def is_spent(self, made: int) -> bool:
        """Whether there may be no further attempt after so many."""
        return self.attempts is not None and made >= self.attempts


def restart_policy(settings: Mapping[str, Any]) -> RestartPolicy:
    """Raises ``ConfigError`` where a value is not valid."""
    parsed = RESTART_KEYS.parse(settings)
    attempts = parsed["errors.restart.attempts"]
    return RestartPolicy(
        parsed["errors.restart.enable"],
        None if attempts < 0 else attempts,
        parsed["errors.restart.backoff.ms"] / 1000,
        parsed["errors.restart.backoff.max.ms"] / 1000,
        parsed["errors.restart.window.ms"] / 1000,
    )


def restart_findings(props: Mapping[str, Any]) -> Findings:
    """What is to say about the keys; nothing about a configuration that has none of them."""
    given = {key: value for key, value in props.items() if key.startswith(PREFIX)}
    if not given:
        return Findings()
    values = RESTART_KEYS.validate(props)
    first, longest = values["errors.restart.backoff.ms"], values["errors.restart.backoff.max.ms"]
    if not first.errors and not longest.errors and first.value > longest.value:
        longest.errors.append(
            f"errors.restart.backoff.max.ms ({longest.value}) must not be less than errors.restart.backoff.ms"
            f" ({first.value}). Raise it, or lower the first back-off."
        )
    unknown = {key: ConfigValue(key, value, errors=[_unknown(key)]) for key, value in given.items()}
    return connector_findings(
        RESTART_KEYS.by_name, {**{key: found for key, found in unknown.items() if key not in values}, **values}
    )


def _unknown(key: str) -> str:
    near = difflib.get_close_matches(key, list(RESTART_KEYS.by_name), n=1, cutoff=0.6)
    hint = f"Did you mean {near[0]}?" if near else f"Known are {', '.join(RESTART_KEYS.by_name)}."
    return f"{key} is not a setting of automatic restarts. {hint}"

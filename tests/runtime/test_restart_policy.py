"""The keys of automatic restarts."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.api.errors import ConfigError
from penstock.runtime.restart_policy import restart_findings, restart_policy


def errors_of(props: dict[str, str]) -> dict[str, list[str]]:
    found: list[dict[str, Any]] = restart_findings(props).configs
    return {entry["value"]["name"]: entry["value"]["errors"] for entry in found if entry["value"]["errors"]}


def test_nothing_is_said_where_no_key_is_given() -> None:
    found = restart_findings({"name": "orders", "errors.tolerance": "all"})
    assert (found.configs, found.groups, found.error_count) == ([], [], 0)


def test_one_key_brings_all_of_them_into_the_answer() -> None:
    found = restart_findings({"errors.restart.enable": "true"})
    assert [entry["definition"]["name"] for entry in found.configs] == [
        "errors.restart.enable",
        "errors.restart.attempts",
        "errors.restart.backoff.ms",
        "errors.restart.backoff.max.ms",
        "errors.restart.window.ms",
    ]
    assert (found.groups, found.error_count) == (["Automatic Restart"], 0)


def test_wrong_values_are_named() -> None:
    found = errors_of({"errors.restart.enable": "maybe", "errors.restart.attempts": "-2"})
    assert list(found) == ["errors.restart.enable", "errors.restart.attempts"]
    assert "Value must be at least -1" in found["errors.restart.attempts"][0]


def test_a_mistyped_key_is_an_error_that_names_the_right_one() -> None:
    (error,) = errors_of({"errors.restart.enabled": "true"})["errors.restart.enabled"]
    assert error.endswith("Did you mean errors.restart.enable?")


def test_the_longest_back_off_is_not_shorter_than_the_first() -> None:
    found = errors_of({"errors.restart.backoff.ms": "5000", "errors.restart.backoff.max.ms": "10"})
    assert "must not be less than errors.restart.backoff.ms (5000)" in found["errors.restart.backoff.max.ms"][0]
    assert errors_of({"errors.restart.backoff.ms": "5000", "errors.restart.backoff.max.ms": "5000"}) == {}


def test_back_off_doubles_up_to_its_limit_and_attempts_end() -> None:
    policy = restart_policy(
        {
            "errors.restart.enable": "true",
            "errors.restart.attempts": "3",
            "errors.restart.backoff.ms": "100",
            "errors.restart.backoff.max.ms": "350",
        }
    )
    assert [policy.delay(made) for made in range(4)] == [0.1, 0.2, 0.35, 0.35]
    assert [policy.is_spent(made) for made in (2, 3)] == [False, True]
    assert restart_policy({"errors.restart.attempts": "0"}).is_spent(0)
    assert not restart_policy({"errors.restart.attempts": "-1"}).is_spent(10**9)
    assert restart_policy({"errors.restart.attempts": "-1"}).delay(10**9) == 300


def test_they_are_off_by_default() -> None:
    assert not restart_policy({}).enabled
    with pytest.raises(ConfigError):
        restart_policy({"errors.restart.attempts": "many"})

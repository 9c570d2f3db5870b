"""Parsing and checking of configuration keys, by Kafka's rules and with Kafka's texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

import penstock.api
from penstock.api.config import (
    ConfigDef,
    ConfigKey,
    Importance,
    Password,
    Recommender,
    Type,
    Validator,
    all_of,
    at_least,
    between,
    java_pattern,
    list_of,
    list_size,
    non_empty_list,
    non_empty_string,
    non_empty_string_without_control_chars,
    non_null,
    one_of,
    one_of_ignoring_case,
    regex,
    unique_list,
)
from penstock.api.config_values import parse_value, render_value
from penstock.api.errors import ConfigError


@pytest.mark.parametrize(
    ("type", "text", "value"),
    [
        (Type.BOOLEAN, " TRUE ", True),
        (Type.BOOLEAN, "False", False),
        (Type.STRING, " a b\t", "a b"),
        (Type.STRING, "\u00a0a\u00a0", "\u00a0a\u00a0"),
        (Type.INT, " +7", 7),
        (Type.INT, "-2147483648", -(2**31)),
        (Type.SHORT, "32767", 32767),
        (Type.LONG, "9223372036854775807", 2**63 - 1),
        (Type.DOUBLE, "1.5e3", 1500.0),
        (Type.DOUBLE, "2d", 2.0),
        (Type.DOUBLE, "-Infinity", float("-inf")),
        (Type.LIST, "", []),
        (Type.LIST, " a , b,,c ", ["a", "b", "", "c"]),
        (Type.CLASS, " Json ", "Json"),
        (Type.INT, None, None),
        (Type.INT, 5, 5),
    ],
)
def test_text_becomes_a_value(type: Type, text: Any, value: Any) -> None:
    assert parse_value("k", text, type) == value


@pytest.mark.parametrize(
    ("type", "text", "detail"),
    [
        (Type.BOOLEAN, "yes", "Expected value to be either true or false"),
        (Type.INT, "1.5", "Not a number of type INT"),
        (Type.INT, "1_000", "Not a number of type INT"),
        (Type.INT, "2147483648", "Not a number of type INT"),
        (Type.SHORT, "40000", "Not a number of type SHORT"),
        (Type.LONG, "", "Not a number of type LONG"),
        (Type.DOUBLE, "one", "Not a number of type DOUBLE"),
        (Type.LIST, 5, "Expected a comma separated list."),
        (Type.INT, True, "Expected value to be a 32-bit integer, but it was a bool"),
    ],
)
def test_unreadable_text_is_refused_with_key_value_and_reason(type: Type, text: Any, detail: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_value("k", text, type)
    assert str(error.value) == f"Invalid value {text} for configuration k: {detail}"


def test_a_class_name_is_completed_by_the_resolver() -> None:
    assert parse_value("k", "Json", Type.CLASS, {"Json": "full.Json"}.__getitem__) == "full.Json"
    with pytest.raises(ConfigError, match=r"Invalid value No for configuration k: Class No could not be found\."):
        parse_value("k", "No", Type.CLASS, {}.__getitem__)


def test_passwords_show_nowhere() -> None:
    password = parse_value("k", " secret ", Type.PASSWORD)
    assert password == Password("secret")
    assert password.value == "secret"
    assert "secret" not in f"{password} {password!r} {render_value(password, Type.PASSWORD)}"
    assert str(ConfigError.invalid("k", password, "bad")) == "Invalid value [hidden] for configuration k: bad"


@pytest.mark.parametrize(
    ("value", "type", "text"),
    [
        (True, Type.BOOLEAN, "true"),
        (["a", "b"], Type.LIST, "a,b"),
        (None, Type.STRING, None),
        (0.5, Type.DOUBLE, "0.5"),
        (1e10, Type.DOUBLE, "1.0E10"),
        (1.25e-7, Type.DOUBLE, "1.25E-7"),
    ],
)
def test_values_are_rendered_as_java_prints_them(value: Any, type: Type, text: str | None) -> None:
    assert render_value(value, type) == text


INVALID: list[tuple[Validator, Any, str]] = [
    (at_least(1), 0, "Invalid value 0 for configuration k: Value must be at least 1"),
    (at_least(1), None, "Invalid value null for configuration k: Value must be non-null"),
    (between(0, 9), 10, "Invalid value 10 for configuration k: Value must be no more than 9"),
    (one_of("a", "b"), "A", "Invalid value A for configuration k: String must be one of: a, b"),
    (one_of("a"), None, "Invalid value null for configuration k: String must be one of: a"),
    (
        one_of_ignoring_case("x"),
        "y",
        "Invalid value y for configuration k: String must be one of (case insensitive): X",
    ),
    (non_null, None, "Invalid value null for configuration k: entry must be non null"),
    (non_empty_string, "", "Invalid value  for configuration k: String must be non-empty"),
    (non_empty_string_without_control_chars, "", "Invalid value  for configuration k: String may not be empty"),
    (
        non_empty_string_without_control_chars,
        "a\r\n",
        "Invalid value a\r\n for configuration k: String may not contain control sequences"
        " but had the following ASCII chars: 13, 10",
    ),
    (list_of("a"), ["a", "c"], "Invalid value c for configuration k: String must be one of: a"),
    (list_size(1), ["a", "b"], "Invalid value [a, b] for configuration k: exceeds maximum list size of [1]."),
    (non_empty_list, [], "Invalid value [] for configuration k: Empty list"),
    (non_empty_list, None, "Invalid value null for configuration k: Empty list"),
    (unique_list(), ["a", "a"], "Configuration 'k' values must not be duplicated."),
    (unique_list(), ["a", ""], "Configuration 'k' values must not be empty."),
    (unique_list(), None, "Configuration 'k' values must not be null."),
    (
        unique_list(allow_empty=False),
        [],
        "Configuration 'k' must not be empty. Valid values include: any non-empty value",
    ),
    (all_of(non_null, non_empty_string), "", "Invalid value  for configuration k: String must be non-empty"),
]


@pytest.mark.parametrize(("validator", "value", "text"), INVALID)
def test_validators_refuse_with_kafkas_texts(validator: Validator, value: Any, text: str) -> None:
    with pytest.raises(ConfigError) as error:
        validator("k", value)
    assert str(error.value) == text


@pytest.mark.parametrize("value", ["(", None, ["a", "["]])
def test_broken_regular_expressions_are_refused(value: Any) -> None:
    with pytest.raises(ConfigError, match=r"^Invalid value .* for configuration k: Invalid regex: "):
        regex("k", value)


def test_named_groups_may_be_written_as_in_java() -> None:
    regex("k", "(?<year>\\d+)-(?<!x)y")


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("[a-z&&[^o]]+", "abc", "abo"),
        (r"\Qa.b\E.*", "a.bc", "axbc"),
        (r"\p{Alnum}+", "a1", "a-1"),
        ("[a[.]]+", "a.a", "a["),
        (r"\d+", "12", "\u0663"),
        (r"\w+", "a_1", "\xe9"),
    ],
)
def test_patterns_mean_what_they_mean_in_java(pattern: str, matching: str, other: str) -> None:
    """Java 17 matches the one and not the other."""
    compiled = java_pattern(pattern)
    assert compiled.fullmatch(matching)
    assert not compiled.fullmatch(other)


def test_what_only_python_understands_is_refused() -> None:
    with pytest.raises(ConfigError, match="Invalid regex: Unknown inline modifier near index"):
        java_pattern("(?P<x>a)")


def test_parse_takes_defaults_and_ignores_unknown_keys() -> None:
    keys = ConfigDef(ConfigKey("n", Type.INT, "5"), ConfigKey("s"), ConfigKey("o", Type.STRING, None))
    assert keys.parse({"s": " x ", "other": "1"}) == {"n": 5, "s": "x", "o": None}


def test_parse_stops_at_the_first_missing_key() -> None:
    with pytest.raises(ConfigError) as error:
        ConfigDef(ConfigKey("a"), ConfigKey("b")).parse({})
    assert str(error.value) == 'Missing required configuration "a" which has no default value.'


def test_validate_gathers_every_error() -> None:
    keys = ConfigDef(ConfigKey("a"), ConfigKey("n", Type.INT, 1, validator=at_least(1)))
    found = keys.validate({"n": "x"})
    assert found["a"].errors == ['Missing required configuration "a" which has no default value.']
    assert found["n"].errors == [
        "Invalid value x for configuration n: Not a number of type INT",
        "Invalid value null for configuration n: Value must be non-null",
    ]


def test_a_validator_that_breaks_is_an_error_of_its_key() -> None:
    def broken(name: str, value: Any) -> None:
        raise RuntimeError("no idea")

    found = ConfigDef(ConfigKey("a", validator=broken), ConfigKey("b")).validate({"a": "1", "b": "2"})
    assert found["a"].errors == ["Invalid value 1 for configuration a: its check failed with RuntimeError: no idea"]
    assert found["b"].errors == []


def test_recommenders_see_the_other_values() -> None:
    class ByMode(Recommender):
        def valid_values(self, name: str, parsed: Mapping[str, Any]) -> Sequence[Any]:
            return [f"{parsed['mode']}-table"]

        def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
            return bool(parsed["mode"] == "incremental")

    keys = ConfigDef(
        ConfigKey("mode", Type.STRING, "bulk", dependents=("table", "gone")),
        ConfigKey("table", Type.STRING, None, recommender=ByMode()),
    )
    found = keys.validate({})
    assert found["table"].recommended == ["bulk-table"]
    assert not found["table"].visible
    assert keys.validate({"mode": "incremental"})["table"].visible
    assert found["gone"].errors == ["gone is referred in the dependents, but not defined."]


def test_keys_of_a_group_are_numbered_in_order() -> None:
    keys = ConfigDef(
        ConfigKey("a", group="g"), ConfigKey("b"), ConfigKey("c", group="g", order=5), ConfigKey("d", group="g")
    )
    assert [(key.name, key.order) for key in keys.keys] == [("a", 1), ("b", -1), ("c", 5), ("d", 6)]
    assert keys.groups == ["g"]


def test_definitions_can_be_merged() -> None:
    merged = ConfigDef(ConfigKey("a"), ConfigKey("b")) + ConfigDef(ConfigKey("a", Type.INT, 1), ConfigKey("c"))
    assert [key.name for key in merged.keys] == ["a", "b", "c"]
    assert merged.by_name["a"].default == 1


def test_a_key_cannot_be_defined_twice_nor_have_an_invalid_default() -> None:
    with pytest.raises(ConfigError, match="defined twice"):
        ConfigDef(ConfigKey("a"), ConfigKey("a"))
    with pytest.raises(ConfigError, match="Value must be at least 1"):
        ConfigKey("a", Type.INT, 0, Importance.HIGH, validator=at_least(1))


def test_the_public_names_are_there() -> None:
    assert sorted(set(penstock.api.__all__)) == sorted(penstock.api.__all__)
    assert all(hasattr(penstock.api, name) for name in penstock.api.__all__)

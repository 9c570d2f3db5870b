from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.runtime.connector_files import ConnectorFileError, load_connector_file, parse_connector_file
from penstock.runtime.requests import CreateRequest, OffsetEntry, TargetState

CONFIG = {"name": "in", "connector.class": "FileStreamSource", "tasks.max": "1"}


def test_flat_json() -> None:
    assert parse_connector_file(json.dumps(CONFIG), "f") == CreateRequest("in", CONFIG)


def test_numbers_and_booleans_become_the_text_that_was_written() -> None:
    text = '{"name": "in", "a": 1, "b": 1.50, "c": 1e3, "d": true, "e": null, "f": 12345678901234567890}'
    assert parse_connector_file(text, "f").config == {
        "name": "in", "a": "1", "b": "1.50", "c": "1e3", "d": "true", "e": None, "f": "12345678901234567890",
    }  # fmt: skip


def test_a_creation_request() -> None:
    text = json.dumps(
        {
            "name": "in",
            "config": {"connector.class": "FileStreamSource", "tasks.max": 1},
            "initial_state": "stopped",
            "offsets": [{"partition": {"filename": "x"}, "offset": {"position": 7}}],
            "tasks": [],
            "type": "source",
        }
    )
    assert parse_connector_file(text, "f") == CreateRequest(
        "in", CONFIG, TargetState.STOPPED, [OffsetEntry({"filename": "x"}, {"position": 7})]
    )


@pytest.mark.parametrize(
    ("state", "target"),
    [("RUNNING", TargetState.STARTED), ("Paused", TargetState.PAUSED), ("STOPPED", TargetState.STOPPED), (None, None)],
)
def test_initial_states(state: str | None, target: TargetState | None) -> None:
    request = parse_connector_file(json.dumps({"name": "in", "config": CONFIG, "initial_state": state}), "f")
    assert request.initial_state is target


def test_properties() -> None:
    text = "# comment\nname=in\nconnector.class = FileStreamSource\ntasks.max:1\n"
    assert parse_connector_file(text, "f") == CreateRequest("in", CONFIG)


def test_content_counts_not_the_name_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.properties").write_text(json.dumps(CONFIG))
    (tmp_path / "b.json").write_text("name=in\nconnector.class=FileStreamSource\ntasks.max=1\n")
    assert load_connector_file(tmp_path / "a.properties") == load_connector_file(tmp_path / "b.json")


def test_a_flat_config_may_have_a_key_called_config() -> None:
    assert parse_connector_file('{"name": "in", "config": "x"}', "f").config == {"name": "in", "config": "x"}


NAMELESS = "Connector configuration at 'f' is missing the mandatory 'name' configuration"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"connector.class": "X"}', NAMELESS),
        ("{}", NAMELESS),
        ("connector.class=X", NAMELESS),
        ("", NAMELESS),
        ('{"config": {"connector.class": "X"}}', NAMELESS),
        ('{"name": "in", "a": }', NAMELESS + " (it starts like JSON, but is not: Expecting value: line 1 column 21"),
        ("[1]", "Connector configuration at 'f' is a list; an object is needed."),
        ('{"name": "in", "nested": {"a": 1}}', "'nested' is an object."),
        ('{"name": "in", "config": {"a": [1]}}', "'a' is a list."),
        (
            '{"name": "a", "config": {"name": "b"}}',
            "Connector name configuration in 'config' doesn't match the one specified in 'name' at 'f'",
        ),
        (
            '{"name": "a", "config": {}, "initial_state": "GONE"}',
            "'initial_state' at 'f' is \"GONE\"; it must be one of",
        ),
        ('{"name": "a", "config": {}, "initial_offsets": {}}', "'initial_offsets' at 'f' must be a list of objects"),
        ('{"name": "a", "config": {}, "initial_offsets": [], "offsets": []}', "two names for the same: give one of"),
        ('{"name": "a", "config": {}, "offsets": {}}', "'offsets' at 'f' must be a list of objects"),
        ('{"name": "a", "config": {}, "offsets": [{"partition": 1}]}', "'offsets' at 'f' must be a list of objects"),
        ("name=a\nb=\\u12", "Connector configuration at 'f': line 2: malformed"),
    ],
)
def test_what_cannot_be_used_says_why(text: str, message: str) -> None:
    with pytest.raises(ConnectorFileError) as caught:
        parse_connector_file(text, "f")
    assert message in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConnectorFileError, match=r"Cannot read the connector file '.*gone\.json': No such file"):
        load_connector_file(tmp_path / "gone.json")

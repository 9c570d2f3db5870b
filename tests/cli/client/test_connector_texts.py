"""Files of connectors and offsets are read as they were written."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli.client.config_writing import edited_config
from penstock.cli.client.connector_texts import BadFile, read_connectors
from penstock.cli.client.offset_moves import file_entries
from penstock.cli.client.problems import Wrong

WRITTEN = {
    "at": "12:30",
    "short": "no",
    "octal": "010",
    "size": "1_000",
    "price": "1.50",
    "big": "1e10",
    "day": "2026-01-31",
    "quoted": "true",
    "nothing": None,
}
PLAIN = """at: 12:30
short: no
octal: 010
size: 1_000
price: 1.50
big: 1e10
day: 2026-01-31
quoted: "true"
nothing:
"""


def test_yaml_keeps_what_was_written(tmp_path: Path) -> None:
    (tmp_path / "flat.yaml").write_text(f"name: made\n{PLAIN}")
    indented = "".join(f"  {line}\n" for line in PLAIN.splitlines())
    offsets = "offsets:\n- partition: {id: 1, name: x}\n  offset: {at: 2, done: true}\n"
    (tmp_path / "request.yaml").write_text(f"name: made\nconfig:\n{indented}initial_state: STOPPED\n{offsets}")
    flat, request = read_connectors([tmp_path / "flat.yaml", tmp_path / "request.yaml"], None)
    assert flat.config == request.config == {**WRITTEN, "name": "made"}
    assert request.initial_state == "STOPPED"
    assert request.offsets == [{"partition": {"id": 1, "name": "x"}, "offset": {"at": 2, "done": True}}]


@pytest.mark.parametrize("text", ['{\n\t"name": "made",\n\t"config": {"at": 1.50, "big": 1e10, "on": true}\n}'])
def test_json_is_read_as_json_even_under_another_name(tmp_path: Path, text: str) -> None:
    file = tmp_path / "made.json"
    file.write_text(text)
    for name in (None, "other"):
        (found,) = read_connectors([file], name)
        assert found.config == {"at": "1.50", "big": "1e10", "on": "true", "name": name or "made"}


@pytest.mark.parametrize(
    ("text", "told"),
    [("a: 1\na: 2\n", "'a' stands here twice"), ("a: 1\n---\nb: 2\n", "there are 2 documents")],
)
def test_what_is_not_one_clear_document_is_refused(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(f"name: x\n{text}")
    with pytest.raises(BadFile, match=told):
        read_connectors([file], None)
    file.write_text(text)
    with pytest.raises(Wrong, match=told):
        file_entries(file)


def test_offsets_in_json_keep_the_types_of_json(tmp_path: Path) -> None:
    file = tmp_path / "offsets.json"
    file.write_text('[{"partition": {\n\t"a": "no"}, "offset": {"b": 1e10, "c": "12:30", "d": false}}]')
    assert file_entries(file) == [{"partition": {"a": "no"}, "offset": {"b": 1e10, "c": "12:30", "d": False}}]
    file.write_text("- partition: {a: no}\n  offset: {b: 1e10, c: 12:30, d: false, e: 7}\n")
    assert file_entries(file) == [{"partition": {"a": "no"}, "offset": {"b": 1e10, "c": "12:30", "d": False, "e": 7}}]


@pytest.mark.integration
def test_an_edited_configuration_keeps_what_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "new.yaml").write_text(PLAIN)
    monkeypatch.setenv("VISUAL", f"cp {tmp_path / 'new.yaml'}")
    assert edited_config("made", {"at": "1"}) == WRITTEN


@pytest.mark.integration
def test_an_edited_configuration_that_stays_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "true")
    before = {**WRITTEN, "text": "two\nlines\t: # 'ü' ☃", "empty": "", "null text": "null", "braces": "{a: b}"}
    assert edited_config("made", before) == before

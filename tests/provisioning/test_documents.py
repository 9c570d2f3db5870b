"""The text of pipeline files: values as they were written, and where they stand."""

from __future__ import annotations

import json

import pytest

from penstock.runtime.provisioning.documents import parse_documents

YAML = """\
# a comment
pipelines:
  - id: orders
    connectors:
      - name: in
        config:
          rate: 1.50
          flag: no
          when: 2020-01-01
          nothing:
          quoted: "null"
        offsets:
          - partition: {file: a, number: 3}
            offset: {position: 1.5, done: true, text: "7"}
---
pipelines: []
"""


def test_plain_values_stay_as_written_but_offsets_are_native() -> None:
    (first, second), problems = parse_documents(YAML, "p.yaml")
    assert problems == []
    connector = first.value["pipelines"][0]["connectors"][0]
    assert connector["config"] == {
        "rate": "1.50",
        "flag": "no",
        "when": "2020-01-01",
        "nothing": None,
        "quoted": "null",
    }
    assert connector["offsets"] == [
        {"partition": {"file": "a", "number": 3}, "offset": {"position": 1.5, "done": True, "text": "7"}}
    ]
    assert (second.number, second.value) == (1, {"pipelines": []})


def test_every_value_has_a_line_and_a_column() -> None:
    (first, second), _ = parse_documents(YAML, "p.yaml")
    assert first.places["pipelines"] == (2, 1)
    assert first.places["pipelines[0].id"] == (3, 5)
    assert first.places["pipelines[0].connectors[0].config.rate"] == (7, 11)
    assert first.places["pipelines[0].connectors[0].offsets[0].offset.done"] == (14, 37)
    assert second.places["pipelines"] == (16, 1)


@pytest.mark.parametrize("indent", ["  ", "\t", None])
def test_json_is_read_whatever_its_white_space(indent: str | None) -> None:
    value = {"pipelines": [{"id": "a", "description": "tab:\t, rocket: \U0001f680", "connectors": []}]}
    (document,), problems = parse_documents(json.dumps(value, indent=indent), "p.json")
    assert problems == []
    assert document.value == value


def test_anchors_and_merges_work() -> None:
    text = "x-base: &base {a: 1, b: 2}\npipelines:\n- {<<: *base, b: 3}\n- *base\n- *base\n"
    (document,), problems = parse_documents(text, "p.yaml")
    assert problems == []
    assert document.value["pipelines"] == [{"a": "1", "b": "3"}, {"a": "1", "b": "2"}, {"a": "1", "b": "2"}]


def test_a_key_given_twice_is_named_with_both_lines() -> None:
    documents, (problem,) = parse_documents("pipelines:\n- id: a\n  id: b\n", "p.yaml")
    assert str(problem) == (
        "p.yaml:3:3: pipelines[0].id: 'id' stands here twice, first in line 2. Remove one of the two."
    )
    assert len(documents) == 1


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [("pipelines: [", 1, 13), ("a: b: c", 1, 5), ('{"a": 1,,}', 1, 9)],
)
def test_a_mistake_in_the_syntax_has_its_place(text: str, line: int, column: int) -> None:
    documents, (problem,) = parse_documents(text, "p.yaml")
    assert documents == []
    assert problem.message.startswith("This is neither YAML nor JSON")
    assert (problem.line, problem.column) == (line, column)


@pytest.mark.parametrize("text", ["", "\n# nothing\n", "---\n---\n"])
def test_an_empty_file_is_a_mistake_since_it_would_delete_everything(text: str) -> None:
    documents, (problem,) = parse_documents(text, "p.yaml")
    assert documents == []
    assert "declares nothing" in problem.message
    assert "pipelines: []" in problem.suggestion


def test_a_text_that_grows_without_end_is_refused() -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
    for name, before in zip("bcdefg", "abcdef", strict=True):
        bomb += f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n"
    documents, (problem,) = parse_documents(bomb, "p.yaml")
    assert documents == []
    assert "more than 500000 values" in problem.message

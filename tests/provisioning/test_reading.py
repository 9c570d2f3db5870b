"""What pipeline files want, and everything that is wrong with them at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.runtime.pipeline_files import load_pipeline_files
from penstock.runtime.provisioning.desired import API, WORKER, Desired, Scope
from penstock.runtime.provisioning.documents import parse_documents
from penstock.runtime.provisioning.reading import read_documents
from penstock.runtime.requests import OffsetEntry, TargetState


def read(text: str) -> Desired:
    documents, problems = parse_documents(text, "p.yaml")
    return read_documents(documents, Scope(), problems, ["p.yaml"] if problems else [])


GOOD = """\
version: 1
x-notes: for people
pipelines:
  - id: orders
    description: From the shop to the lake
    status: paused
    topics:
      - {name: orders, partitions: 3, retention: 7d, settings: {cleanup.policy: delete}}
      - {name: kept, retention: forever}
    connectors:
      - name: in
        class: FileStreamSource
        config: {file: orders.txt, topic: orders, tasks.max: 1, password: "${env:SECRET}"}
        transforms:
          - name: mask
            class: MaskField$Value
            config: {fields: customer}
          - name: only-big
            class: Filter
            predicate: {class: RecordIsTombstone, negate: true}
        offsets:
          - partition: {filename: orders.txt}
            offset: {position: 10}
      - name: out
        status: stopped
        config: {connector.class: FileStreamSink, topics: orders}
"""


def test_a_file_is_expanded_to_configurations() -> None:
    desired = read(GOOD)
    assert desired.problems == []
    (pipeline,) = desired.pipelines
    source, sink = pipeline.connectors
    assert source.config == {
        "name": "in",
        "connector.class": "FileStreamSource",
        "file": "orders.txt",
        "topic": "orders",
        "tasks.max": "1",
        "password": "${env:SECRET}",
        "transforms": "mask,only-big",
        "transforms.mask.type": "MaskField$Value",
        "transforms.mask.fields": "customer",
        "transforms.only-big.type": "Filter",
        "transforms.only-big.predicate": "only-big-predicate",
        "transforms.only-big.negate": "true",
        "predicates": "only-big-predicate",
        "predicates.only-big-predicate.type": "RecordIsTombstone",
    }
    assert source.state is TargetState.PAUSED
    assert source.offsets == [OffsetEntry({"filename": "orders.txt"}, {"position": 10})]
    assert source.description == "From the shop to the lake"
    assert sink.config == {"name": "out", "connector.class": "FileStreamSink", "topics": "orders"}
    assert sink.state is TargetState.STOPPED
    orders, kept = pipeline.topics
    assert (orders.partitions, orders.settings) == (3, {"cleanup.policy": "delete", "retention.ms": "604800000"})
    assert (kept.partitions, kept.settings) == (None, {"retention.ms": "-1"})


def test_without_a_status_the_state_is_left_to_the_api() -> None:
    (connector,) = read("pipelines: [{id: a, connectors: [{name: x, class: Y}]}]").connectors
    assert connector.state is None


BAD = """\
pipelines:
  - id: orders
    stauts: running
    status: runing
    topics:
      - {name: "no spaces", partitions: 0}
      - {name: t, retention: a week}
    connectors:
      - name: in
        clas: FileStreamSource
        config:
          topic:
          list: [1, 2]
      - class: FileStreamSink
      - name: in
        class: FileStreamSink
        config: {connector.class: Other, name: another}
        transforms: [{name: m, class: A}, {name: m, class: B}]
        offsets: [{partition: {a: 1}}]
  - id: "not possible!"
  - orders
"""

EXPECTED = [
    "p.yaml:3:5: pipelines[0].stauts: 'stauts' is not a key of a pipeline. Did you mean 'status'?",
    "p.yaml:4:5: pipelines[0].status: 'runing' is not possible here. Did you mean 'running'?",
    "p.yaml:10:9: pipelines[0].connectors[0].clas: 'clas' is not a key of a connector. Did you mean 'class'?",
    "p.yaml:12:11: pipelines[0].connectors[0].config.topic: The value of 'topic' is nothing."
    " Leave the key out for its default.",
    "p.yaml:13:11: pipelines[0].connectors[0].config.list: The value of 'list' is a list."
    " Write a text, a number or a boolean.",
    "p.yaml:14:9: pipelines[0].connectors[1]: The key 'name' is missing: every connector has one.",
    "p.yaml:19:19: pipelines[0].connectors[2].offsets[0]: The key 'offset' is missing: every offset has one.",
    "p.yaml:6:29: pipelines[0].topics[0].partitions: '0' is not possible here. It must be an integer from 1 on.",
    "p.yaml:20:5: pipelines[1].id: 'not possible!' is not possible here."
    " Use letters, digits, '-', '_', ':' and '.', at most 128, a letter or digit first.",
    "p.yaml:21:5: pipelines[2]: Here is the plain value 'orders' where keys and values are needed."
    " A pipeline has the keys id, description, status, connectors, topics.",
    "p.yaml:9:9: pipelines[0].connectors[0]: The key 'class' is missing: every connector has one."
    " GET /connector-plugins lists them.",
    "p.yaml:17:42: pipelines[0].connectors[2].config.name: The name is 'in' above, but 'another' here."
    " Leave it out here.",
    "p.yaml:17:18: pipelines[0].connectors[2].config.connector.class: The class is 'FileStreamSink' above,"
    " but 'Other' here. Write one of them.",
    "p.yaml:18:44: pipelines[0].connectors[2].transforms[1].name: The transform 'm' is already declared in"
    " pipelines[0].connectors[2].transforms[0]. Give it another name.",
    "p.yaml:6:9: pipelines[0].topics[0]: Topic name is invalid: 'no spaces' contains one or more characters other than"
    " ASCII alphanumerics, '.', '_' and '-'.",
    "p.yaml:7:19: pipelines[0].topics[1].retention: 'a week' is no length of time."
    " Write a number and ms, s, m, h, d or w, such as 7d, or 'forever'.",
    "p.yaml:9:9: pipelines[0].connectors[0].name: 2 connectors are called 'in', in orders. Give each its own name.",
    "p.yaml:15:9: pipelines[0].connectors[2].name: 2 connectors are called 'in', in orders. Give each its own name.",
]


def test_all_errors_are_told_at_once_with_line_column_path_and_a_way_out() -> None:
    assert [str(problem) for problem in read(BAD).problems] == EXPECTED


def test_every_problem_knows_the_pipeline_it_spoils() -> None:
    desired = read(BAD)
    assert {problem.pipeline for problem in desired.problems} == {"orders", "not possible!", None}
    assert desired.unread == {"p.yaml"}


def test_pipelines_of_one_id_are_all_wrong() -> None:
    problems = read("pipelines: [{id: a}]\n---\npipelines: [{id: b}, {id: a}]").problems
    assert [(problem.line, problem.path, problem.pipeline) for problem in problems] == [
        (1, "pipelines[0].id", "a"),
        (3, "pipelines[1].id", "a"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a", "Here is a list where keys and values are needed."),
        ("piplines: []", "'piplines' is not a key of a pipeline file."),
        ("pipelines: {}", "Here is a set of keys where a list is needed."),
        ("version: 2\npipelines: []", "'2' is not possible here."),
        ("pipelines: [{id: a, topics: [{name: t, partitions: x}]}]", "'x' is not possible here."),
        ("pipelines: [{id: a, topics: [{name: t, settings: {retention.ms: x}}]}]", "Invalid value x for setting"),
        (
            "pipelines: [{id: a, connectors: [{name: c, class: X, config: {transforms: a}, transforms: "
            "[{name: b, class: Y}]}]}]",
            "'transforms' and the list 'transforms' say the same.",
        ),
        (
            "pipelines: [{id: a, topics: [{name: t}]}, {id: b, topics: [{name: t, partitions: 2}]}]",
            "The topic 't' is declared differently in pipeline 'a'.",
        ),
    ],
)
def test_what_is_wrong_is_said(text: str, message: str) -> None:
    assert any(problem.message.startswith(message) for problem in read(text).problems), read(text).problems


def test_folders_are_read_in_the_order_of_names_without_hidden_files(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / ".hidden").mkdir()
    for file, name in (
        ("b.yml", "second"),
        ("a.json", "first"),
        ("c.txt", "no"),
        ("sub/d.yaml", "third"),
        (".x.yaml", "no"),
        (".hidden/e.yaml", "no"),
    ):
        (tmp_path / file).write_text(f'{{"pipelines": [{{"id": "{name}"}}]}}')
    loaded = load_pipeline_files([tmp_path])
    assert [pipeline.id for pipeline in loaded.desired().pipelines] == ["first", "second", "third"]
    assert loaded.roots == [str(tmp_path)]
    assert loaded.whole
    named = load_pipeline_files([tmp_path], "team/repo")
    assert [document.file for document in named.documents][-1] == "team/repo/sub/d.yaml"
    assert named.roots == ["team/repo"]


def test_a_path_that_is_not_there_answers_for_nothing(tmp_path: Path) -> None:
    loaded = load_pipeline_files([tmp_path / "gone"])
    (problem,) = loaded.problems
    assert "No such file or directory" in problem.message
    assert not loaded.desired().scope.holds(str(tmp_path / "gone" / "a.yaml"), "worker")


def test_an_empty_folder_of_a_worker_deletes_nothing_until_a_file_says_so(tmp_path: Path) -> None:
    full, empty = tmp_path / "full", tmp_path / "empty"
    full.mkdir()
    empty.mkdir()
    (full / "a.json").write_text('{"pipelines": [{"id": "a"}]}')

    def holds(origin: str) -> tuple[bool, list[str]]:
        desired = load_pipeline_files([full, empty]).desired(origin)
        assert not any(problem.is_error for problem in desired.problems)
        return desired.scope.holds(str(empty / "b.json"), origin), [problem.file for problem in desired.problems]

    assert holds(WORKER) == (False, [str(empty)])
    assert holds(API) == (True, [])
    (empty / "nothing.yaml").write_text("pipelines: []\n")
    assert holds(WORKER) == (True, [])

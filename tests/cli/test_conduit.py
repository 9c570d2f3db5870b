"""Pipeline files of Conduit become pipeline files of ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli.conduit import NotConduit, convert_conduit
from penstock.runtime.provisioning.desired import Scope
from penstock.runtime.provisioning.documents import parse_documents
from penstock.runtime.provisioning.reading import read_documents
from tests.cli.test_commands import penstock_command

CONDUIT = """\
version: 2.2
pipelines:
  - id: shop
    status: running
    description: >
      From the shop to the lake
    connectors:
      - id: in
        type: source
        plugin: builtin:file@v0.7.0
        settings: {path: "${DATA}/orders.jsonl"}
        processors:
          - {id: slim, plugin: field.exclude, settings: {fields: ".Payload.After.card, .Payload.After.cvv"}}
      - id: out
        type: destination
        plugin: builtin:file
        settings: {path: ./lake.jsonl, sdk.record.format: opencdc/json}
      - id: db
        type: destination
        plugin: standalone:mysql
        settings: {dsn: "$DSN"}
    processors:
      - {id: tag, plugin: builtin:field.set, settings: {field: .Payload.After.shop, value: berlin}}
      - {id: code, plugin: custom.javascript, settings: {script: "..."}}
    dead-letter-queue:
      plugin: builtin:log
---
version: 2.2
pipelines:
  - id: made-up
    status: stopped
    connectors:
      - {id: gen, type: source, plugin: builtin:generator, settings: {rate: "5", recordCount: 10, format.type: raw}}
      - {id: log, type: destination, plugin: builtin:log}
"""


def test_connectors_settings_and_processors_are_translated() -> None:
    converted = convert_conduit(CONDUIT)
    documents, problems = parse_documents(converted.text(), "p.yaml")
    desired = read_documents(documents, Scope(), problems)
    assert desired.problems == []
    configs = {connector.name: dict(connector.config) for connector in desired.connectors}
    assert configs["shop-in"] == {
        "name": "shop-in",
        "connector.class": "FileStreamSource",
        "file": "${env:DATA}/orders.jsonl",
        "topic": "shop",
        "transforms": "slim,tag",
        "transforms.slim.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
        "transforms.slim.exclude": "card,cvv",
        "transforms.tag.type": "org.apache.kafka.connect.transforms.InsertField$Value",
        "transforms.tag.static.field": "shop",
        "transforms.tag.static.value": "berlin",
    }
    assert configs["shop-out"] == {
        "name": "shop-out",
        "connector.class": "FileStreamSink",
        "file": "./lake.jsonl",
        "topics": "shop",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": "shop-dead-letters",
    }
    assert configs["made-up-gen"] == {
        "name": "made-up-gen",
        "connector.class": "Generator",
        "rate": "5",
        "count": "10",
        "topic": "made-up",
    }
    assert [pipeline["status"] for pipeline in converted.document["pipelines"]] == ["running", "stopped"]
    assert configs["shop-db"]["dsn"] == "${env:DSN}"


def test_what_has_no_counterpart_is_told() -> None:
    notes = convert_conduit(CONDUIT).notes
    assert "shop, pipeline: the processor 'code' (custom.javascript) must be written as a transform" in notes
    assert "shop, shop-db: there is no plugin 'mysql' here: choose a class, and look at its keys" in notes
    assert any("sdk.record.format" in note for note in notes)
    assert any("format.type" in note for note in notes)


@pytest.mark.parametrize("text", ["pipelines: {a: {}}", "- a", "a: ["])
def test_what_is_no_file_of_conduit_is_refused(text: str) -> None:
    with pytest.raises(NotConduit):
        convert_conduit(text)


@pytest.mark.integration
def test_the_command_prints_the_file_and_its_notes(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(CONDUIT)
    done = penstock_command("convert", "conduit", str(tmp_path / "c.yaml"))
    assert done.returncode == 0
    assert done.stdout.startswith("pipelines:\n- id: shop\n")
    assert "must be written as a transform" in done.stderr
    gone = penstock_command("convert", "conduit", str(tmp_path / "gone.yaml"))
    assert gone.returncode == 3

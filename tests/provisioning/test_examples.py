"""The example pipelines, and those of the guides, are valid: for the schema, for the reader, for a worker."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from penstock.runtime.pipeline_files import load_pipeline_files
from penstock.runtime.provisioning.documents import parse_documents
from penstock.runtime.provisioning.shapes import pipeline_schema
from tests.provisioning.declared import Files

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted([*(ROOT / "examples" / "pipelines").iterdir(), ROOT / "examples" / "orders.yaml"])
GUIDES = [ROOT / "docs" / "guides" / name for name in ("pipeline-files.md", "from-conduit.md")]


def _snippets() -> list[tuple[str, str]]:
    """Whole pipeline files in the guides."""
    found = []
    for guide in GUIDES:
        for number, text in enumerate(re.findall(r"```yaml\n(.*?)```", guide.read_text(), re.DOTALL)):
            if text.startswith("pipelines:"):
                found.append((f"{guide.name}-{number}", text))
    return found


TEXTS = [*((file.name, file.read_text()) for file in EXAMPLES), *_snippets()]


@pytest.mark.parametrize("text", [text for _, text in TEXTS], ids=[name for name, _ in TEXTS])
def test_a_file_fits_the_published_schema(text: str) -> None:
    validator = jsonschema_rs.validator_for(pipeline_schema())
    validator.validate(yaml.safe_load(text))


def test_the_schema_finds_what_the_reader_finds() -> None:
    validator = jsonschema_rs.validator_for(pipeline_schema())
    for wrong in (
        {"pipelines": [{"id": "a b"}]},
        {"pipelines": [{"id": "a", "status": "runing"}]},
        {"pipelines": [{"id": "a", "conectors": []}]},
        {"pipelines": [{"id": "a", "connectors": [{"class": "X"}]}]},
        {"pipelines": [{"id": "a", "topics": [{"name": "t", "partitions": 0}]}]},
        {"pipeline": []},
    ):
        assert not validator.is_valid(wrong), wrong


@pytest.mark.integration
@pytest.mark.parametrize("text", [text for _, text in TEXTS], ids=[name for name, _ in TEXTS])
def test_a_worker_takes_it(text: str, files: Files) -> None:
    (document,), problems = parse_documents(text, "p.yaml")
    assert problems == []
    body: dict[str, Any] = {"files": [{"file": "p.yaml", "document": document.value}]}
    plan = files.worker.http.post("/pipelines/plan", json=body).json()
    assert plan["problems"] == []
    assert plan["changes"]


def test_the_examples_can_run_together() -> None:
    assert load_pipeline_files([ROOT / "examples" / "pipelines"]).desired().problems == []

"""The OpenAPI document: complete, pinned, and true."""

from __future__ import annotations

import json
import os
from pathlib import Path

import httpx2
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator, validate

import penstock
from penstock.rest.openapi import openapi_document
from penstock.rest.table import ROUTES

GOLDEN = Path(__file__).parent.parent / "golden" / "openapi.json"


def test_the_document_is_the_one_agreed_on() -> None:
    """To accept a change of the API on purpose: UPDATE_GOLDEN=1 pytest tests/rest/test_openapi.py."""
    text = json.dumps(openapi_document(ROUTES, "0"), indent=2, ensure_ascii=False) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


def test_the_document_is_served_with_the_version_of_the_worker(api: httpx2.Client) -> None:
    served = api.get("/openapi.json").json()
    assert served["info"]["version"] == penstock.__version__
    assert served["paths"] == json.loads(GOLDEN.read_text())["paths"]


@pytest.mark.parametrize("with_users", [False, True])
def test_the_document_is_valid_openapi(with_users: bool) -> None:
    validate(json.loads(json.dumps(openapi_document(ROUTES, "0", with_users))), cls=OpenAPIV31SpecValidator)


def test_every_reference_leads_somewhere_and_every_operation_has_its_own_name() -> None:
    document = openapi_document(ROUTES, "0")
    text = json.dumps(document)
    for part in text.split('"$ref": "')[1:]:
        target = part.split('"')[0].removeprefix("#/components/schemas/")
        assert target in document["components"]["schemas"]
    names = [operation["operationId"] for path in document["paths"].values() for operation in path.values()]
    assert len(names) == len(set(names)) == len(ROUTES) + 1


def test_the_paths_answer_as_the_document_says(api: httpx2.Client) -> None:
    """Every documented operation is reachable and answers with a documented code."""
    document = api.get("/openapi.json").json()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            target = path.replace("{task}", "0").replace("{connector}", "none").replace("{plugin}", "p")
            answer = api.request(method.upper(), target.replace("{logger}", "root"), json={})
            assert str(answer.status_code) in operation["responses"], (method, path, answer.text)

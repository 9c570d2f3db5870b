"""Requests that schemathesis makes up from our OpenAPI document, and what every answer must be."""

from __future__ import annotations

from typing import Any

from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


def of_users(schema: Any) -> Any:
    """Without what workers of a cluster ask each other: a standalone worker answers 500 to it, as Kafka Connect."""
    return schema.exclude(path="/connectors/{connector}/tasks", method="POST").exclude(
        path="/connectors/{connector}/fence", method="PUT"
    )

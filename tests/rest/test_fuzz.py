"""Requests made up from the OpenAPI document: nothing may break, and every answer must be as documented."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings

from penstock.rest.openapi import openapi_document
from penstock.rest.server import RestServer
from penstock.rest.table import ROUTES
from tests.rest.troubled_herder import TroubledHerder
from tests.support.made_up_requests import CHECKS, of_users

schema = of_users(schemathesis.pytest.from_fixture("documented"))


@pytest.fixture(scope="module")
def documented() -> Any:
    """Made when the test runs: its requests are made up with it, which takes longer than to collect all other tests."""
    return schemathesis.openapi.from_dict(openapi_document(ROUTES, "0"))


@pytest.mark.integration
@schema.parametrize()
@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_made_up_requests_break_nothing(running: tuple[RestServer, TroubledHerder], case: Any) -> None:
    case.call_and_validate(base_url=running[0].url, checks=CHECKS)

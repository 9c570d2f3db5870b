"""Without psycopg, connectors say how to get it."""

from __future__ import annotations

import sys

import pytest

from penstock.api import PluginError
from penstock.connectors.postgres import PostgresCdc, PostgresSink

CONFIG = {"name": "x", "database.dbname": "d", "topic.prefix": "p", "topics": "t"}


@pytest.mark.parametrize("connector", [PostgresCdc, PostgresSink])
def test_a_missing_driver_is_an_error_with_the_command(
    connector: type[PostgresCdc] | type[PostgresSink], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(PluginError, match=r"pip install 'penstock\[postgres\]'"):
        connector().validate(CONFIG)

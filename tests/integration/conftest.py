"""What tests of connectors with a real server beside them share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.connectors.postgres.capturing import Capture


@pytest.fixture
def captures() -> Iterator[list[Capture]]:
    """Captures of changes that a test has begun, closed at its end."""
    made: list[Capture] = []
    yield made
    for one in made:
        one.close()

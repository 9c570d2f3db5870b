"""Headers as text: what the recorded cases cannot show."""

from __future__ import annotations

import pytest

from penstock.converters.simple_header import SimpleHeaderConverter


@pytest.mark.parametrize("text", ["{true:1,1:2}", "{1.5:1,1:2,true:3}", "{false:1,0:2}"])
def test_keys_that_only_java_tells_apart_stay_apart(text: str) -> None:
    converter = SimpleHeaderConverter()
    schema, value = converter.to_header("t", "h", text.encode())
    assert converter.from_header("t", "h", schema, value) == text.encode()

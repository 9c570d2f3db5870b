"""Version requirements: one version, or ranges in Maven's notation."""

from __future__ import annotations

import pytest

from penstock.runtime.plugins_versions import InvalidVersionSpec, VersionRange


@pytest.mark.parametrize(
    ("spec", "inside", "outside"),
    [
        ("1.2", ["1.2", "1.2.0"], ["1.2.1", "1.1"]),
        ("[1.0,2.0)", ["1.0", "1.9.9", "1.10"], ["2.0", "0.9", "2.0.1"]),
        ("(1.0,2.0]", ["2.0", "1.0.1"], ["1.0"]),
        ("[1.5,)", ["1.5", "99"], ["1.4.9", "1.5-SNAPSHOT"]),
        ("(,1.0],[1.2,)", ["0.1", "1.0", "1.2", "3"], ["1.1"]),
        (" [4.1.1] ", ["4.1.1"], ["4.1.0"]),
    ],
)
def test_ranges(spec: str, inside: list[str], outside: list[str]) -> None:
    wanted = VersionRange.parse(spec)
    assert wanted is not None
    assert [version for version in inside + outside if wanted.contains(version)] == inside


@pytest.mark.parametrize("spec", [None, "latest", "LATEST"])
def test_no_requirement(spec: str | None) -> None:
    assert VersionRange.parse(spec) is None


@pytest.mark.parametrize("spec", ["", "[", "[1.0", "(1.0)", "[2.0,1.0]", "[1,2,3]", "[1.0]x"])
def test_what_is_no_range(spec: str) -> None:
    with pytest.raises(InvalidVersionSpec):
        VersionRange.parse(spec)

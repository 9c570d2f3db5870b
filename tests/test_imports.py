"""Imports go one way: cli, ui, rest → runtime → spark, storage, topics → api; plugins see only api."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "penstock"

MAY_IMPORT = {
    "api": set(),
    "connectors": {"api"},
    "transforms": {"api"},
    "converters": {"api"},
    "storage": {"api"},
    "topics": {"api", "storage"},
    "spark": {"api", "topics"},
    "testing": {"api", "converters", "spark", "transforms"},
    "runtime": {"api", "spark", "storage", "topics"},
    "rest": {"api", "runtime"},
    "ui": {"api", "runtime", "rest"},
    "cli": {"api", "runtime", "spark", "storage", "topics", "rest", "ui"},
}


def test_every_room_is_known() -> None:
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    assert rooms <= MAY_IMPORT.keys()


@pytest.mark.parametrize("room", sorted(MAY_IMPORT))
def test_a_room_imports_only_what_lies_below_it(room: str) -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)}:{line} imports penstock.{target}"
        for path in sorted((PACKAGE / room).rglob("*.py"))
        for line, target in _rooms_imported(path)
        if target != room and target not in MAY_IMPORT[room]
    ]
    assert wrong == []


def test_a_wrong_import_would_be_seen(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text(
        "import penstock.rest.app\nfrom penstock import storage\n\ndef f():\n    from penstock.cli import x\n"
    )
    assert [room for _, room in _rooms_imported(file)] == ["rest", "storage", "cli"]


def _rooms_imported(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        for name in _modules(node, path):
            parts = name.split(".")
            if parts[0] == "penstock" and len(parts) > 1 and parts[1] in MAY_IMPORT:
                yield node.lineno, parts[1]  # type: ignore[attr-defined]


def _modules(node: ast.AST, path: Path) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    base = node.module or ""
    if node.level:
        package = ("penstock", *path.relative_to(PACKAGE).parts[:-1])
        base = ".".join(filter(None, (*package[: len(package) - node.level + 1], base)))
    return [base] if base.count(".") else [f"{base}.{alias.name}" for alias in node.names]

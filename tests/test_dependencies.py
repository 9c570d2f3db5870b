"""What pyproject.toml asks for: all of it is used, and what may break with its next version is kept from it."""

from __future__ import annotations

import ast
import functools
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RUNTIME = [Requirement(text) for text in PROJECT["dependencies"]]
OPTIONAL = [
    Requirement(text)
    for extra, texts in PROJECT["optional-dependencies"].items()
    for text in texts
    if extra != "dev"
]
DEVELOPMENT = [Requirement(text) for text in PROJECT["optional-dependencies"]["dev"]]

MODULES = {"pyyaml": "yaml"}
"""Where a distribution's module has another name."""
IMPORTED_BY_OTHERS = {"httptools": "uvicorn's HTTP protocol, which rest/protocol.py builds on"}
NO_SUCH_VERSION = Version("9999")


@pytest.mark.parametrize("requirement", RUNTIME, ids=str)
def test_what_users_install_is_imported(requirement: Requirement) -> None:
    module = MODULES.get(requirement.name, requirement.name)
    assert module in imported_modules() or requirement.name in IMPORTED_BY_OTHERS


def test_what_is_imported_is_asked_for() -> None:
    asked = {requirement.name.lower() for requirement in (*RUNTIME, *OPTIONAL)}
    others = {"penstock", "py4j", "pytest"}  # PySpark brings py4j, authors bring pytest for penstock.testing
    owners = metadata.packages_distributions()
    imported = {owner.lower().replace("_", "-") for module in imported_modules() for owner in owners.get(module, ())}
    assert imported <= asked | others


@pytest.mark.parametrize("requirement", [*RUNTIME, *OPTIONAL], ids=str)
def test_what_has_no_first_version_yet_is_kept_below_its_next_one(requirement: Requirement) -> None:
    installed = Version(metadata.version(requirement.name))
    assert installed in requirement.specifier
    if installed.major == 0:
        assert Version(f"0.{installed.minor + 1}") not in requirement.specifier


@pytest.mark.parametrize("requirement", DEVELOPMENT, ids=str)
def test_a_release_of_what_developers_use_cannot_break_them(requirement: Requirement) -> None:
    assert NO_SUCH_VERSION not in requirement.specifier
    assert Version(metadata.version(requirement.name)) in requirement.specifier


def test_developers_test_what_users_install_with_extras() -> None:
    used = {requirement.name.lower() for requirement in DEVELOPMENT}
    assert {requirement.name.lower() for requirement in OPTIONAL} <= used


def test_the_oldest_python_is_the_same_everywhere() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    oldest = PROJECT["requires-python"].removeprefix(">=")
    scaffold = (ROOT / "src/penstock/cli/scaffold/pyproject.toml.tmpl").read_text()
    assert tools["mypy"]["python_version"] == oldest
    assert tools["ruff"]["target-version"] == f"py{oldest.replace('.', '')}"
    assert f'requires-python = ">={oldest}"' in scaffold
    assert f"needs Python {oldest} or later" in (ROOT / "tools/setup.sh").read_text()
    assert f"needs Python {oldest} or later" in (ROOT / "README.md").read_text()


@functools.cache
def imported_modules() -> set[str]:
    """Top-level modules that the package imports."""
    found = set()
    for file in (ROOT / "src/penstock").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(), str(file))):
            found.update(_imports(node))
    return found


def _imports(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
        yield node.module.partition(".")[0]

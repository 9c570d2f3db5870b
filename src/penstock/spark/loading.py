"""Loading a plugin class by its target, in the driver and on executors alike. Imports nothing heavy."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any


class LoadError(Exception):
    """The class cannot be loaded here; the text says why."""


def load(target: str, plugin_path: Sequence[str] = ()) -> type[Any]:
    """The class that ``module:QualName`` names; ``plugin_path`` are the worker's plugin folders."""
    return _load(target, tuple(plugin_path))


@lru_cache(maxsize=512)
def _load(target: str, plugin_path: tuple[str, ...]) -> type[Any]:
    extend_import_path(plugin_path)
    module_name, _, qualname = target.partition(":")
    if not module_name or not qualname:
        raise LoadError(f"{target!r} does not name a class: write module:Class")
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as error:
        raise LoadError(f"Module {module_name} cannot be imported: {type(error).__name__}: {error}") from error
    for name in qualname.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            raise LoadError(f"Module {module_name} has no class {qualname}") from None
    if not isinstance(found, type):
        raise LoadError(f"{target} is not a class")
    return found


def extend_import_path(plugin_path: Sequence[str]) -> list[str]:
    """Make the modules of the plugin folders importable; they never hide installed ones. Returns all of them."""
    folders = import_folders(plugin_path)
    for folder in folders:
        if folder not in sys.path:
            sys.path.append(folder)
            importlib.invalidate_caches()
    return folders


def import_folders(plugin_path: Sequence[str]) -> list[str]:
    """Where modules may lie: each plugin folder, its subfolders that are no packages, and its zip and wheel files."""
    found: list[str] = []
    for entry in plugin_path:
        root = Path(entry).expanduser().absolute()
        found.append(str(root))
        if not root.is_dir():
            continue
        try:
            children = sorted(root.iterdir())
        except OSError:
            continue
        found.extend(str(child) for child in children if _holds_modules(child))
    return list(dict.fromkeys(found))


def _holds_modules(path: Path) -> bool:
    if path.name.startswith((".", "__")):
        return False
    if path.is_dir():
        is_package = (path / "__init__.py").exists()
        return not is_package and (any(path.glob("*.py")) or any(path.glob("*/__init__.py")))
    return path.suffix in (".zip", ".whl")

"""Where plugins come from: our own packages, entry points of installed ones, plugin folders, Python paths.

Nothing here raises because of a plugin: what cannot be imported is reported as a :class:`BrokenModule`.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import logging
import pkgutil
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

import penstock
from penstock.api.connector import Connector, SinkConnector, SourceConnector
from penstock.api.converter import Converter, HeaderConverter
from penstock.api.provider import ConfigProvider
from penstock.api.transform import Predicate, Transform
from penstock.spark.loading import LoadError, extend_import_path, load

log = logging.getLogger(__name__)

ENTRY_POINT_GROUP = "penstock.plugins"
BUILT_IN_PACKAGES = ("penstock.connectors", "penstock.converters", "penstock.transforms", "penstock.runtime.providers")
_SKIPPED_MODULES = frozenset({"__main__", "conftest", "setup", "tests", "test"})


class PluginKind(Enum):
    """What a plugin is, in the words of the REST API; the order is that of listings."""

    SINK = "sink"
    SOURCE = "source"
    TRANSFORMATION = "transformation"
    PREDICATE = "predicate"
    CONVERTER = "converter"
    HEADER_CONVERTER = "header_converter"
    CONFIG_PROVIDER = "configprovider"


KIND_BASES: dict[PluginKind, type[Any]] = {
    PluginKind.SINK: SinkConnector,
    PluginKind.SOURCE: SourceConnector,
    PluginKind.TRANSFORMATION: Transform,
    PluginKind.PREDICATE: Predicate,
    PluginKind.CONVERTER: Converter,
    PluginKind.HEADER_CONVERTER: HeaderConverter,
    PluginKind.CONFIG_PROVIDER: ConfigProvider,
}
KIND_SUFFIXES = {
    PluginKind.SINK: "Connector",
    PluginKind.SOURCE: "Connector",
    PluginKind.TRANSFORMATION: "Transformation",
    PluginKind.PREDICATE: "Predicate",
    PluginKind.CONVERTER: "Converter",
    PluginKind.HEADER_CONVERTER: "HeaderConverter",
    PluginKind.CONFIG_PROVIDER: "ConfigProvider",
}


@dataclass(frozen=True)
class PluginEntry:
    """A plugin that can be used. ``name`` is what users see: the Java class it stands for, or its Python path."""

    kind: PluginKind
    name: str
    version: str
    target: str
    cls: type[Any] = field(compare=False)

    def load(self) -> type[Any]:
        return self.cls

    @property
    def is_connector(self) -> bool:
        return self.kind in (PluginKind.SINK, PluginKind.SOURCE)

    @property
    def aliases(self) -> set[str]:
        """Short names: the simple class name and the one without its suffix. Inner Java classes have none."""
        java = self.cls.__dict__.get("java_class") or ""
        if "$" in java:
            return set()
        names = {self.cls.__name__}
        if java:
            names.add(java.rpartition(".")[2])
        suffix = KIND_SUFFIXES[self.kind]
        return names | {name[: -len(suffix)] for name in names if name.endswith(suffix) and name != suffix}


@dataclass(frozen=True)
class BrokenModule:
    """A module that could not be imported: where it lies, why, and the classes its text defines."""

    module: str
    reason: str
    names: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"{self.module} ({self.reason})"


Found = PluginEntry | BrokenModule


def entries_of(cls: type[Any]) -> list[PluginEntry]:
    """The plugin that a class is, once for each kind; empty for classes that cannot be used as one."""
    if inspect.isabstract(cls) or cls.__name__.startswith("_") or cls in KIND_BASES.values():
        return []
    if issubclass(cls, Connector) and not (hasattr(cls, "task") and hasattr(cls, "config")):
        return []
    target = f"{cls.__module__}:{cls.__qualname__}"
    name = cls.__dict__.get("java_class") or target
    kinds = [kind for kind, base in KIND_BASES.items() if issubclass(cls, base)]
    return [PluginEntry(kind, name, _version(cls), target, cls) for kind in kinds]


def discover(plugin_path: Sequence[str]) -> Iterator[Found]:
    """Everything there is, ours first."""
    for package in BUILT_IN_PACKAGES:
        yield from _package(package)
    for point in entry_points(group=ENTRY_POINT_GROUP):
        try:
            loaded = point.load()
        except (Exception, SystemExit) as error:
            yield _broken(point.value, error)
            continue
        if isinstance(loaded, type):
            yield from entries_of(loaded)
        elif isinstance(loaded, ModuleType):
            yield from _classes(loaded)
    for folder in extend_import_path(plugin_path):
        yield from _folder(folder)


def by_python_path(name: str) -> Iterator[Found]:
    """The plugin that ``module:Class`` or ``module.Class`` names, if there is such a module.

    Anyone who may create connectors may have installed modules imported this way, so Python's own are left alone.
    """
    module, colon, qualname = name.partition(":")
    if not colon:
        module, _, qualname = name.rpartition(".")
    if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", module) or not qualname:
        return
    if module.partition(".")[0] in sys.stdlib_module_names or not _exists(module):
        return
    try:
        yield from entries_of(load(f"{module}:{qualname}"))
    except LoadError as error:
        if error.__cause__ is not None:
            yield _broken(module, error.__cause__, frozenset({qualname}))


def _exists(module: str) -> bool:
    """Whether the module can be found, asking for its packages one by one so that nothing unrelated is imported."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
    except Exception:
        return True


def _package(name: str) -> Iterator[Found]:
    """A package with everything below it, or a single module."""
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            yield _broken(name, error)
        return
    except (Exception, SystemExit) as error:
        yield _broken(name, error)
        return
    yield from _classes(module)
    for info in pkgutil.iter_modules(getattr(module, "__path__", [])):
        if info.name not in _SKIPPED_MODULES:
            yield from _package(f"{name}.{info.name}")


def _folder(folder: str) -> Iterator[Found]:
    for info in pkgutil.iter_modules([folder]):
        if info.name in _SKIPPED_MODULES:
            continue
        spec = importlib.util.find_spec(info.name)
        origin = (spec.origin if spec else None) or ""
        if not origin.startswith(folder):
            reason = f"{folder}/{info.name} is hidden by another module of this name, {origin or 'built in'}"
            yield _broken(info.name, ImportError(reason))
            continue
        yield from _package(info.name)


def _classes(module: ModuleType) -> Iterator[PluginEntry]:
    """Plugins that a module or, by importing them, a package offers, inner classes included."""
    own = module.__name__
    is_package = hasattr(module, "__path__")
    for cls in list(vars(module).values()):
        if not isinstance(cls, type):
            continue
        if cls.__module__ != own and not (is_package and cls.__module__.startswith(own + ".")):
            continue
        yield from entries_of(cls)
        for inner in list(vars(cls).values()):
            if isinstance(inner, type) and inner.__qualname__.startswith(cls.__qualname__ + "."):
                yield from entries_of(inner)


def _version(cls: type[Any]) -> str:
    version = str(getattr(cls, "version", "0.0.0"))
    ours = cls.__module__.startswith("penstock.")
    return penstock.__version__ if ours and version == "0.0.0" else version


def _broken(module: str, error: BaseException, names: frozenset[str] = frozenset()) -> BrokenModule:
    log.warning("Plugin module %s cannot be loaded: %s", module, error, exc_info=error)
    return BrokenModule(module, f"{type(error).__name__}: {error}", names | _names_in_source(module))


def _names_in_source(module: str) -> frozenset[str]:
    """Class names and Java names that the text of a module mentions, so that whoever asks for one learns the reason."""
    try:
        spec = importlib.util.find_spec(module.partition(":")[0])
        origin = Path(spec.origin or "") if spec else Path()
        files = origin.parent.rglob("*.py") if origin.name == "__init__.py" else [origin]
        text = "\n".join(file.read_text("utf-8", "replace") for file in files)
    except Exception:
        return frozenset()
    classes = re.findall(r"^\s*class\s+(\w+)", text, re.MULTILINE)
    java = re.findall(r"""java_class\s*(?::[^=]*)?=\s*["']([^"']+)["']""", text)
    return frozenset(classes) | frozenset(java)

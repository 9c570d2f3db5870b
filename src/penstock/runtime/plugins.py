"""The plugins of this worker, and how the names in configurations lead to them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping, Sequence

from .plugins_discovery import KIND_SUFFIXES, BrokenModule, Found, PluginEntry, PluginKind, by_python_path, discover

log = logging.getLogger(__name__)

__all__ = ["BrokenModule", "PluginEntry", "PluginKind", "Plugins", "UnknownPlugin"]

CONNECTORS = (PluginKind.SINK, PluginKind.SOURCE)


class UnknownPlugin(LookupError):
    """No plugin, or more than one, has this name; the text is for the user."""

    def __str__(self) -> str:
        return str(self.args[0])


class Plugins:
    """Finds plugins on first use and remembers them. Safe to share between threads."""

    def __init__(self, plugin_path: Sequence[str] = ()) -> None:
        self.plugin_path = tuple(plugin_path)
        self._lock = threading.RLock()
        self._entries: dict[tuple[str, PluginKind], PluginEntry] = {}
        self._sorted: list[PluginEntry] = []
        self._full_names: dict[str, list[PluginEntry]] = {}
        self._aliases: dict[str, list[PluginEntry]] = {}
        self._broken: dict[str, BrokenModule] = {}
        self._scanned = False

    def scan(self) -> None:
        """Look for plugins everywhere; only the first call does. Broken ones are logged."""
        with self._lock:
            if not self._scanned:
                self._scanned = True
                self._add(discover(self.plugin_path))

    @property
    def broken(self) -> Sequence[BrokenModule]:
        """Modules that should have plugins but could not be imported."""
        self.scan()
        with self._lock:
            return list(self._broken.values())

    def all(self, *kinds: PluginKind) -> list[PluginEntry]:
        """The plugins of some kinds (none given: of every kind), by kind and name."""
        self.scan()
        return [entry for entry in self._sorted if not kinds or entry.kind in kinds]

    def listing(self, connectors_only: bool = True) -> list[Mapping[str, str]]:
        """What ``GET /connector-plugins`` answers."""
        kinds = CONNECTORS if connectors_only else tuple(k for k in PluginKind if k is not PluginKind.CONFIG_PROVIDER)
        return [{"class": entry.name, "type": entry.kind.value, "version": entry.version} for entry in self.all(*kinds)]

    def connector(self, name: str) -> PluginEntry:
        """The connector that ``connector.class`` names. Raises :class:`UnknownPlugin` with Kafka Connect's texts."""
        matches = self.matches(name, *CONNECTORS)
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise UnknownPlugin(
                f"More than one connector matches alias {name}. Please use full package and class name instead."
                f" Classes found: {', '.join(entry.name for entry in matches)}"
            )
        available = ", ".join(f"{e.name} ({e.kind.value}, {e.version})" for e in self.all(*CONNECTORS))
        broken = self.broken
        hint = f"; could not be loaded: {', '.join(map(str, broken))}" if broken else ""
        raise UnknownPlugin(
            f"Failed to find any class that implements Connector and which name matches {name},"
            f" available connectors are: {available}{hint}"
        )

    def find(self, name: str, *kinds: PluginKind) -> PluginEntry:
        """The plugin of one of these kinds that a full name or an alias means. Raises :class:`UnknownPlugin`."""
        matches = self.matches(name, *kinds)
        if not matches:
            raise UnknownPlugin(f"Class {name} could not be found.{self.why_missing(name)}")
        if len({entry.target for entry in matches}) > 1:
            names = ", ".join(sorted({entry.name for entry in matches}))
            raise UnknownPlugin(f"More than one class matches alias {name}. Please use the full name: {names}")
        return matches[0]

    def matches(self, name: str, *kinds: PluginKind) -> list[PluginEntry]:
        """All plugins that a name may mean: by full name, else by alias, else by the Python path of a class."""
        if not name:
            return []
        self.scan()
        for names in (self._full_names, self._aliases):
            found = [entry for entry in names.get(name, ()) if not kinds or entry.kind in kinds]
            if found:
                return found
        return self._import(name, kinds)

    def inner_classes(self, name: str) -> list[str]:
        """The plugins that are inner classes of a Java class which is none itself: ``Cast`` has ``Cast$Key``."""
        return sorted({entry.name for entry in self.all() if entry.name.startswith(f"{name}$")})

    def _import(self, name: str, kinds: tuple[PluginKind, ...]) -> list[PluginEntry]:
        if name in self._full_names:
            return []
        found = list(by_python_path(name))
        with self._lock:
            self._add(found)
        return [item for item in found if isinstance(item, PluginEntry) and (not kinds or item.kind in kinds)]

    def why_missing(self, name: str) -> str:
        """What to add when there is no plugin of this name: the error of the module that may have it, or nothing."""
        simple = name.rpartition(":")[2].rpartition(".")[2]
        asked = {name, simple, *(simple + suffix for suffix in KIND_SUFFIXES.values())}
        broken = next((broken for broken in self.broken if not asked.isdisjoint(broken.names)), None)
        return "" if broken is None else f" Its module could not be loaded: {broken}"

    def _add(self, found: Iterable[Found]) -> None:
        for item in found:
            if isinstance(item, BrokenModule):
                self._broken[item.module] = item
                continue
            known = self._entries.setdefault((item.name, item.kind), item)
            if known.cls is not item.cls:
                log.warning("Two plugins are called %s: %s is used, %s is not", item.name, known.target, item.target)
        order = {kind: place for place, kind in enumerate(PluginKind)}
        entries = sorted(self._entries.values(), key=lambda entry: (order[entry.kind], entry.name))
        full_names: dict[str, list[PluginEntry]] = {}
        aliases: dict[str, list[PluginEntry]] = {}
        for entry in entries:
            for name in {entry.name, entry.target, entry.target.replace(":", ".")}:
                full_names.setdefault(name, []).append(entry)
            for name in entry.aliases:
                aliases.setdefault(name, []).append(entry)
        self._sorted, self._full_names, self._aliases = entries, full_names, aliases

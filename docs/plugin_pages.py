"""The pages of the reference about plugins: one for each connector, one for each other kind, with examples.

The examples stand in ``plugin_examples.yaml``. A record passes through each transform here: what came out is shown.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from penstock.api.config import ConfigDef, ConfigKey, Type
from penstock.api.record import Header, Record
from penstock.runtime.plugins import PluginEntry, PluginKind, Plugins
from penstock.runtime.restart_policy import RESTART_KEYS
from penstock.testing import Step, run_chain

EXAMPLES: Mapping[str, Any] = yaml.safe_load((Path(__file__).parent / "plugin_examples.yaml").read_text())
NOTE = "<!-- Written by docs/generate.py from the code. Change the code, then run: make docs -->\n"
CONNECTORS = {PluginKind.SOURCE: "Source connectors", PluginKind.SINK: "Sink connectors"}
PAGES = {
    "transforms.md": ("Transforms", [PluginKind.TRANSFORMATION]),
    "predicates.md": ("Predicates", [PluginKind.PREDICATE]),
    "converters.md": ("Converters", [PluginKind.CONVERTER, PluginKind.HEADER_CONVERTER]),
    "config-providers.md": ("Config providers", [PluginKind.CONFIG_PROVIDER]),
}
CONVERTER_TYPE = "converter.type"
"""Filled in by the worker: nobody sets it."""

_ABOUT = {
    "transforms.md": "They change or drop records on their way; see [transforms](../guides/transforms.md).",
    "predicates.md": "They choose the records that a transform is for: `transforms.<alias>.predicate` names one, and"
    " `transforms.<alias>.negate=true` takes the others.",
    "converters.md": "They turn bytes into values and back: `key.converter`, `value.converter` and `header.converter`"
    " of a worker or connector, with their keys behind a dot. See [schema registry](../guides/schema-registry.md).",
    "config-providers.md": "They keep secrets out of configurations: `${alias:path:key}` is filled in when a connector"
    " starts. See [security](../guides/security.md).",
}


_MORE = {
    "FileStreamSource": "See the [quick start](../../guides/getting-started.md).",
    "FileStreamSink": "See the [quick start](../../guides/getting-started.md).",
    "PostgresCdc": "It needs `pip install 'penstock[postgres]'`. See [PostgreSQL](../../guides/postgres.md).",
    "PostgresSink": "It needs `pip install 'penstock[postgres]'`. See [PostgreSQL](../../guides/postgres.md).",
    "SparkSource": "See [lakes and databases](../../guides/spark-formats.md), also for the jars that a format needs.",
    "SparkSink": "See [lakes and databases](../../guides/spark-formats.md), also for the jars that a format needs.",
}
"""What else to know of a connector, and where its guide is."""


@dataclass(frozen=True)
class Plugin:
    """What has one section: a plugin, with both sides of a transform and all kinds of a converter."""

    title: str
    entries: Sequence[PluginEntry]

    @property
    def about(self) -> str:
        """One line. The two sides of a transform share a base, whose line is about both."""
        cls, *others = [entry.load() for entry in self.entries]
        if "$" in self.entries[0].name:
            shared = (base for base in cls.__mro__ if all(issubclass(other, base) for other in others))
            cls = next(base for base in shared if base.__doc__)
        return (inspect.getdoc(cls) or "").split("\n\n")[0].replace("\n", " ")

    @property
    def keys(self) -> Sequence[ConfigKey]:
        config: ConfigDef = getattr(self.entries[0].load(), "config", None) or ConfigDef()
        return [key for key in config.keys if key.name != CONVERTER_TYPE]

    @property
    def names(self) -> str:
        """As people write it, before the names in full."""
        short = sorted({alias for entry in self.entries for alias in entry.aliases}, key=lambda one: (len(one), one))
        full = dict.fromkeys(name for one in self.entries for name in (one.name, one.target.replace(":", ".")))
        return ", ".join(f"`{name}`" for name in [*short, *(name for name in full if ":" not in name)])


def plugin_pages() -> dict[str, str]:
    """File name, below ``docs/reference``, → text."""
    plugins = Plugins()
    connectors = {kind: _plugins(plugins, kind) for kind in CONNECTORS}
    others = {name: _plugins(plugins, *kinds) for name, (_, kinds) in PAGES.items()}
    pages = {"plugins.md": _index(connectors, others)}
    for found in connectors.values():
        pages |= {f"connectors/{plugin.title}.md": _connector_page(plugin) for plugin in found}
    for name, (title, _) in PAGES.items():
        parts = [NOTE, f"# {title}\n", f"{_ABOUT[name]}\n"]
        pages[name] = "\n".join([*parts, *(_section(plugin) for plugin in others[name])])
    return pages


def _plugins(plugins: Plugins, *kinds: PluginKind) -> list[Plugin]:
    found: dict[str, list[PluginEntry]] = {}
    for entry in plugins.all(*kinds):
        found.setdefault(title_of(entry), []).append(entry)
    return [Plugin(title, entries) for title, entries in sorted(found.items())]


def title_of(entry: PluginEntry) -> str:
    """The name of its section, and of its example."""
    if entry.is_connector or ":" in entry.name:
        return entry.load().__name__
    return entry.name.rsplit(".", 1)[-1].partition("$")[0]


def _index(connectors: Mapping[PluginKind, Sequence[Plugin]], others: Mapping[str, Sequence[Plugin]]) -> str:
    parts = [
        NOTE,
        "# Plugins\n",
        "The plugins that come with Penstock, each with an example and its own keys. A configuration may name a plugin"
        " by any of the names shown there: the short one, Kafka Connect's class, the Python path.\n",
    ]
    for kind, title in CONNECTORS.items():
        rows = [(f"connectors/{plugin.title}.md", plugin) for plugin in connectors[kind]]
        parts += [f"## {title}\n", _table(rows)]
    for name, (title, _) in PAGES.items():
        parts += [f"## {title}\n", _table((f"{name}#{plugin.title.lower()}", plugin) for plugin in others[name])]
    parts += [
        "## Keys of every connector that only Penstock has\n",
        "See [automatic restarts](../guides/monitoring.md#automatic-restarts).\n",
        key_table(RESTART_KEYS.keys),
    ]
    return "\n".join(parts)


def _table(rows: Iterable[tuple[str, Plugin]]) -> str:
    lines = [f"| [{plugin.title}]({link}) | {plugin.about} |\n" for link, plugin in rows]
    return "| | |\n|---|---|\n" + "".join(lines)


def _connector_page(plugin: Plugin) -> str:
    side = "source" if plugin.entries[0].kind is PluginKind.SOURCE else "sink"
    example = {"name": plugin.title.lower(), "config": EXAMPLES[plugin.title]}
    parts = [
        NOTE,
        f"# {plugin.title}\n",
        " ".join(filter(None, [f"A {side}. {plugin.about}", _MORE.get(plugin.title)])) + "\n",
        f"Names: {plugin.names}\n",
        "## Example\n",
        "A connector file: `penstock create -f` takes it, and `POST /connectors`.\n",
        _json(example),
        "## Keys\n",
        "Besides those of [every connector](../plugins.md#keys-of-every-connector-that-only-penstock-has).\n",
        key_table(plugin.keys),
    ]
    return "\n".join(parts)


def _section(plugin: Plugin) -> str:
    parts = [f"## {plugin.title}\n", f"{plugin.about}\n", f"Names: {plugin.names}\n", *_example(plugin)]
    if plugin.keys:
        parts.append(key_table(plugin.keys))
    return "\n".join(parts)


def _example(plugin: Plugin) -> list[str]:
    example = EXAMPLES[plugin.title]
    kind = plugin.entries[0].kind
    if kind is PluginKind.CONFIG_PROVIDER:
        worker = "".join(f"{key}={value}\n" for key, value in example["worker"].items())
        return [
            "In the worker file:\n",
            f"```properties\n{worker}```\n",
            "In a connector:\n",
            _json(example["connector"]),
        ]
    if kind in (PluginKind.CONVERTER, PluginKind.HEADER_CONVERTER):
        return [_json(example)]
    parts = [_json(chain_keys(plugin.entries[0].kind, example))]
    if "record" in example:
        before, after = passed(example)
        parts += ["A record before and after:\n", _json(before), _json(after) if after else "It is dropped.\n"]
    return parts


def chain_keys(kind: PluginKind, example: Mapping[str, Any]) -> dict[str, str]:
    """The keys of a connector that make it use a transform, or a predicate with a transform that it chooses for."""
    if kind is PluginKind.PREDICATE:
        chosen = {"type": "Filter", "predicate": "chosen"}
        return _of_alias("transforms", "drop", chosen) | _of_alias("predicates", "chosen", example["settings"])
    settings = example["settings"]
    keys = _of_alias("transforms", "change", settings)
    if "predicate" in example:
        keys |= _of_alias("predicates", settings["predicate"], example["predicate"])
    return keys


def _of_alias(group: str, alias: str, settings: Mapping[str, str]) -> dict[str, str]:
    return {group: alias, **{f"{group}.{alias}.{key}": value for key, value in settings.items()}}


def passed(example: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The record of an example, and what its transform makes of it: nothing when it drops it."""
    plugins = Plugins()
    given, settings = example["record"], dict(example["settings"])
    record = Record(
        topic=given.get("topic", "orders"),
        key=given.get("key"),
        value=given.get("value"),
        timestamp=given.get("timestamp"),
        headers=tuple(Header(name, value) for name, value in given.get("headers", {}).items()),
    )
    predicate = None
    if settings.pop("predicate", None) is not None:
        predicate = plugins.find(example["predicate"]["type"], PluginKind.PREDICATE).load()
    transform = plugins.find(settings.pop("type"), PluginKind.TRANSFORMATION).load()
    left = run_chain([Step(transform, settings, predicate)], [record]).records
    return _shown(record), _shown(left[0]) if left else None


def _shown(record: Record) -> dict[str, Any]:
    parts = {"topic": record.topic, "key": record.key, "value": record.value, "timestamp": record.timestamp}
    headers = {header.key: header.value for header in record.headers}
    needed = {key: part for key, part in parts.items() if part is not None or key == "value"}
    return needed | ({"headers": headers} if headers else {})


def _json(value: object) -> str:
    return f"```json\n{json.dumps(value, indent=2, ensure_ascii=False)}\n```\n"


def key_table(keys: Iterable[ConfigKey]) -> str:
    """A row for each key."""
    rows = ["| Key | Type | Default | Importance | Meaning |\n|---|---|---|---|---|\n"]
    for key in keys:
        kind, importance = key.type.value.lower(), key.importance.value.lower()
        meaning = key.doc.replace("|", "\\|").replace("\n", " ")
        rows.append(f"| `{key.name}` | {kind} | {_default(key)} | {importance} | {meaning} |\n")
    return "".join(rows)


def _default(key: ConfigKey) -> str:
    if key.required:
        return "*required*"
    text = key.default_text
    if key.type is Type.PASSWORD:
        text = None if key.default is None else str(getattr(key.default, "value", "") or "")
    return "*none*" if text is None else "*empty*" if text == "" else f"`{text}`"

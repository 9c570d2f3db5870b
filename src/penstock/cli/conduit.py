"""Conduit's pipeline files, as far as they can be said in ours; whatever cannot is told."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

Settings = dict[str, str]

_VARIABLE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")
_FIELD = re.compile(r"\.Payload\.After\.([A-Za-z0-9_]+)")
_TRANSFORMS = "org.apache.kafka.connect.transforms."


class NotConduit(Exception):
    """The text is no pipeline file of Conduit; the message says why."""


@dataclass
class Converted:
    """A pipeline file of ours, and what the user must look at."""

    document: dict[str, Any]
    notes: list[str] = field(default_factory=list)

    def text(self) -> str:
        return yaml.safe_dump(self.document, sort_keys=False, allow_unicode=True, width=120)


def convert_conduit(text: str) -> Converted:
    """Convert all documents of a file. Raises :class:`NotConduit`."""
    converted = Converted({"pipelines": []})
    try:
        documents = [document for document in yaml.safe_load_all(text) if document is not None]
    except yaml.YAMLError as error:
        raise NotConduit(f"This is no YAML: {error}") from error
    for document in documents:
        listed = document.get("pipelines") if isinstance(document, Mapping) else None
        if not isinstance(listed, list):
            raise NotConduit(
                "There is no list 'pipelines'. Files of version 1 have a map there: bring the file to version 2 first."
            )
        converted.document["pipelines"] += [_Pipeline(given, converted.notes).converted() for given in listed]
    return converted


class _Pipeline:
    """One pipeline. Conduit hands records from sources to destinations; here a topic of the pipeline's is between."""

    def __init__(self, given: Mapping[str, Any], notes: list[str]) -> None:
        self._given = given
        self._id = str(given.get("id", ""))
        self._notes = notes

    def converted(self) -> dict[str, Any]:
        found: dict[str, Any] = {"id": self._id}
        if self._given.get("description"):
            found["description"] = str(self._given["description"]).strip()
        found["status"] = str(self._given.get("status", "running"))
        shared = list(self._transforms(self._given.get("processors"), "pipeline"))
        found["connectors"] = [self._connector(given, shared) for given in self._given.get("connectors") or []]
        return found

    def _connector(self, given: Mapping[str, Any], shared: list[dict[str, Any]]) -> dict[str, Any]:
        """Processors of the pipeline work on what its sources bring in, once, before it is in the topic."""
        source = given.get("type") == "source"
        name = f"{self._id}-{given.get('id')}"
        plugin = _plugin(str(given.get("plugin", "")))
        settings = {str(key): _references(value) for key, value in (given.get("settings") or {}).items()}
        own = list(self._transforms(given.get("processors"), name))
        kind, config, left = _PLUGINS.get((plugin, source), _unknown)(settings)
        if kind == "":
            kind = plugin
            self._note(name, f"there is no plugin '{plugin}' here: choose a class, and look at its keys")
        if left:
            self._note(name, f"these settings have no counterpart and were left out: {', '.join(sorted(left))}")
        config["topic" if source else "topics"] = self._id
        if not source:
            config.update(self._dead_letters())
        found: dict[str, Any] = {"name": name, "class": kind, "config": config}
        transforms = own + shared if source else own
        return {**found, "transforms": transforms} if transforms else found

    def _dead_letters(self) -> Settings:
        if not self._given.get("dead-letter-queue"):
            return {}
        topic = f"{self._id}-dead-letters"
        self._note("dead-letter-queue", f"records that fail go to the topic '{topic}'; a window does not exist here")
        return {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": topic}

    def _transforms(self, processors: Any, place: str) -> Iterator[dict[str, Any]]:
        for given in processors or []:
            plugin = _plugin(str(given.get("plugin", "")))
            settings = {str(key): str(value) for key, value in (given.get("settings") or {}).items()}
            convert = None if given.get("condition") else _PROCESSORS.get(plugin)
            made = None if convert is None else convert(settings)
            if made is None:
                self._note(place, f"the processor '{given.get('id')}' ({plugin}) must be written as a transform")
            else:
                yield {"name": str(given.get("id")), "class": made[0], "config": made[1]}

    def _note(self, place: str, text: str) -> None:
        self._notes.append(f"{self._id}, {place}: {text}")


def _plugin(name: str) -> str:
    """``builtin:file@v1`` → ``file``."""
    return name.rpartition(":")[2].partition("@")[0]


def _references(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return _VARIABLE.sub(r"${env:\1}", text) if "$" in text else text


Plugin = tuple[str, Settings, set[str]]


def _renamed(kind: str, names: Mapping[str, str]) -> Callable[[Settings], Plugin]:
    def convert(settings: Settings) -> Plugin:
        config = {names[key]: value for key, value in settings.items() if key in names}
        return kind, config, {key for key in settings if key not in names}

    return convert


def _unknown(settings: Settings) -> Plugin:
    return "", dict(settings), set()


_PLUGINS: dict[tuple[str, bool], Callable[[Settings], Plugin]] = {
    ("file", True): _renamed("FileStreamSource", {"path": "file"}),
    ("file", False): _renamed("FileStreamSink", {"path": "file"}),
    ("generator", True): _renamed("Generator", {"rate": "rate", "recordCount": "count"}),
    ("log", False): _renamed("LogSink", {"level": "level"}),
}


def _exclude(settings: Settings) -> tuple[str, Settings] | None:
    fields = [_FIELD.fullmatch(part.strip()) for part in settings.get("fields", "").split(",")]
    if not all(fields):
        return None
    return f"{_TRANSFORMS}ReplaceField$Value", {"exclude": ",".join(found[1] for found in fields if found)}


def _rename(settings: Settings) -> tuple[str, Settings] | None:
    pairs = [part.strip().partition(":") for part in settings.get("mapping", "").split(",")]
    fields = [(_FIELD.fullmatch(old), new) for old, _, new in pairs]
    if not all(old for old, _ in fields):
        return None
    return f"{_TRANSFORMS}ReplaceField$Value", {"renames": ",".join(f"{old[1]}:{new}" for old, new in fields if old)}


def _set(settings: Settings) -> tuple[str, Settings] | None:
    found, value = _FIELD.fullmatch(settings.get("field", "")), settings.get("value", "")
    if found is None or "{{" in value:
        return None
    return f"{_TRANSFORMS}InsertField$Value", {"static.field": found[1], "static.value": value}


def _cast(settings: Settings) -> tuple[str, Settings] | None:
    types = {"string": "string", "int": "int64", "float": "float64", "bool": "boolean"}
    found, kind = _FIELD.fullmatch(settings.get("field", "")), types.get(settings.get("type", ""))
    return None if found is None or kind is None else (f"{_TRANSFORMS}Cast$Value", {"spec": f"{found[1]}:{kind}"})


_PROCESSORS: dict[str, Callable[[Settings], tuple[str, Settings] | None]] = {
    "field.exclude": _exclude,
    "field.rename": _rename,
    "field.set": _set,
    "field.convert": _cast,
}

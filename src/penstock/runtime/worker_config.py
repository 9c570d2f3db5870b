"""A worker's configuration: a Kafka Connect worker file, checked and typed."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ..api.config import ConfigDef
from ..api.errors import ConfigError
from .listeners import Listener, advertised, parse_listener
from .other_worker_keys import NOT_USED, NOT_USED_QUIETLY, OPEN_PREFIXES
from .plugins import Plugins
from .properties import PropertiesError, Property, as_dict, parse_properties, read_text
from .providers import worker_references
from .worker_keys import JSON_CONVERTER, WORKER_KEYS


class WorkerConfigError(Exception):
    """The worker cannot start with this configuration; the text names file, key, value and the way out."""


@dataclass(frozen=True)
class WorkerConfig:
    """The settings of one worker.

    ``properties`` is the file with references resolved and JSON converters where it names none; ``values`` the
    checked value of every key of :data:`~penstock.runtime.worker_keys.WORKER_KEYS`; ``warnings`` what a user should
    know.
    """

    properties: Mapping[str, str]
    values: Mapping[str, Any]
    warnings: tuple[str, ...] = ()

    @classmethod
    def load(
        cls,
        path: str | Path,
        defaults: Mapping[str, str] | None = None,
        overrides: Mapping[str, str] | None = None,
        more_keys: ConfigDef | None = None,
    ) -> WorkerConfig:
        """Read a worker file, which wins over ``defaults``; ``overrides`` win over it.

        ``more_keys`` have a meaning besides the usual ones. Raises :class:`WorkerConfigError`.
        """
        try:
            found = parse_properties(read_text(path))
        except OSError as error:
            raise WorkerConfigError(
                f"Cannot read the worker file {path}: {error.strerror or error}. Check the path and the permissions."
            ) from error
        except PropertiesError as error:
            raise WorkerConfigError(f"{path}, {error}") from error
        lines = {item.key: item.line for item in found}
        given = {**(defaults or {}), **as_dict(found), **(overrides or {})}
        config = cls.from_properties(given, str(path), lines, more_keys)
        return cls(config.properties, config.values, _repeated(found, str(path)) + config.warnings)

    @classmethod
    def from_properties(
        cls,
        properties: Mapping[str, str],
        source: str = "worker configuration",
        lines: Mapping[str, int] | None = None,
        more_keys: ConfigDef | None = None,
    ) -> WorkerConfig:
        """Check settings; ``source`` and ``lines`` say in errors and warnings where a key stands."""
        places = {key: f"{source}, line {line}" for key, line in (lines or {}).items()}
        properties = _with_converters(_resolved(properties, source))
        known = WORKER_KEYS if more_keys is None else WORKER_KEYS + more_keys
        checked = known.validate(properties)
        problems = [
            f"{places.get(name, source)}: {found.errors[0]}{_way_out(known, name)}"
            for name, found in checked.items()
            if found.errors
        ]
        if problems:
            raise WorkerConfigError("\n".join(problems))
        warned = {key: _warning(known, key, value) for key, value in properties.items()}
        warnings = tuple(f"{places.get(key, source)}: {text}" for key, text in warned.items() if text is not None)
        return cls(properties, {name: found.value for name, found in checked.items()}, warnings)

    def subset(self, prefix: str) -> dict[str, str]:
        """The properties that start with ``prefix``, without it."""
        return {key[len(prefix) :]: value for key, value in self.properties.items() if key.startswith(prefix)}

    @cached_property
    def data_dir(self) -> Path:
        return Path(self.values["data.dir"]).expanduser().absolute()

    @property
    def pipelines_path(self) -> tuple[Path, ...]:
        return tuple(Path(entry).expanduser() for entry in self.values["pipelines.path"])

    @property
    def pipelines_watch(self) -> bool:
        return bool(self.values["pipelines.watch"])

    @property
    def log_level(self) -> str:
        return str(self.values["log.level"]).upper()

    @property
    def log_file(self) -> Path | None:
        file = self.values["log.file"]
        return None if file is None else Path(file).expanduser()

    @property
    def log_as_json(self) -> bool:
        return str(self.values["log.format"]).lower() == "json"

    @property
    def log_access(self) -> str:
        return str(self.values["log.access"]).lower()

    @cached_property
    def listeners(self) -> tuple[Listener, ...]:
        return tuple(parse_listener(text) for text in self.values["listeners"])

    @cached_property
    def admin_listeners(self) -> tuple[Listener, ...] | None:
        """``None``: /admin is served with the rest; empty: it is not served."""
        texts = self.values["admin.listeners"]
        return None if texts is None else tuple(parse_listener(text) for text in texts)

    @cached_property
    def advertised(self) -> Listener:
        """How others reach this worker's REST API."""
        return advertised(
            self.listeners,
            self.values["rest.advertised.listener"],
            self.values["rest.advertised.host.name"],
            self.values["rest.advertised.port"],
        )

    @property
    def worker_id(self) -> str:
        """``host:port``, as statuses show it."""
        return f"{self.advertised.host}:{self.advertised.port}"

    @property
    def url(self) -> str:
        """Where other workers find this one."""
        return f"{self.advertised.protocol}://{self.worker_id}/"

    @property
    def task_shutdown_graceful_timeout_ms(self) -> int:
        return int(self.values["task.shutdown.graceful.timeout.ms"])

    @property
    def connector_call_timeout_ms(self) -> int:
        return int(self.values["connector.call.timeout.ms"])

    @property
    def lifecycle_hook_timeout_ms(self) -> int:
        return int(self.values["lifecycle.hook.timeout.ms"])

    @property
    def health_stalled_after_ms(self) -> int:
        return int(self.values["health.stalled.after.ms"])

    @property
    def plugin_path(self) -> tuple[Path, ...]:
        return tuple(Path(entry).expanduser() for entry in self.values["plugin.path"])

    @property
    def topic_tracking_enable(self) -> bool:
        return bool(self.values["topic.tracking.enable"])

    @property
    def topic_tracking_allow_reset(self) -> bool:
        return bool(self.values["topic.tracking.allow.reset"])

    @property
    def spark_settings(self) -> dict[str, str]:
        """All ``spark.*`` keys, whole."""
        return {key: value for key, value in self.properties.items() if key.startswith("spark.")}


def _resolved(properties: Mapping[str, str], source: str) -> dict[str, str]:
    """References such as ``${env:PORT}`` replaced by what the file's own config providers say, but in plugin.path."""
    if not properties.get("config.providers"):
        return dict(properties)
    folders = [entry.strip() for entry in properties.get("plugin.path", "").split(",") if entry.strip()]
    try:
        references = worker_references(Plugins(folders), properties)
        known = references.resolve({key: value for key, value in properties.items() if key != "plugin.path"})
    except ConfigError as error:
        raise WorkerConfigError(f"{source}: {error}") from error
    return {**properties, **{key: value for key, value in known.items() if value is not None}}


def _with_converters(properties: Mapping[str, str]) -> dict[str, str]:
    """Kafka Connect insists on converters; here a worker without them writes plain JSON."""
    completed = dict(properties)
    for key in ("key.converter", "value.converter"):
        if key not in properties:
            completed[key] = JSON_CONVERTER
            completed.setdefault(f"{key}.schemas.enable", "false")
    return completed


def _repeated(properties: list[Property], source: str) -> tuple[str, ...]:
    first: dict[str, int] = {}
    found = []
    for item in properties:
        if item.key in first:
            place = f"{source}, line {item.line}"
            found.append(f"{place}: '{item.key}' already stands in line {first[item.key]}; the last one counts.")
        first.setdefault(item.key, item.line)
    return tuple(found)


def _way_out(known: ConfigDef, name: str) -> str:
    key = known.by_name.get(name)
    if key is None:
        return ""
    no_default = key.required or key.default_text is None
    default = "" if no_default else f" Leave the key out for the default, {key.default_text or 'empty'}."
    return f"\n  {name}: {key.doc}{default}"


def _warning(known: ConfigDef, key: str, value: str) -> str | None:
    if key == "rest.extension.classes":
        return _extensions(value)
    if key in known or key in NOT_USED_QUIETLY:
        return None
    if key in NOT_USED:
        return f"'{key}' is not used: {NOT_USED[key]}."
    if key.startswith(OPEN_PREFIXES):
        return None
    near = difflib.get_close_matches(key, list(known.by_name), n=1, cutoff=0.8)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return f"'{key}' is not a known worker key and is ignored.{hint}"


def _extensions(value: str) -> str | None:
    names = [name.strip() for name in value.split(",") if name.strip()]
    unknown = [name for name in names if not name.endswith("BasicAuthSecurityRestExtension")]
    return f"Java extensions of the REST API cannot be loaded: {', '.join(unknown)}." if unknown else None

"""References in configurations, ``${provider:[path:]key}``, and the config providers that we ship."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock.api.config import ConfigDef, ConfigKey, Importance, Type, java_pattern
from penstock.api.config_values import parse_value
from penstock.api.errors import ConfigError
from penstock.api.provider import ConfigProvider

from .plugins import PluginKind, Plugins, UnknownPlugin
from .properties import PropertiesError, load_properties

_REFERENCE = re.compile(r"\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}")

_ALLOWED_PATHS = ConfigDef(
    ConfigKey(
        "allowed.paths",
        Type.STRING,
        None,
        Importance.MEDIUM,
        "Folders and files that may be read, separated by commas; anything if not set.",
    )
)


class _PathProvider(ConfigProvider):
    """Reads below ``allowed.paths`` only, links followed."""

    config = _ALLOWED_PATHS

    def __init__(self) -> None:
        self._allowed: list[Path] = []
        self._restricted = False

    def configure(self, settings: Mapping[str, Any]) -> None:
        paths = parse_value("allowed.paths", settings.get("allowed.paths"), Type.LIST)
        self._restricted = paths is not None
        self._allowed = [Path(path) for path in paths or []]
        for path in self._allowed:
            if not path.is_absolute():
                raise ConfigError(f"Path {path} is not absolute")
            if not path.exists():
                raise ConfigError(f"Path {path} does not exist")

    def _checked(self, text: str) -> Path:
        path = Path(text)
        if not self._restricted:
            return path
        real = path.resolve()
        if not any(real.is_relative_to(allowed.resolve()) for allowed in self._allowed):
            raise ConfigError(f"The path {text} is not allowed to be accessed; see allowed.paths of the provider.")
        return real


class FileConfigProvider(_PathProvider):
    """``${file:/path/to/file.properties:key}``: a key of a properties file."""

    java_class = "org.apache.kafka.common.config.provider.FileConfigProvider"

    def get(self, path: str, key: str) -> str:
        file = self._checked(path)
        try:
            return load_properties(file)[key]
        except (OSError, PropertiesError) as error:
            raise ConfigError(f"Could not read properties from file {path}: {_reason(error)}") from error


class DirectoryConfigProvider(_PathProvider):
    """``${directory:/path/to/folder:name}``: the whole text of a file in a folder."""

    java_class = "org.apache.kafka.common.config.provider.DirectoryConfigProvider"

    def get(self, path: str, key: str) -> str:
        folder = self._checked(path)
        if not folder.is_dir():
            raise ConfigError(f"The path {path} is not a directory")
        if key in ("", ".", "..") or "/" in key or os.sep in key:
            raise KeyError(key)
        try:
            return self._checked(str(folder / key)).read_text("utf-8")
        except FileNotFoundError:
            raise KeyError(key) from None
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"Could not read file {path}/{key}: {_reason(error)}") from error


class EnvVarConfigProvider(ConfigProvider):
    """``${env:NAME}``: a variable of the worker's environment."""

    java_class = "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
    config = ConfigDef(
        ConfigKey(
            "allowlist.pattern",
            Type.STRING,
            ".*",
            Importance.LOW,
            "A regular expression; only variables whose whole name matches can be read.",
        )
    )

    def __init__(self) -> None:
        self._allowed = java_pattern(".*")

    def configure(self, settings: Mapping[str, Any]) -> None:
        pattern = settings.get("allowlist.pattern") or ".*"
        try:
            self._allowed = java_pattern(pattern)
        except ConfigError as error:
            raise ConfigError.invalid("allowlist.pattern", pattern, str(error)) from error

    def get(self, path: str, key: str) -> str:
        if path:
            raise ConfigError(f"Path is not supported for EnvVarConfigProvider, invalid value '{path}'")
        if not self._allowed.fullmatch(key):
            raise KeyError(key)
        return os.environ[key]


BUILT_IN_PROVIDERS = {
    "file": FileConfigProvider,
    "directory": DirectoryConfigProvider,
    "env": EnvVarConfigProvider,
    "envvar": EnvVarConfigProvider,
}
"""Short names that a worker file may use as ``config.providers.<name>.class``, besides class names."""


def references(text: str) -> list[str]:
    """The names of the providers a value refers to."""
    return [match.group(1) for match in _REFERENCE.finditer(text)]


class References:
    """Replaces references by what the worker's providers say. Safe to share between threads."""

    def __init__(self, providers: Mapping[str, ConfigProvider]) -> None:
        self._providers = dict(providers)

    def resolve(self, config: Mapping[str, str | None]) -> dict[str, str | None]:
        """A copy without references. Those to unknown providers stay as they are, as in Kafka Connect.

        Raises ``ConfigError`` that names the key and the reference, never a value.
        """
        return {key: value if value is None else self._resolve_value(key, value) for key, value in config.items()}

    def resolved_keys(self, config: Mapping[str, str | None]) -> frozenset[str]:
        """The keys whose values come, in part at least, from a provider: never to be shown."""
        return frozenset(
            key
            for key, value in config.items()
            if value is not None and not self._providers.keys().isdisjoint(references(value))
        )

    def _resolve_value(self, key: str, value: str) -> str:
        def replaced(match: re.Match[str]) -> str:
            provider = self._providers.get(match.group(1))
            if provider is None:
                return match.group(0)
            try:
                return provider.get(match.group(3) or "", match.group(4))
            except ConfigError as error:
                reason = str(error)
            except KeyError:
                reason = "there is no such value"
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
            raise ConfigError(f"Could not resolve {match.group(0)} in configuration {key}: {reason}")

        return _REFERENCE.sub(replaced, value)


def worker_references(plugins: Plugins, worker: Mapping[str, str]) -> References:
    """The providers that a worker's properties name, configured. Raises ``ConfigError`` naming the key at fault."""
    providers: dict[str, ConfigProvider] = {}
    for name in parse_value("config.providers", worker.get("config.providers"), Type.LIST) or []:
        prefix = f"config.providers.{name}."
        provider = _provider_class(plugins, prefix + "class", worker.get(prefix + "class") or name)()
        settings = {key[len(prefix) + 6 :]: v for key, v in worker.items() if key.startswith(prefix + "param.")}
        try:
            provider.configure(settings)
        except Exception as error:
            raise ConfigError(f"Config provider {name} does not accept its {prefix}param.*: {error}") from error
        providers[name] = provider
    return References(providers)


def _provider_class(plugins: Plugins, key: str, name: str) -> type[ConfigProvider]:
    built_in = BUILT_IN_PROVIDERS.get(name.lower())
    if built_in is not None:
        return built_in
    try:
        return plugins.find(name, PluginKind.CONFIG_PROVIDER).load()
    except UnknownPlugin as error:
        raise ConfigError.invalid(key, name, f"{error} Ours are: file, directory, env.") from None


def _reason(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)

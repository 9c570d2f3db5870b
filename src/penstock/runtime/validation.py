"""Checking a connector's configuration, as ``PUT /connector-plugins/{plugin}/config/validate`` answers it.

Everything here may call user code (``Connector.validate``, validators, constructors): callers run it off their
own thread, with a time limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.api.config import ClassResolver, ConfigDef, ConfigKey, ConfigValue, Importance, Type
from penstock.api.connector import Connector
from penstock.api.converter import Converter
from penstock.api.errors import ConfigError
from penstock.spark.needed_jars import FORMAT, needed_jar

from .plugins import PluginEntry, PluginKind, Plugins, UnknownPlugin
from .plugins_versions import InvalidVersionSpec, VersionRange
from .providers import References
from .requests import BadRequest, NotFound, Validation
from .restart_policy import restart_findings
from .validation_classes import class_names
from .validation_clients import override_findings
from .validation_json import Findings, connector_findings, definition_json, prefixed_findings
from .validation_keys import WORKER_CONVERTERS, framework_keys
from .validation_secrets import mask, without_secrets
from .validation_sides import check_sink, check_source
from .validation_transforms import with_transforms

NULL_VALUE = "Null value can not be supplied as the configuration value."
CONVERTER_TYPE = ConfigKey("converter.type", Type.STRING, importance=Importance.LOW, doc="What it converts.")


def validate_for(
    plugin: str, plugins: Plugins, worker: Mapping[str, str], references: References, config: Mapping[str, str | None]
) -> Validation:
    """:func:`validate`, for a request that names the plugin in its path as well."""
    included = config.get("connector.class")
    if included is not None and not _without_suffix(included).endswith(_without_suffix(plugin)):
        raise BadRequest(f"Included connector type {included} does not match request type {plugin}")
    return validate(plugins, worker, references, config)


def validate(
    plugins: Plugins, worker: Mapping[str, str], references: References, config: Mapping[str, str | None]
) -> Validation:
    """Every key of a configuration with what is wrong with it.

    Raises ``BadRequest`` where there is nothing to validate against: no or an unknown class, a reference that
    cannot be resolved, user code that fails.
    """
    try:
        props = references.resolve(config)
    except ConfigError as error:
        raise BadRequest(str(error)) from error
    name = props.get("connector.class")
    if name is None:
        raise BadRequest("Connector config contains no connector type")
    resolved = references.resolved_keys(config)
    try:
        entry = plugins.connector(name)
        findings = _findings(plugins, worker, entry, props)
    except (UnknownPlugin, ConfigError, BadRequest) as error:
        raise BadRequest(without_secrets(str(error), props, resolved)) from error
    mask(findings, config, props, resolved)
    return Validation(name, findings.error_count, findings.groups, findings.configs)


def check(
    plugins: Plugins, worker: Mapping[str, str], references: References, config: Mapping[str, str | None]
) -> None:
    """Refuse an invalid configuration: ``BadRequest`` with every error in its text."""
    validation = validate(plugins, worker, references, config)
    if validation.error_count:
        raise BadRequest(error_text(validation))


def error_text(validation: Validation) -> str:
    """What a create or update request with such a validation is answered."""
    errors = [error for entry in validation.configs if entry["value"] for error in entry["value"]["errors"]]
    return (
        f"Connector configuration is invalid and contains the following {validation.error_count} error(s):\n"
        + "\n".join(errors)
        + "\nYou can also find the above list of errors at the endpoint"
        " `/connector-plugins/{connectorType}/config/validate`"
    )


def plugin_config(plugins: Plugins, plugin: str, version: str | None = None) -> Sequence[Mapping[str, Any]]:
    """The definitions of a plugin's keys, its own first. ``NotFound`` or ``BadRequest`` with texts for the user."""
    try:
        wanted = VersionRange.parse(version)
    except InvalidVersionSpec:
        raise BadRequest(f"Invalid version specification: {version}") from None
    matches = plugins.matches(plugin)
    if not matches:
        raise NotFound(f"Unknown plugin {plugin}.{plugins.why_missing(plugin)}")
    if len({match.target for match in matches}) > 1:
        names = ", ".join(sorted({match.name for match in matches}))
        raise BadRequest(f"More than one plugin matches {plugin}. Please use the full name: {names}")
    entry = matches[0]
    _require_version(entry, plugin, wanted)
    if entry.kind is PluginKind.CONFIG_PROVIDER:
        valid = "sink, source, converter, header_converter, transformation, predicate"
        raise BadRequest(f"Invalid plugin class {plugin}. Valid types are {valid}.")
    keys = dict(_own_keys(entry).by_name)
    if entry.is_connector:
        for key in framework_keys(entry.kind, plugins, None, {"connector.class": entry.name}).keys:
            keys.setdefault(key.name, key)
    return [definition_json(key) for key in keys.values()]


def _findings(plugins: Plugins, worker: Mapping[str, str], entry: PluginEntry, props: Mapping[str, Any]) -> Findings:
    classes = class_names(plugins)
    framework = framework_keys(entry.kind, plugins, worker, props)
    refusal = _version_refusal(entry, props)
    if refusal is not None:
        return _wrong_version(framework, props, entry, refusal)
    framework = with_transforms(framework, plugins, props)
    values = framework.validate(props, classes)
    if entry.kind is PluginKind.SINK:
        check_sink(worker, props, values)
    else:
        check_source(worker, entry.load(), props, values)
    for key, value in props.items():
        if value is None:
            values.setdefault(key, ConfigValue(key)).errors.append(NULL_VALUE)
    own = _own_keys(entry)
    converters = _converter_findings(plugins, props, values)
    findings = connector_findings(
        {**framework.by_name, **own.by_name}, {**values, **_own_values(entry, own, props, classes, worker)}
    )
    findings.add(override_findings(worker, entry.kind, props))
    findings.add(converters)
    findings.add(restart_findings(props))
    return findings


def _own_keys(entry: PluginEntry) -> ConfigDef:
    config = getattr(entry.load(), "config", None)
    if not isinstance(config, ConfigDef):
        raise BadRequest(f"{entry.name}.config must be a ConfigDef.")
    if issubclass(entry.load(), Converter) and CONVERTER_TYPE.name not in config:
        return config.extended(CONVERTER_TYPE)
    return config


def _own_values(
    entry: PluginEntry, own: ConfigDef, props: Mapping[str, Any], classes: ClassResolver, worker: Mapping[str, str]
) -> dict[str, ConfigValue]:
    """What the connector says about its keys: its definitions and, if they are content, its ``validate``.

    Where it reads or writes by a format of Spark's, a jar that the worker does not have is an error of its key.
    """
    values = own.validate(props, classes)
    for one in own.keys:
        if one.recommender is None:
            values[one.name].recommended = list(one.choices)
    if any(value.errors for value in values.values()):
        return values
    settings = {key: value for key, value in props.items() if value is not None}
    try:
        connector: Connector = entry.load()()
        found = connector.validate(settings)
    except ConfigError:
        raise
    except Exception as error:
        raise BadRequest(f"{entry.name}.validate() failed with {type(error).__name__}: {error}") from error
    if not isinstance(found, Mapping):
        raise BadRequest(f"{entry.name}.validate() must return a mapping of keys to lists of errors.")
    for key, errors in found.items():
        values.setdefault(key, ConfigValue(key)).errors.extend([errors] if isinstance(errors, str) else errors)
    needed = needed_jar(settings, worker) if FORMAT in own else None
    if needed is not None:
        values.setdefault(needed[0], ConfigValue(needed[0])).errors.append(needed[1])
    return values


def _converter_findings(plugins: Plugins, props: Mapping[str, Any], values: Mapping[str, ConfigValue]) -> Findings:
    """The keys of converters that the connector names itself; problems to find them are errors of ``values``."""
    findings = Findings()
    for side in ("header", "key", "value"):
        key = f"{side}.converter"
        value, version = values[key], values[f"{key}.plugin.version"]
        if props.get(key) is None or value.errors or version.errors:
            continue
        kind, _ = WORKER_CONVERTERS[key]
        entry = plugins.find(value.value, kind)
        try:
            _require_version(entry, entry.name, VersionRange.parse(props.get(f"{key}.plugin.version")))
        except BadRequest as error:
            value.errors.append(str(error))
            version.errors.append(str(error))
            continue
        config = _own_keys(entry)
        prefix = f"{key}."
        settings = {"converter.type": side}
        settings.update((name[len(prefix) :], text) for name, text in props.items() if name.startswith(prefix))
        findings.add(prefixed_findings(config.by_name, config.validate(settings).values(), prefix))
    return findings


def _require_version(entry: PluginEntry, name: str, wanted: VersionRange | None) -> None:
    if wanted is not None and not wanted.contains(entry.version):
        raise BadRequest(
            f"Plugin {name} not found that matches the version range {wanted}, available versions: [{entry.version}]"
        )


def _version_refusal(entry: PluginEntry, props: Mapping[str, Any]) -> str | None:
    try:
        _require_version(entry, entry.name, VersionRange.parse(props.get("connector.plugin.version")))
    except BadRequest as error:
        return str(error)
    except InvalidVersionSpec:
        return None
    return None


def _wrong_version(framework: ConfigDef, props: Mapping[str, Any], entry: PluginEntry, refusal: str) -> Findings:
    """Nothing but the two keys at fault: without the connector the others cannot be judged."""
    names = ("connector.class", "connector.plugin.version")
    keys = {name: framework.by_name[name] for name in names}
    values = {name: ConfigValue(name, props[name], errors=[refusal]) for name in names}
    values["connector.plugin.version"].recommended = [entry.version]
    return connector_findings(keys, values)


def _without_suffix(name: str) -> str:
    return name.removesuffix("Connector") or name

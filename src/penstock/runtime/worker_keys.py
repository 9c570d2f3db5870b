"""The keys of a worker file: Kafka Connect's, with their meaning and defaults, and Penstock's own."""

from __future__ import annotations

from typing import Any

from ..api.config import (
    ConfigDef,
    ConfigKey,
    Importance,
    Type,
    Validator,
    at_least,
    between,
    non_empty_string,
    one_of,
    one_of_ignoring_case,
    unique_list,
)
from ..api.errors import ConfigError
from .listeners import check_listeners
from .logging import ACCESS_LEVELS, LEVELS

JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
SIMPLE_HEADER_CONVERTER = "org.apache.kafka.connect.storage.SimpleHeaderConverter"


def worker_key(
    group: str,
    name: str,
    type: Type,
    default: Any,
    doc: str,
    validator: Validator | None = None,
    importance: Importance = Importance.LOW,
) -> ConfigKey:
    """A key of a worker file; most matter little."""
    return ConfigKey(name, type, default, importance, doc, validator, group)


def _check_port(name: str, value: Any) -> None:
    if value is not None and not 0 < value < 65536:
        raise ConfigError.invalid(name, value, "A port is a number from 1 to 65535")


_WORKER = "Worker"
_REST = "REST API"
_DATA = "Data"
_TIME = "Time limits"
_PLUGINS = "Plugins"
_TOPICS = "Topics"
_KAFKA = "Kafka"
_HIGH, _MEDIUM = Importance.HIGH, Importance.MEDIUM

WORKER_KEYS = ConfigDef(
    worker_key(
        _WORKER,
        "data.dir",
        Type.STRING,
        "penstock-data",
        "The one folder of everything the worker remembers: connectors, offsets, statuses, topics, logs. One worker"
        " at a time may use it. A relative path starts at the folder where the worker is started.",
        non_empty_string,
        _HIGH,
    ),
    worker_key(
        _WORKER,
        "pipelines.path",
        Type.LIST,
        [],
        "Pipeline files, or folders with them (.yaml, .yml, .json), that are applied when the worker starts:"
        " connectors are created, updated and, when no file declares them any more, deleted.",
        unique_list(),
        _MEDIUM,
    ),
    worker_key(
        _WORKER,
        "pipelines.watch",
        Type.BOOLEAN,
        False,
        "Whether the files of pipelines.path are applied again whenever they change.",
    ),
    worker_key(
        _WORKER,
        "pipelines.delete.max.percent",
        Type.INT,
        50,
        "How much of the connectors that a set of pipeline files has declared applying it may delete, for fear of a"
        " folder that is not mounted. More is refused, unless the request says delete_many; of pipelines.path nothing"
        " is deleted then. Fewer than three deletions are never too many. 100 deletes whatever is no longer declared.",
        between(0, 100),
    ),
    worker_key(
        _WORKER,
        "log.level",
        Type.STRING,
        "INFO",
        "The level of the root logger at start: TRACE, DEBUG, INFO, WARN, ERROR, FATAL or OFF. It can be changed"
        " later through /admin/loggers.",
        one_of_ignoring_case(*LEVELS),
    ),
    worker_key(
        _WORKER,
        "log.file",
        Type.STRING,
        None,
        "Write the log to this file (rotated at 20 MB, five old ones kept) instead of standard output.",
        non_empty_string,
    ),
    worker_key(
        _WORKER,
        "log.format",
        Type.STRING,
        "text",
        "How a line of the log looks: text, or json for one JSON object with time, level, logger, message, connector,"
        " task and worker.",
        one_of_ignoring_case("text", "json"),
    ),
    worker_key(
        _WORKER,
        "log.access",
        Type.STRING,
        "changes",
        "Which requests to the REST API and the web page are logged, each with its address, user, status and duration:"
        " changes for those that change something or are refused, all, or none. While the worker runs the level of the"
        " logger penstock.rest.access chooses: DEBUG for all, INFO for changes, WARN for none.",
        one_of_ignoring_case(*ACCESS_LEVELS),
    ),
    worker_key(
        _REST,
        "listeners",
        Type.LIST,
        ["http://:8083"],
        "Where the REST API listens: protocol://hostname:port. Without a hostname, on all interfaces.",
        check_listeners,
        _HIGH,
    ),
    worker_key(
        _REST,
        "rest.advertised.host.name",
        Type.STRING,
        None,
        "The host name that others should use to reach this worker; also the first part of its worker_id.",
    ),
    worker_key(
        _REST,
        "rest.advertised.port",
        Type.INT,
        None,
        "The port that others should use to reach this worker; also the second part of its worker_id.",
        _check_port,
    ),
    worker_key(
        _REST,
        "rest.advertised.listener",
        Type.STRING,
        None,
        "The protocol (http or https) that others should use to reach this worker.",
    ),
    worker_key(
        _REST,
        "admin.listeners",
        Type.LIST,
        None,
        "Where /admin is served: absent means with the rest of the API, empty means nowhere.",
        lambda name, value: check_listeners(name, value) if value else None,
    ),
    worker_key(
        _REST,
        "access.control.allow.origin",
        Type.STRING,
        "",
        "Origins of web pages that may call the API (comma separated, * for all). Empty: none but our own page.",
    ),
    worker_key(
        _REST,
        "access.control.allow.methods",
        Type.STRING,
        "",
        "Methods that those web pages may use; empty means GET, POST and HEAD.",
    ),
    worker_key(
        _REST,
        "response.http.headers.config",
        Type.STRING,
        "",
        "Headers put on every answer: comma separated rules '[action] [name]:[value]' with the actions set, add,"
        " setDate and addDate.",
    ),
    worker_key(
        _REST,
        "rest.request.max.bytes",
        Type.LONG,
        10 * 1024 * 1024,
        "The largest request body that is read.",
        at_least(1),
    ),
    worker_key(
        _REST,
        "rest.auth.users.file",
        Type.STRING,
        None,
        "A file of users, as penstock user add writes it: from then on nobody else may use the API and the web page."
        " Read again when it changes. Without it, everybody may do everything.",
        non_empty_string,
        _MEDIUM,
    ),
    worker_key(
        _REST,
        "rest.auth.open.paths",
        Type.LIST,
        ["/health"],
        "Paths that may be read without credentials where there are users; /metrics and / may be wanted, too.",
    ),
    worker_key(
        _REST,
        "rest.extension.classes",
        Type.LIST,
        [],
        "Kafka Connect's BasicAuthSecurityRestExtension asks for rest.auth.users.file. Other Java extensions cannot be"
        " loaded, and a warning says so.",
    ),
    worker_key(
        _DATA,
        "key.converter",
        Type.CLASS,
        JSON_CONVERTER,
        "How record keys become bytes in topics and back. Keys that start with key.converter. go to it. Without this"
        " key: JSON without schemas.",
        importance=_HIGH,
    ),
    worker_key(
        _DATA,
        "value.converter",
        Type.CLASS,
        JSON_CONVERTER,
        "How record values become bytes in topics and back. Keys that start with value.converter. go to it. Without"
        " this key: JSON without schemas.",
        importance=_HIGH,
    ),
    worker_key(
        _DATA,
        "header.converter",
        Type.CLASS,
        SIMPLE_HEADER_CONVERTER,
        "How record headers become bytes in topics and back.",
    ),
    worker_key(
        _DATA,
        "offset.flush.interval.ms",
        Type.LONG,
        60_000,
        "Default of transaction.boundary.interval.ms. Else without effect: progress is committed with every batch.",
        at_least(0),
    ),
    worker_key(
        _DATA,
        "offset.flush.timeout.ms",
        Type.LONG,
        5_000,
        "Accepted for compatibility: offsets are committed together with the records they belong to.",
        at_least(0),
    ),
    worker_key(
        _TIME,
        "task.shutdown.graceful.timeout.ms",
        Type.LONG,
        5_000,
        "How long all tasks together may take to stop before they are abandoned.",
        at_least(0),
    ),
    worker_key(
        _TIME,
        "connector.call.timeout.ms",
        Type.LONG,
        30_000,
        "How long one call into a connector (start, stop, task_configs, validate, alter_offsets, …) may take before it"
        " is abandoned and the connector, or the request, has failed.",
        at_least(1),
        _MEDIUM,
    ),
    worker_key(
        _TIME,
        "lifecycle.hook.timeout.ms",
        Type.LONG,
        60_000,
        "How long on_created, on_updated or on_deleted of a connector may take before the call counts as failed.",
        at_least(1),
        _MEDIUM,
    ),
    worker_key(
        _TIME,
        "health.stalled.after.ms",
        Type.LONG,
        300_000,
        "How long a task may be busy with one batch, or try it again, before GET /connectors/{name}/health says that it"
        " is stalled.",
        at_least(0),
    ),
    worker_key(
        _PLUGINS,
        "plugin.path",
        Type.LIST,
        [],
        "Folders with plugins of your own: Python packages and modules with connectors, transforms, converters.",
        None,
        _HIGH,
    ),
    worker_key(
        _PLUGINS,
        "config.providers",
        Type.LIST,
        [],
        "Names of config providers, which resolve ${name:path:key} in configurations. config.providers.<name>.class"
        " and config.providers.<name>.param.<key> describe each.",
        unique_list(),
    ),
    worker_key(
        _PLUGINS,
        "connector.client.config.override.policy",
        Type.STRING,
        "All",
        "Which producer.override., consumer.override. and admin.override. keys a connector may set: All, None,"
        " Principal or Allowlist.",
    ),
    worker_key(
        _PLUGINS,
        "connector.client.config.override.allowlist",
        Type.LIST,
        [],
        "The keys that the Allowlist policy lets a connector set.",
    ),
    worker_key(
        _PLUGINS,
        "plugin.discovery",
        Type.STRING,
        "hybrid_warn",
        "Accepted for compatibility: plugins are found by entry points, in plugin.path and by their Python path.",
        one_of_ignoring_case("only_scan", "hybrid_warn", "hybrid_fail", "service_load"),
    ),
    worker_key(
        _TOPICS,
        "topic.creation.enable",
        Type.BOOLEAN,
        True,
        "Let source connectors create topics with the settings of their topic.creation. keys.",
    ),
    worker_key(
        _TOPICS,
        "topic.tracking.enable",
        Type.BOOLEAN,
        True,
        "Remember which topics each connector used, for GET /connectors/{name}/topics.",
    ),
    worker_key(
        _TOPICS,
        "topic.tracking.allow.reset",
        Type.BOOLEAN,
        True,
        "Let PUT /connectors/{name}/topics/reset forget them.",
    ),
    worker_key(
        _KAFKA,
        "bootstrap.servers",
        Type.LIST,
        None,
        "Kafka brokers (host:port, comma separated). With this key topics are in Kafka; without it they are in the"
        " embedded log in data.dir, and no broker is contacted.",
        importance=_HIGH,
    ),
    worker_key(
        _KAFKA,
        "exactly.once.source.support",
        Type.STRING,
        "disabled",
        "With topics in Kafka, enabled lets sources write records and source offsets in one transaction; it needs"
        " group.id and offset.storage.topic. The embedded log always commits them together, so there sources are"
        " exactly-once whatever this says.",
        one_of_ignoring_case("disabled", "preparing", "enabled"),
    ),
    worker_key(
        _KAFKA,
        "metrics.recording.level",
        Type.STRING,
        "INFO",
        "Accepted for compatibility: metrics are always recorded.",
        one_of("INFO", "DEBUG", "TRACE"),
    ),
)
"""Every key that has a meaning or a check here."""

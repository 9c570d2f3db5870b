"""A herder in memory: enough behaviour to exercise every route, and switches for what a test wants to go wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

from penstock.runtime.herder import Herder
from penstock.runtime.requests import (
    BadRequest,
    CleanupInfo,
    ComponentStatus,
    Conflict,
    ConnectorInfo,
    ConnectorStatus,
    CreateRequest,
    Health,
    LifecycleInfo,
    LoggerLevel,
    NotFound,
    OffsetEntry,
    RestartRequest,
    State,
    TargetState,
    TaskId,
    Validation,
)

T = TypeVar("T")

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
_WORKER = "localhost:8083"
_STATES = {TargetState.STARTED: State.RUNNING, TargetState.PAUSED: State.PAUSED, TargetState.STOPPED: State.STOPPED}
_INVALID = (
    "Connector configuration is invalid and contains the following {n} error(s):\n{errors}\n"
    "You can also find the above list of errors at the endpoint `/connector-plugins/{{connectorType}}/config/validate`"
)
_NOT_STOPPED = (
    "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the specified "
    "connector by issuing a 'PUT' request to the '/connectors/{name}/stop' endpoint"
)


@dataclass
class _Connector:
    config: dict[str, str | None]
    target: TargetState
    tasks: int
    offsets: list[OffsetEntry] = field(default_factory=list)


def _done(value: T) -> Future[T]:
    future: Future[T] = Future()
    future.set_result(value)
    return future


def _failed(error: BaseException) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(error)
    return future


class MemoryHerder(Herder):
    """Connectors start at once and have one task; offsets are what was given."""

    def __init__(self) -> None:
        self.known: dict[str, _Connector] = {}
        self.levels: dict[str, LoggerLevel] = {"root": LoggerLevel("INFO")}
        self.created: list[CreateRequest] = []
        self.deleted_with_offsets: list[str] = []
        self.stuck: Future[Any] | None = None
        self.failure: BaseException | None = None
        self.trace: str | None = None
        self.waiting = 0

    def connectors(self) -> Sequence[str]:
        return tuple(self.known)

    def _find(self, name: str, text: str = "Connector {name} not found") -> _Connector:
        if self.failure is not None:
            raise self.failure
        if name not in self.known:
            raise NotFound(text.format(name=name))
        return self.known[name]

    def connector_info(self, name: str) -> ConnectorInfo:
        found = self._find(name)
        return ConnectorInfo(name, found.config, [TaskId(name, n) for n in range(found.tasks)], _type(found.config))

    def connector_status(self, name: str) -> ConnectorStatus:
        found = self._find(name, "No status found for connector {name}")
        shown = ComponentStatus(_STATES[found.target], _WORKER, self.trace, "1.0.0")
        return ConnectorStatus(name, shown, [(n, shown) for n in range(found.tasks)], _type(found.config))

    def task_status(self, name: str, task: int) -> Mapping[str, Any]:
        if name not in self.known or not 0 <= task < self.known[name].tasks:
            raise NotFound(f"No status found for task {name}-{task}")
        state = _STATES[self.known[name].target].value
        return {"id": task, "state": state, "worker_id": _WORKER, "version": "1.0.0"}

    def task_configs(self, name: str) -> Sequence[tuple[int, Mapping[str, str]]]:
        found = self._find(name)
        config = {key: value for key, value in found.config.items() if value is not None}
        return [(n, {**config, "task.class": "Task"}) for n in range(found.tasks)]

    def active_topics(self, name: str) -> Sequence[str]:
        return ()

    def reset_active_topics(self, name: str) -> Future[None]:
        return _done(None)

    def create_connector(self, request: CreateRequest) -> Future[ConnectorInfo]:
        self.created.append(request)
        problem = _problem(request.config)
        if problem is not None:
            return _failed(problem)
        if request.name in self.known:
            return _failed(Conflict(f"Connector {request.name} already exists"))
        target = request.initial_state or TargetState.STARTED
        tasks = 1 if target is TargetState.STARTED else 0
        self.known[request.name] = _Connector(dict(request.config), target, tasks, list(request.offsets or ()))
        return _done(ConnectorInfo(request.name, request.config, [], _type(request.config)))

    def put_config(self, name: str, config: Mapping[str, str | None]) -> Future[tuple[bool, ConnectorInfo]]:
        problem = _problem(config)
        if problem is not None:
            return _failed(problem)
        if name not in self.known:
            return _done((True, self.create_connector(CreateRequest(name, config)).result()))
        self.known[name].config = dict(config)
        return _done((False, self.connector_info(name)))

    def patch_config(self, name: str, patch: Mapping[str, str | None]) -> Future[ConnectorInfo]:
        if name not in self.known:
            return _failed(NotFound(f"Connector {name} not found"))
        merged = {key: value for key, value in {**self.known[name].config, **patch}.items() if value is not None}
        problem = _problem(merged)
        if problem is not None:
            return _failed(problem)
        self.known[name].config = merged
        return _done(self.connector_info(name))

    def delete_connector(self, name: str, include_offsets: bool = False) -> Future[None]:
        if self.known.pop(name, None) is None:
            return _failed(NotFound(f"Connector {name} not found"))
        if include_offsets:
            self.deleted_with_offsets.append(name)
        return _done(None)

    def set_target_state(self, name: str, state: TargetState) -> Future[None]:
        if name not in self.known:
            return _failed(NotFound(f"Unknown connector {name}"))
        self.known[name].target = state
        if state is not TargetState.PAUSED:
            self.known[name].tasks = 1 if state is TargetState.STARTED else 0
        return _done(None)

    def restart_connector(self, request: RestartRequest) -> Future[ConnectorStatus | None]:
        if request.connector not in self.known:
            return _failed(NotFound(f"Unknown connector: {request.connector}"))
        if not request.only_failed and not request.include_tasks:
            return _done(None)
        status = self.connector_status(request.connector)
        if request.only_failed:
            return _done(status)
        shown = ComponentStatus(State.RESTARTING, _WORKER, None, "1.0.0")
        return _done(ConnectorStatus(status.name, shown, [(n, shown) for n, _ in status.tasks], status.type))

    def restart_task(self, name: str, task: int) -> Future[None]:
        if name not in self.known:
            return _failed(NotFound(f"Unknown connector: {name}"))
        return _done(None) if task < self.known[name].tasks else _failed(NotFound(f"Unknown task: {name}-{task}"))

    def offsets(self, name: str) -> Future[Sequence[OffsetEntry]]:
        if self.stuck is not None:
            self.waiting += 1
            return self.stuck
        if name not in self.known:
            return _failed(NotFound(f"Connector {name} not found"))
        return _done(self.known[name].offsets)

    def alter_offsets(self, name: str, offsets: Sequence[OffsetEntry] | None) -> Future[str]:
        if not offsets:
            return _failed(BadRequest("Partitions / offsets need to be provided for an alter offsets request"))
        problem = self._not_stopped(name)
        if problem is not None:
            return _failed(problem)
        self.known[name].offsets = list(offsets)
        return _done("The offsets for this connector have been altered successfully")

    def reset_offsets(self, name: str) -> Future[str]:
        problem = self._not_stopped(name)
        if problem is not None:
            return _failed(problem)
        self.known[name].offsets = []
        return _done("The offsets for this connector have been reset successfully")

    def _not_stopped(self, name: str) -> Exception | None:
        if name not in self.known:
            return NotFound(f"Connector {name} not found")
        stopped = self.known[name].target is TargetState.STOPPED
        return None if stopped else BadRequest(_NOT_STOPPED.format(name=name))

    def lifecycle(self, name: str) -> LifecycleInfo:
        return LifecycleInfo(name, self._find(name).config, None, None)

    def cleanups(self) -> Sequence[CleanupInfo]:
        return []

    def give_up_cleanup(self, cleanup: str) -> Future[None]:
        return _failed(NotFound(f"Clean-up {cleanup} not found"))

    def plugins(self, connectors_only: bool) -> Sequence[Mapping[str, str]]:
        found = [
            {"class": SINK, "type": "sink", "version": "4.1.1"},
            {"class": SOURCE, "type": "source", "version": "4.1.1"},
        ]
        more = {"class": "org.apache.kafka.connect.storage.StringConverter", "type": "converter", "version": "4.1.1"}
        return found if connectors_only else [*found, more]

    def plugin_config(self, plugin: str, version: str | None = None) -> Future[Sequence[Mapping[str, Any]]]:
        if "FileStream" not in plugin:
            return _failed(NotFound(f"Unknown plugin {plugin}."))
        return _done([_definition("file")])

    def validate(self, plugin: str, config: Mapping[str, str | None]) -> Future[Validation]:
        name = config.get("connector.class")
        if name is None:
            return _failed(BadRequest(f"Connector config {dict(config)} contains no connector type"))
        if not name.removesuffix("Connector").endswith(plugin.removesuffix("Connector")):
            text = f"Included connector type {name} does not match request type {plugin}"
            return _failed(BadRequest(text))
        value = {"name": "file", "value": config.get("file"), "recommended_values": [], "errors": [], "visible": True}
        return _done(Validation(name, 0, ["Common"], [{"definition": _definition("file"), "value": value}]))

    def loggers(self) -> Mapping[str, LoggerLevel]:
        return self.levels

    def logger(self, name: str) -> LoggerLevel:
        if name not in self.levels:
            raise NotFound(f"Logger {name} not found.")
        return self.levels[name]

    def set_logger(self, namespace: str, level: str, cluster: bool) -> Sequence[str]:
        if namespace in self.levels and self.levels[namespace].level == level:
            return []
        self.levels[namespace] = LoggerLevel(level, 1700000000000)
        return [namespace]

    def health(self) -> Future[Health]:
        if self.stuck is not None:
            return self.stuck
        return _done(Health("healthy", "Worker has completed startup and is ready to handle requests."))

    def server_info(self) -> Mapping[str, str]:
        return {"version": "4.1.1", "commit": "unknown", "kafka_cluster_id": "memory"}


def _type(config: Mapping[str, str | None]) -> str:
    name = config.get("connector.class") or ""
    return "source" if "Source" in name else "sink" if "Sink" in name else "unknown"


def _problem(config: Mapping[str, str | None]) -> BadRequest | None:
    if not config.get("connector.class"):
        return BadRequest(f"Connector config {dict(config)} contains no connector type")
    errors = []
    if config.get("name") == "":
        errors.append("Invalid value  for configuration name: String may not be empty")
    if config.get("tasks.max") == "0":
        errors.append("Invalid value 0 for configuration tasks.max: Value must be at least 1")
    errors += ["Null value can not be supplied as the configuration value." for v in config.values() if v is None]
    if "topic" not in config and _type(config) == "source":
        errors.append('Missing required configuration "topic" which has no default value.')
    return BadRequest(_INVALID.format(n=len(errors), errors="\n".join(errors))) if errors else None


def _definition(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "type": "STRING",
        "required": False,
        "default_value": None,
        "importance": "HIGH",
        "documentation": "Source filename.",
        "group": None,
        "width": "NONE",
        "display_name": name,
        "dependents": [],
        "order": -1,
    }

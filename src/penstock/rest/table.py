"""Every route of the API, declared once: dispatch and the OpenAPI document are both made from this table."""

from __future__ import annotations

from typing import Any

from penstock.runtime.dead_letters import ReplayOutcome
from penstock.runtime.health import ConnectorHealth
from penstock.runtime.provisioning.plan import Declared, Plan
from penstock.runtime.requests import (
    CleanupInfo,
    ConnectorInfo,
    LifecycleInfo,
    LoggerLevel,
    RestoredOffsets,
    WorkerInfo,
)
from penstock.runtime.topic_views import TopicView

from . import (
    admin,
    connectors,
    dead_letters,
    health,
    lifecycle,
    logs,
    metrics,
    offsets,
    plugins,
    provisioning,
    statuses,
    topics,
    worker,
)
from .bodies import (
    ConfigBody,
    ConfigPatch,
    CreateBody,
    LevelBody,
    OffsetsBody,
    config_body,
    create_body,
    level_body,
    offsets_body,
)
from .models import (
    ActiveTopics,
    CreatedView,
    ExpandedConnector,
    HealthView,
    KeyDefinition,
    Message,
    OffsetsView,
    PluginView,
    ServerInfo,
    StatusView,
    TaskInfo,
    TaskView,
    UserView,
    ValidationView,
)
from .routing import Body, Parameter, Reply, Route

_BOOLEAN: dict[str, Any] = {"type": "boolean", "default": False}
_UNKNOWN = "No such connector"
_NO_TOPIC = "No such topic"
_CONFLICT = "A conflicting operation is under way"

_forward = Parameter("forward", "Whether another worker may be asked (used between workers)", {"type": "boolean"})
_signature = (
    Parameter("X-Connect-Authorization", "MAC of the body, in base64", {"type": "string"}, "header", required=True),
    Parameter("X-Connect-Request-Signature-Algorithm", "Name of the MAC", {"type": "string"}, "header", required=True),
)
_known = Parameter(
    "X-Penstock-Config-Position",
    "Position of the config topic up to which the sender had read it: refused when the connector was written since",
    {"type": "integer"},
    "header",
)
_lines = {"connector.class": "FileStreamSource", "tasks.max": "1", "file": "lines.txt", "topic": "lines"}
_new = {"name": "lines", "config": _lines, "initial_state": "STOPPED"}
_position = {"offsets": [{"partition": {"filename": "lines.txt"}, "offset": {"position": 0}}]}
_pipeline = {"id": "lines", "connectors": [{"name": "lines", "config": _lines}]}
_config = Body(ConfigBody, config_body, _lines)

WORKER = (
    Route("GET", "/", "Version of the worker", worker.server_info, {200: Reply("The worker", ServerInfo)},
          json_only=False),
    Route("GET", "/health", "Whether the worker can do its work", worker.health,
          {200: Reply("It can", HealthView), 503: Reply("It is starting", HealthView),
           500: Reply("It is stuck", HealthView)},
          json_only=False),
    Route("GET", "/user", "Who asks, and with which role: admin, or read-only, which may change nothing",
          worker.get_user, {200: Reply("The user; without a name where there are no users", UserView)}),
    Route("GET", "/workers", "Workers of the cluster with what is assigned to them; a standalone worker lists itself",
          worker.list_workers, {200: Reply("The workers", list[WorkerInfo])},
          {409: "No leader is known, or a conflicting operation is under way"}, parameters=[_forward]),
    Route("GET", "/metrics", "Metrics in the text format of Prometheus", metrics.get_metrics,
          {200: Reply("The metrics")}, json_only=False),
)  # fmt: skip

CONNECTORS = (
    Route("GET", "/connectors", "Names of all connectors", connectors.list_connectors,
          {200: Reply("Names, or with expand an object by name", list[str] | dict[str, ExpandedConnector])},
          parameters=[Parameter("expand", "What to show of each connector; may be repeated",
                           {"type": "array", "items": {"type": "string", "examples": ["status", "info", "health"]}})]),
    Route("POST", "/connectors", "Create a connector", connectors.create_connector,
          {201: Reply("Created", CreatedView, location=True)},
          {409: "The name is taken, or a conflicting operation is under way"},
          parameters=[_forward], body=Body(CreateBody, create_body, _new)),
    Route("GET", "/connectors/{connector}", "A connector", connectors.get_connector,
          {200: Reply("The connector", ConnectorInfo)}, {404: _UNKNOWN}),
    Route("DELETE", "/connectors/{connector}", "Delete a connector", connectors.delete_connector,
          {204: Reply("Deleted")}, {404: _UNKNOWN, 409: _CONFLICT},
          parameters=[_forward, Parameter("includeOffsets", "Forget its offsets as well", _BOOLEAN)]),
    Route("GET", "/connectors/{connector}/config", "The configuration", connectors.get_config,
          {200: Reply("Configuration by key", dict[str, str | None])}, {404: _UNKNOWN}),
    Route("PUT", "/connectors/{connector}/config", "Create a connector or replace its configuration",
          connectors.put_config,
          {200: Reply("Replaced", ConnectorInfo), 201: Reply("Created", ConnectorInfo, location=True)},
          {409: _CONFLICT}, parameters=[_forward], body=_config),
    Route("PATCH", "/connectors/{connector}/config", "Change some keys; null removes one", connectors.patch_config,
          {200: Reply("Changed", ConnectorInfo)}, {404: _UNKNOWN, 409: _CONFLICT}, parameters=[_forward],
          body=Body(ConfigPatch, config_body, {"tasks.max": "2", "batch.size": None})),
    Route("GET", "/connectors/{connector}/status", "The state of a connector and its tasks", statuses.get_status,
          {200: Reply("The status", StatusView)}, {404: "No status is known"}),
    Route("GET", "/connectors/{connector}/health", "How a connector and its tasks are, and why",
          health.get_connector_health, {200: Reply("The health", ConnectorHealth)}, {404: _UNKNOWN},
          parameters=[_forward]),
    Route("GET", "/connectors/{connector}/logs", "The last lines of the log that belong to a connector",
          logs.get_logs, {200: Reply("The lines, oldest first", logs.LogView)}, {404: _UNKNOWN},
          parameters=[Parameter("lines", "How many at most", {"type": "integer", "default": 100, "minimum": 1,
                                                              "maximum": 500}), _forward]),
    Route("POST", "/connectors/{connector}/restart", "Restart the connector instance, its tasks, or what failed",
          connectors.restart_connector,
          {202: Reply("The plan that will be carried out", StatusView), 204: Reply("Restarted")},
          {404: _UNKNOWN, 409: _CONFLICT},
          parameters=[Parameter("includeTasks", "Restart tasks too", _BOOLEAN),
                 Parameter("onlyFailed", "Restart only what has failed", _BOOLEAN), _forward]),
    Route("PUT", "/connectors/{connector}/pause", "Pause a connector", connectors.pause,
          {202: Reply("It will be paused")}, {404: _UNKNOWN, 409: _CONFLICT}),
    Route("PUT", "/connectors/{connector}/resume", "Resume a connector", connectors.resume,
          {202: Reply("It will run")}, {404: _UNKNOWN, 409: _CONFLICT}),
    Route("PUT", "/connectors/{connector}/stop", "Stop a connector and give up its tasks", connectors.stop,
          {204: Reply("It will be stopped")}, {404: _UNKNOWN, 409: _CONFLICT}, parameters=[_forward]),
    Route("GET", "/connectors/{connector}/tasks", "Tasks with their configurations", connectors.list_tasks,
          {200: Reply("The tasks", list[TaskInfo])}, {404: _UNKNOWN}),
    Route("GET", "/connectors/{connector}/tasks/{task}/status", "The state of a task", statuses.get_task_status,
          {200: Reply("The status", TaskView)}, {404: "No status is known"}),
    Route("POST", "/connectors/{connector}/tasks/{task}/restart", "Restart a task", connectors.restart_task,
          {204: Reply("Restarted")}, {404: "No such connector or task", 409: _CONFLICT}, parameters=[_forward]),
    Route("GET", "/connectors/{connector}/topics", "Topics the connector has used", connectors.get_topics,
          {200: Reply("Topics by connector", dict[str, ActiveTopics])}, {403: "Topic tracking is disabled"}),
    Route("PUT", "/connectors/{connector}/topics/reset", "Forget which topics were used", connectors.reset_topics,
          {202: Reply("Forgotten")}, {403: "Topic tracking or its reset is disabled"}),
    Route("POST", "/connectors/{connector}/tasks", "Hand over task configurations (between workers, signed)",
          worker.put_task_configs, {204: Reply("Taken")}, {403: "Wrong signature", 404: _UNKNOWN, 409: _CONFLICT},
          parameters=[_forward, *_signature, _known], json_only=False, signed=True,
          body=Body(list[dict[str, str | None]], worker.raw_body, [_lines])),
    Route("PUT", "/connectors/{connector}/fence", "Fence old tasks (between workers, signed)",
          worker.fence_zombies, {204: Reply("Fenced")}, {403: "Wrong signature", 404: _UNKNOWN, 409: _CONFLICT},
          parameters=[_forward, *_signature], json_only=False, signed=True),
)  # fmt: skip

OFFSETS = (
    Route("GET", "/connectors/{connector}/offsets", "Committed offsets", offsets.get_offsets,
          {200: Reply("Offsets by partition", OffsetsView)}, {404: _UNKNOWN}),
    Route("PATCH", "/connectors/{connector}/offsets", "Change offsets of a stopped connector",
          offsets.alter_offsets, {200: Reply("Changed", Message)}, {404: _UNKNOWN, 409: _CONFLICT},
          parameters=[_forward], body=Body(OffsetsBody, offsets_body, _position)),
    Route("DELETE", "/connectors/{connector}/offsets", "Forget all offsets of a stopped connector",
          offsets.reset_offsets, {200: Reply("Forgotten", Message)}, {404: _UNKNOWN, 409: _CONFLICT},
          parameters=[_forward]),
    Route("POST", "/connectors/{connector}/offsets/restore",
          "Write offsets of a stopped source anew whose topic was deleted, from the memory of the leader",
          offsets.restore_offsets, {200: Reply("What was written", RestoredOffsets)},
          {404: _UNKNOWN, 409: "The topic cannot be made again or used, or a conflicting operation is under way"},
          parameters=[_forward, Parameter("dryRun", "Only tell what would be written; it may run", _BOOLEAN),
                      Parameter("force", "Write all that is known, though nothing of it was lost", _BOOLEAN)]),
)  # fmt: skip

LIFECYCLE = (
    Route("GET", "/connectors/{connector}/lifecycle", "Active configuration and hooks of a connector",
          lifecycle.get_lifecycle, {200: Reply("What hooks did and will do", LifecycleInfo)}, {404: _UNKNOWN}),
    Route("GET", "/lifecycle/cleanups", "Deletion hooks that still have to succeed", lifecycle.list_cleanups,
          {200: Reply("Clean-ups, the oldest first", list[CleanupInfo])}),
    Route("DELETE", "/lifecycle/cleanups/{cleanup}", "Give up a clean-up: what it would remove stays",
          lifecycle.give_up_cleanup, {204: Reply("Given up")}, {404: "No such clean-up"}),
)  # fmt: skip

DEAD_LETTERS = (
    Route("GET", "/connectors/{connector}/dead-letters", "Records that failed", dead_letters.list_dead_letters,
          {200: Reply("Dead letters, the oldest first", dead_letters.DeadLettersView)},
          {404: "No such connector or dead letter"},
          parameters=[Parameter("limit", "How many at most", {"type": "integer", "default": 100, "minimum": 1,
                                                              "maximum": 1000}),
                      Parameter("after", "The id of the last one of the page before", {"type": "string"}),
                      Parameter("id", "Only these; may be repeated", {"type": "array", "items": {"type": "string"}})]),
    Route("POST", "/connectors/{connector}/dead-letters/replay", "Take failed records through the connector again",
          dead_letters.replay_dead_letters, {200: Reply("What became of them", ReplayOutcome)},
          {404: "No such connector or dead letter", 409: "The connector is not running"},
          body=Body(dead_letters.ReplayBody, dead_letters.replay_body, {"all": True})),
)  # fmt: skip

TOPICS = (
    Route("GET", "/topics", "Topics with their partitions", topics.list_topics,
          {200: Reply("The topics, by name", list[TopicView])}),
    Route("GET", "/topics/{topic}", "A topic", topics.get_topic,
          {200: Reply("The topic", TopicView)}, {404: _NO_TOPIC}),
    Route("GET", "/topics/{topic}/offsets", "Offsets of a topic at a time", topics.get_topic_offsets,
          {200: Reply("An offset for each partition", topics.OffsetsAtView)}, {404: _NO_TOPIC},
          parameters=[Parameter("at", "earliest, latest, or milliseconds since 1970",
                                {"type": "string", "default": "earliest"})]),
    Route("GET", "/topics/{topic}/records", "Records of a topic", topics.get_records,
          {200: Reply("Records, each partition in order", topics.RecordsView)}, {404: _NO_TOPIC},
          parameters=[Parameter("from", "Partitions and the offsets to begin at, as in 0:17,1:4; all from their start "
                                        "by default", {"type": "string"}),
                      Parameter("limit", "How many at most", {"type": "integer", "default": 100, "minimum": 1,
                                                              "maximum": 1000})]),
)  # fmt: skip

PIPELINES = (
    Route("GET", "/pipelines", "What pipeline files have declared, and what has drifted from it",
          provisioning.list_pipelines, {200: Reply("Pipelines by id", Declared)}),
    Route("POST", "/pipelines/plan", "What applying pipeline files would do", provisioning.plan_pipelines,
          {200: Reply("The plan, with the errors of the files", Plan)},
          body=Body(provisioning.PlanBody, provisioning.plan_body, {"pipelines": [_pipeline]})),
    Route("POST", "/pipelines/apply", "Do what pipeline files want, all or nothing", provisioning.apply_pipelines,
          {200: Reply("What was done", Plan)}, {409: "The plan is out of date"},
          body=Body(provisioning.ApplyBody, provisioning.apply_body, {"pipelines": [_pipeline], "plan": None})),
    Route("GET", "/schemas/pipeline.json", "JSON Schema of pipeline files", provisioning.get_pipeline_schema,
          {200: Reply("The schema", dict[str, Any])}),
)  # fmt: skip

PLUGINS = (
    Route("GET", "/connector-plugins", "Installed plugins", plugins.list_plugins,
          {200: Reply("The plugins", list[PluginView])},
          parameters=[Parameter("connectorsOnly", "Leave out all but connectors",
                                {"type": "boolean", "default": True})]),
    Route("GET", "/connector-plugins/{plugin}/config", "Keys of a plugin", plugins.get_plugin_config,
          {200: Reply("Definitions of its keys", list[KeyDefinition])}, {404: "No such plugin"},
          parameters=[Parameter("version", "Which version of the plugin, latest by default", {"type": "string"})]),
    Route("PUT", "/connector-plugins/{plugin}/config/validate", "Check a configuration without using it",
          plugins.validate, {200: Reply("Every key with its errors", ValidationView)}, body=_config),
)  # fmt: skip

ADMIN = (
    Route("GET", "/admin/loggers", "Loggers with their levels", admin.list_loggers,
          {200: Reply("Levels by logger", dict[str, LoggerLevel])}, admin=True),
    Route("GET", "/admin/loggers/{logger}", "The level of a logger", admin.get_logger,
          {200: Reply("The level", LoggerLevel)}, {404: "No such logger"}, admin=True),
    Route("PUT", "/admin/loggers/{logger}", "Set the level of a logger and all below it", admin.set_logger,
          {200: Reply("Loggers whose level changed", list[str]), 204: Reply("Set on every worker")},
          {404: "No such level"}, admin=True, body=Body(LevelBody, level_body, {"level": "DEBUG"}),
          parameters=[Parameter("scope", "worker (default) or cluster", {"type": "string", "default": "worker"})]),
)  # fmt: skip

ROUTES: tuple[Route, ...] = (
    WORKER + CONNECTORS + OFFSETS + DEAD_LETTERS + LIFECYCLE + TOPICS + PIPELINES + PLUGINS + ADMIN
)

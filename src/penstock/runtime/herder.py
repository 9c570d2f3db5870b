"""The one interface behind REST, command line and pipeline files: every request on connectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from penstock.topics.interface import TopicPartition

from .dead_letters import DeadLetterPage, ReplayOutcome, ReplayRequest
from .health import ConnectorHealth
from .metrics import Capacity, GroupView, MeasuredTask, WorkerMetrics
from .pipeline_files import PipelineFiles
from .provisioning.plan import Declared, Plan
from .recent_log import LogLine
from .requests import (
    CleanupInfo,
    ConnectorInfo,
    ConnectorStatus,
    CreateRequest,
    Health,
    LifecycleInfo,
    LoggerLevel,
    OffsetEntry,
    RequestError,
    RestartRequest,
    RestoredOffsets,
    TargetState,
    Validation,
    WorkerInfo,
)
from .session_keys import signature
from .topic_views import RecordPage, TopicView


class Herder(ABC):
    """Takes requests and answers them.

    Methods that return plain values answer at once from memory, whatever the herder is busy with, and may be
    called from any thread or event loop. Methods that return a :class:`~concurrent.futures.Future` are queued;
    the future fails with a :class:`~penstock.runtime.requests.RequestError` whose text is for the user.
    """

    @abstractmethod
    def connectors(self) -> Sequence[str]:
        """The names of all connectors."""

    @abstractmethod
    def connector_info(self, name: str) -> ConnectorInfo:
        """Raises ``NotFound`` (``Connector <name> not found``)."""

    @abstractmethod
    def connector_status(self, name: str) -> ConnectorStatus:
        """Raises ``NotFound`` (``No status found for connector <name>``)."""

    @abstractmethod
    def task_status(self, name: str, task: int) -> Mapping[str, Any]:
        """The JSON shape of one task's status. Raises ``NotFound`` (``No status found for task <name>-<task>``)."""

    @abstractmethod
    def task_configs(self, name: str) -> Sequence[tuple[int, Mapping[str, str | None]]]:
        """Raw task configurations by id. Raises ``NotFound``."""

    @abstractmethod
    def active_topics(self, name: str) -> Sequence[str]:
        """Topics the connector has used; empty for an unknown one. ``Forbidden`` when tracking is off."""

    @abstractmethod
    def reset_active_topics(self, name: str) -> Future[None]:
        """``Forbidden`` when tracking, or its reset, is off."""

    @abstractmethod
    def create_connector(self, request: CreateRequest) -> Future[ConnectorInfo]:
        """Validate, write, start. ``BadRequest`` for an invalid config, ``Conflict`` for an existing name."""

    @abstractmethod
    def put_config(self, name: str, config: Mapping[str, str | None]) -> Future[tuple[bool, ConnectorInfo]]:
        """Create or replace; the flag tells whether it was created."""

    @abstractmethod
    def patch_config(self, name: str, patch: Mapping[str, str | None]) -> Future[ConnectorInfo]:
        """Merge into the stored config; ``None`` removes a key."""

    @abstractmethod
    def delete_connector(self, name: str, include_offsets: bool = False) -> Future[None]:
        """Stop and forget; with ``include_offsets`` its offsets as well, all or nothing."""

    @abstractmethod
    def set_target_state(self, name: str, state: TargetState) -> Future[None]:
        """Pause, resume or stop. Ends when the wish is durable; the status follows."""

    @abstractmethod
    def restart_connector(self, request: RestartRequest) -> Future[ConnectorStatus | None]:
        """Without flags: ends when the connector instance was restarted, with ``None``. With flags: the plan."""

    @abstractmethod
    def restart_task(self, name: str, task: int) -> Future[None]:
        """Stop and start one task."""

    @abstractmethod
    def offsets(self, name: str) -> Future[Sequence[OffsetEntry]]:
        """Committed offsets of a source or sink."""

    @abstractmethod
    def sink_lag(self, name: str) -> Future[Mapping[TopicPartition, int | None]]:
        """Records that a sink has not yet committed, for each partition of its topics; ``None`` beyond the end.

        One without a committed position counts from where the sink would begin.
        """

    @abstractmethod
    def alter_offsets(self, name: str, offsets: Sequence[OffsetEntry] | None) -> Future[str]:
        """Change offsets of a stopped connector; ends with the message for the user."""

    @abstractmethod
    def reset_offsets(self, name: str) -> Future[str]:
        """Forget all offsets of a stopped connector; ends with the message for the user."""

    @abstractmethod
    def restore_offsets(self, name: str, force: bool = False, dry_run: bool = False) -> Future[RestoredOffsets]:
        """Write offsets of a stopped source again whose topic was deleted, from memory; ``force``: be they there.

        ``dry_run`` only tells what would be written, of a running one as well.
        """

    @abstractmethod
    def lifecycle(self, name: str) -> LifecycleInfo:
        """Active configuration and hooks of a connector. Raises ``NotFound`` (``Connector <name> not found``)."""

    @abstractmethod
    def cleanups(self) -> Sequence[CleanupInfo]:
        """Deletion hooks that still have to succeed, the oldest first."""

    @abstractmethod
    def give_up_cleanup(self, cleanup: str) -> Future[None]:
        """Forget a clean-up for good. Raises ``NotFound`` (``Clean-up <id> not found``)."""

    @abstractmethod
    def plan_pipelines(self, files: PipelineFiles, adopt: bool = False) -> Future[Plan]:
        """What applying pipeline files would do; their errors are part of the plan.

        ``adopt`` lets files take over connectors that the API made.
        """

    @abstractmethod
    def apply_pipelines(
        self, files: PipelineFiles, plan: str | None = None, adopt: bool = False, delete_many: bool = False
    ) -> Future[Plan]:
        """Do what the files want, all or nothing; ends with what was done.

        ``BadRequest`` with every error of the files, or when so many connectors would be deleted that it has to be told
        to ``delete_many``; ``Conflict`` when ``plan`` is not the hash of what would be done.
        """

    @abstractmethod
    def pipelines(self) -> Declared:
        """What pipeline files have declared, and how far it drifted from that."""

    @abstractmethod
    def dead_letters(self, name: str, after: str | None, limit: int) -> Future[DeadLetterPage]:
        """Failed records of a connector behind ``after``. ``BadRequest`` when it has no dead letter queue."""

    @abstractmethod
    def find_dead_letters(self, name: str, ids: Sequence[str]) -> Future[DeadLetterPage]:
        """Certain failed records. Raises ``NotFound`` when one of them is not there."""

    @abstractmethod
    def replay_dead_letters(self, name: str, request: ReplayRequest) -> Future[ReplayOutcome]:
        """Take failed records through the connector again; ``Conflict`` when it is not running."""

    @abstractmethod
    def topics(self) -> Future[Sequence[TopicView]]:
        """Every topic of the worker's home for topics, by name."""

    @abstractmethod
    def topic(self, topic: str) -> Future[TopicView]:
        """Raises ``NotFound`` (``Topic <topic> not found``)."""

    @abstractmethod
    def topic_offsets(self, topic: str, when: str) -> Future[Sequence[int]]:
        """The offset of each partition at ``earliest``, ``latest`` or milliseconds since 1970."""

    @abstractmethod
    def topic_records(self, topic: str, start: Mapping[int, int | None], limit: int) -> Future[RecordPage]:
        """Records from partition → offset on (``None``: from the earliest), at most ``limit``."""

    @abstractmethod
    def plugins(self, connectors_only: bool) -> Sequence[Mapping[str, str]]:
        """``class``, ``type`` and ``version`` of installed plugins."""

    @abstractmethod
    def plugin_config(self, plugin: str, version: str | None = None) -> Future[Sequence[Mapping[str, Any]]]:
        """The definition of a plugin's keys, in the JSON shape of the REST API."""

    @abstractmethod
    def validate(self, plugin: str, config: Mapping[str, str | None]) -> Future[Validation]:
        """Check a configuration without using it."""

    @abstractmethod
    def loggers(self) -> Mapping[str, LoggerLevel]:
        """Every logger with its level."""

    @abstractmethod
    def logger(self, name: str) -> LoggerLevel:
        """Raises ``NotFound`` (``Logger <name> not found.``)."""

    @abstractmethod
    def set_logger(self, namespace: str, level: str, cluster: bool) -> Sequence[str]:
        """Set a level, here or (``cluster``) on every worker; the names whose level changed."""

    def latest(self) -> Future[None] | None:
        """Ends when reads show all that other workers have written by now, as far as Kafka answers soon; never fails.

        ``None`` when there are no others.
        """
        return None

    @abstractmethod
    def masked(
        self, config: Mapping[str, str | None], connector: Mapping[str, str | None] | None = None
    ) -> Mapping[str, str | None]:
        """A configuration without its secrets. ``connector``: that of the connector, for one of its tasks."""

    @abstractmethod
    def holds_secrets(self, topic: str) -> bool:
        """Whether the records of a topic are configurations with their secrets, not what connectors move."""

    def is_signed_question(self, target: bytes, headers: Mapping[str, str]) -> bool:
        """Whether the signing headers of a GET show that another worker of this cluster has asked for ``target``."""
        return False

    def take_task_configs(self, name: str, body: bytes, headers: Mapping[str, str]) -> Future[None]:
        """Task configs that another worker made, as JSON. Only for workers of a cluster.

        The headers sign it, and tell what that worker knew.
        """
        signature(headers)
        raise RequestError("Kafka Connect in standalone mode does not support externally setting task configurations.")

    def fence_zombies(self, name: str, body: bytes, headers: Mapping[str, str]) -> Future[None]:
        """Fence old source tasks, since another worker is to start new ones. Only for workers of a cluster."""
        signature(headers)
        raise RequestError("Kafka Connect in standalone mode does not support exactly-once source connectors.")

    @abstractmethod
    def connector_healths(self, names: Sequence[str], others: bool = True) -> Future[Mapping[str, ConnectorHealth]]:
        """How these connectors are, by name. Without ``others`` no other worker is asked for what it runs."""

    @abstractmethod
    def recent_log(self, name: str, lines: int, others: bool = True) -> Future[Sequence[LogLine]]:
        """The last lines that were logged for a connector, oldest first, on every worker that has a part of it.

        Raises ``NotFound`` (``Connector <name> not found``).
        """

    @abstractmethod
    def measured(self) -> Sequence[MeasuredTask]:
        """The tasks that run on this worker, with their counters."""

    @abstractmethod
    def worker_metrics(self) -> WorkerMetrics:
        """What this worker counts beside its tasks."""

    @abstractmethod
    def spark_capacity(self) -> Future[Capacity]:
        """What this worker's Spark has, and what works use of it."""

    @property
    @abstractmethod
    def worker_id(self) -> str:
        """How statuses name this worker."""

    @abstractmethod
    def workers(self) -> Future[Sequence[WorkerInfo]]:
        """Every worker of the cluster, with or without work, by worker id; one that is alone tells of itself."""

    def group(self) -> GroupView | None:
        """What this worker knows of its cluster; ``None`` when it is alone."""
        return None

    @abstractmethod
    def health(self) -> Future[Health]:
        """Proves that the herder answers: queued like any other request."""

    @abstractmethod
    def server_info(self) -> Mapping[str, str]:
        """``version``, ``commit`` and ``kafka_cluster_id``."""

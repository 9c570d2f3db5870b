"""Every metric of ``/metrics``, declared once: the answer and the reference page are both made from this table."""

from __future__ import annotations

from dataclasses import dataclass

from .metrics_text import Family

GAUGE, COUNTER = "gauge", "counter"


@dataclass(frozen=True)
class Metric:
    """``labels`` tell its samples apart."""

    name: str
    kind: str
    labels: tuple[str, ...]
    help: str


@dataclass(frozen=True)
class Section:
    """Metrics that belong together. ``everywhere``: each worker of a cluster tells them for all of it."""

    title: str
    everywhere: bool
    metrics: tuple[Metric, ...]


def _section(title: str, prefix: str, labels: str, *metrics: tuple[str, str, str], everywhere: bool = False) -> Section:
    """``metrics`` are (name with further labels, kind, help)."""
    made = []
    for name, kind, meaning in metrics:
        own, *more = name.split()
        made.append(Metric(f"{prefix}_{own}", kind, (*labels.split(), *more), meaning))
    return Section(title, everywhere, tuple(made))


_TASK = "connector task"
_CONVERTERS = (
    "key_converter_class key_converter_version value_converter_class value_converter_version "
    "header_converter_class header_converter_version"
)

SECTIONS = (
    _section(
        "Workers", "kafka_connect", "",
        ("app_info version commit kafka_cluster_id", GAUGE, "Version of the worker that answers."),
        ("worker_connector_count worker_id", GAUGE, "Connectors of a worker."),
        ("worker_task_count worker_id", GAUGE, "Tasks of a worker."),
        everywhere=True,
    ),
    _section(
        "Starts on the worker that answers", "kafka_connect_worker", "worker_id",
        ("connector_startup_attempts_total", COUNTER, "Starts of connectors that were tried."),
        ("connector_startup_success_total", COUNTER, "Starts of connectors that succeeded."),
        ("connector_startup_success_percentage", GAUGE, "Part of the starts of connectors that succeeded, 0 to 1."),
        ("connector_startup_failure_total", COUNTER, "Starts of connectors that failed."),
        ("connector_startup_failure_percentage", GAUGE, "Part of the starts of connectors that failed, 0 to 1."),
        ("task_startup_attempts_total", COUNTER, "Starts of tasks that were tried."),
        ("task_startup_success_total", COUNTER, "Starts of tasks that succeeded."),
        ("task_startup_success_percentage", GAUGE, "Part of the starts of tasks that succeeded, 0 to 1."),
        ("task_startup_failure_total", COUNTER, "Starts of tasks that failed."),
        ("task_startup_failure_percentage", GAUGE, "Part of the starts of tasks that failed, 0 to 1."),
    ),
    _section(
        "Rebalances, as the worker that answers sees them (cluster only)", "kafka_connect_worker_rebalance",
        "worker_id",
        ("info leader_name connect_protocol", GAUGE, "The group's leader and protocol."),
        ("epoch", GAUGE, "Generation of the group."),
        ("completed_rebalances_total", COUNTER, "Rebalances the worker took part in."),
        ("rebalancing", GAUGE, "1 while a rebalance is under way."),
        ("rebalance_avg_time_ms", GAUGE, "Time of a rebalance, on average."),
        ("rebalance_max_time_ms", GAUGE, "Time of the longest rebalance."),
        ("time_since_last_rebalance_ms", GAUGE, "Time since the last rebalance ended."),
    ),
    _section(
        "What the group gave the worker that answers (cluster only)", "kafka_connect_coordinator", "worker_id",
        ("assigned_connectors", GAUGE, "Connectors that the worker has to run."),
        ("assigned_tasks", GAUGE, "Tasks that the worker has to run."),
    ),
    _section(
        "The worker that answers and the coordinator of its group (cluster only)", "kafka_connect_coordinator",
        "worker_id",
        ("heartbeat_rate", GAUGE, "Heartbeats that were answered, a second."),
        ("heartbeat_total", COUNTER, "Heartbeats that were answered."),
        ("heartbeat_response_time_max", GAUGE, "Milliseconds to the slowest answer to a heartbeat."),
        ("last_heartbeat_seconds_ago", GAUGE, "Seconds since a heartbeat was answered."),
        ("join_rate", GAUGE, "Joins that were answered, a second."),
        ("join_total", COUNTER, "Joins that were answered."),
        ("join_time_avg", GAUGE, "Milliseconds of a join, on average."),
        ("join_time_max", GAUGE, "Milliseconds of the longest join."),
        ("sync_rate", GAUGE, "Syncs that were answered, a second."),
        ("sync_total", COUNTER, "Syncs that were answered."),
        ("sync_time_avg", GAUGE, "Milliseconds of a sync, on average."),
        ("sync_time_max", GAUGE, "Milliseconds of the longest sync."),
        ("rebalance_total", COUNTER, "Rebalances that the worker came through, from the first join to the sync."),
        ("rebalance_rate_per_hour", GAUGE, "The same, an hour."),
        ("rebalance_latency_avg", GAUGE, "Milliseconds of a rebalance, on average."),
        ("rebalance_latency_max", GAUGE, "Milliseconds of the longest rebalance."),
        ("rebalance_latency_total", COUNTER, "Milliseconds spent in rebalances."),
        ("last_rebalance_seconds_ago", GAUGE, "Seconds since a rebalance."),
        ("failed_rebalance_total", COUNTER, "Joins and syncs that failed and were tried again."),
        ("failed_rebalance_rate_per_hour", GAUGE, "The same, an hour."),
    ),
    _section(
        "Connectors", "kafka_connect", "connector",
        ("connector_status connector_type connector_class connector_version status", GAUGE,
         "1 for the state that a connector is in."),
        ("worker_connector_total_task_count", GAUGE, "Tasks of a connector."),
        ("worker_connector_running_task_count", GAUGE, "Tasks of a connector: running."),
        ("worker_connector_paused_task_count", GAUGE, "Tasks of a connector: paused."),
        ("worker_connector_failed_task_count", GAUGE, "Tasks of a connector: failed."),
        ("worker_connector_unassigned_task_count", GAUGE, "Tasks of a connector: unassigned."),
        ("worker_connector_destroyed_task_count", GAUGE, "Tasks of a connector: destroyed."),
        ("worker_connector_restarting_task_count", GAUGE, "Tasks of a connector: restarting."),
        ("connector_task_status task worker_id status", GAUGE, "1 for the state that a task is in."),
        everywhere=True,
    ),
    _section(
        "Tasks", "kafka_connect_connector_task", _TASK,
        (f"info connector_type connector_class connector_version task_class task_version {_CONVERTERS}", GAUGE,
         "What a task is made of."),
        ("running_ratio", GAUGE, "Part of its life that the task was running, 0 to 1."),
        ("pause_ratio", GAUGE, "Part of its life that the task was paused, 0 to 1."),
        ("batch_size_avg", GAUGE, "Records of a batch, on average."),
        ("batch_size_max", GAUGE, "Records of the largest batch."),
        ("offset_commit_avg_time_ms", GAUGE, "Time of a commit, on average."),
        ("offset_commit_max_time_ms", GAUGE, "Time of the longest commit."),
        ("offset_commit_success_percentage", GAUGE, "Part of the commits that succeeded, 0 to 1."),
        ("offset_commit_failure_percentage", GAUGE, "Part of the commits that failed, 0 to 1."),
    ),
    _section(
        "Transforms and predicates of tasks", "kafka_connect_connector", _TASK,
        ("transform_info transform transform_class transform_version", GAUGE, "What a transform of a task is."),
        ("predicate_info predicate predicate_class predicate_version", GAUGE, "What a predicate of a task is."),
    ),
    _section(
        "Source tasks", "kafka_connect_source_task", _TASK,
        ("source_record_poll_total", COUNTER, "Records read, before transforms, since the task was started."),
        ("source_record_poll_rate", GAUGE, "Records read a second, before transforms."),
        ("source_record_write_total", COUNTER, "Records written to topics since the task was started."),
        ("source_record_write_rate", GAUGE, "Records written to topics a second."),
        ("source_record_active_count", GAUGE, "Records that are read and not yet committed."),
        ("source_record_active_count_avg", GAUGE, "Records that wait for a commit, on average."),
        ("source_record_active_count_max", GAUGE, "Most records that waited for a commit."),
        ("poll_batch_avg_time_ms", GAUGE, "Time to read a batch, on average."),
        ("poll_batch_max_time_ms", GAUGE, "Time to read the slowest batch."),
        ("transaction_size_avg", GAUGE, "Records of a transaction, on average; of sources that write in some."),
        ("transaction_size_min", GAUGE, "Records of the smallest transaction."),
        ("transaction_size_max", GAUGE, "Records of the largest transaction."),
    ),
    _section(
        "Sink tasks", "kafka_connect_sink_task", _TASK,
        ("sink_record_read_total", COUNTER, "Records read from topics since the task was started."),
        ("sink_record_read_rate", GAUGE, "Records read from topics a second."),
        ("sink_record_send_total", COUNTER, "Records put, after transforms, since the task was started."),
        ("sink_record_send_rate", GAUGE, "Records put a second, after transforms."),
        ("sink_record_active_count", GAUGE, "Records that are read and not yet committed."),
        ("sink_record_active_count_avg", GAUGE, "Records that wait for a commit, on average."),
        ("sink_record_active_count_max", GAUGE, "Most records that waited for a commit."),
        ("sink_record_lag_max", GAUGE, "Records that the task's furthest partition is behind."),
        ("partition_count", GAUGE, "Topic partitions of the task."),
        ("put_batch_avg_time_ms", GAUGE, "Time to put a batch, on average."),
        ("put_batch_max_time_ms", GAUGE, "Time to put the slowest batch."),
        ("offset_commit_seq_no", GAUGE, "Number of the last commit."),
        ("offset_commit_completion_total", COUNTER, "Commits that succeeded."),
        ("offset_commit_completion_rate", GAUGE, "Commits that succeeded, a second."),
        ("offset_commit_skip_total", COUNTER, "Commits that failed, or came too late to count."),
        ("offset_commit_skip_rate", GAUGE, "Commits that failed or came too late, a second."),
    ),
    _section(
        "Errors of tasks", "kafka_connect_task_error", _TASK,
        ("total_record_failures", COUNTER, "Attempts on a record that failed."),
        ("total_record_errors", COUNTER, "Records that failed for good."),
        ("total_records_skipped", COUNTER, "Records left out because they failed."),
        ("total_retries", COUNTER, "Attempts that were repeated, of records and of whole batches."),
        ("total_errors_logged", COUNTER, "Failed records that left a line in the log."),
        ("deadletterqueue_produce_requests", COUNTER, "Records given to the dead letter queue."),
        ("deadletterqueue_produce_failures", COUNTER, "Records that the dead letter queue did not take."),
        ("last_error_timestamp", GAUGE, "When the last error happened, in milliseconds since 1970; 0: never."),
    ),
    _section(
        "What only Penstock tells of a task", "penstock_task", _TASK,
        ("batches_total", COUNTER, "Batches committed since the task was started."),
        ("bytes_total", COUNTER, "Bytes of the records moved since the task was started."),
        ("records_filtered_total", COUNTER, "Records that transforms dropped."),
        ("column_fault_records_total", COUNTER,
         "Records that went one by one, which is slower, because the column form of a plugin raised; see the log."),
        ("step_seconds_total step", COUNTER, "Time spent in a step of batches: read, transform, convert, write, put."),
        ("last_progress_timestamp_seconds", GAUGE, "When the last batch was committed, in seconds since 1970."),
    ),
    _section(
        "Spark of the worker that answers", "penstock_spark", "worker_id",
        ("executors", GAUGE, "Executors that Spark has for the worker; 1 with a local master."),
        ("slots", GAUGE, "Tasks that these executors can run at a time."),
        ("slots_reserved", GAUGE, "Slots that lanes leave free, for jobs of DataFrames."),
        ("lanes state", GAUGE,
         "Lanes, Spark tasks that take work after work: busy, idle, or pending where Spark has not begun them yet."),
        ("works_waiting", GAUGE, "Pieces of batches that wait for a lane."),
    ),
    _section(
        "Health, as the worker that answers knows it", "penstock_connector", "connector",
        ("health health", GAUGE, "1 for how a connector is: healthy, degraded, stalled or failed."),
        ("automatic_restarts", GAUGE, "Automatic restarts of a connector and its tasks since a user started them."),
    ),
    _section(
        "Sinks and lifecycle hooks", "penstock", "",
        ("sink_record_lag connector topic partition", GAUGE,
         "Records of a topic partition that a sink has not put yet."),
        ("sink_record_lag_unknown connector", GAUGE,
         "1 for a sink whose lag could not be found out, or that has an offset beyond the end of a partition."),
        ("lifecycle_hook_state connector hook state", GAUGE,
         "1 for how a connector's hooks are: due, running, failed (and tried again), or active: all have succeeded."),
        ("lifecycle_hook_tries connector hook", GAUGE, "Calls of a lifecycle hook that has not succeeded yet."),
        ("lifecycle_cleanups", GAUGE, "Deletion hooks that still have to succeed."),
        everywhere=True,
    ),
)  # fmt: skip

METRICS = {metric.name: metric for section in SECTIONS for metric in section.metrics}


def family(name: str) -> Family:
    """An empty family for samples of a metric that is declared here."""
    metric = METRICS[name]
    return Family(metric.name, metric.kind, metric.help)


class Families:
    """Families by name, made when their first sample comes."""

    def __init__(self) -> None:
        self._found: dict[str, Family] = {}

    def add(self, name: str, value: float, **labels: object) -> None:
        """A sample of a declared metric; labels without a value are left out."""
        if name not in self._found:
            self._found[name] = family(name)
        self._found[name].add(value, **labels)

    def all(self) -> list[Family]:
        """Every family that has samples, in the order of the table."""
        order = {name: number for number, name in enumerate(METRICS)}
        return sorted(self._found.values(), key=lambda found: order[found.name])

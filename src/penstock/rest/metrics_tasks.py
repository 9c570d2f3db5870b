"""Metrics of what runs on the worker that answers: its tasks, its starts, its part in the group."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.runtime.metrics import GroupView, MeasuredTask, Startups, TaskMetrics, WorkerMetrics
from penstock.runtime.requests import State
from penstock.runtime.task_parts import Part, TaskParts
from penstock.runtime.windows import Window

from .metrics_catalog import Families
from .metrics_group import add_group

_MS = 1000.0
_NEVER = Window()


def add_task(families: Families, measured: MeasuredTask, about: Mapping[str, str | None]) -> None:
    """All that is known of a task; ``about`` are the class and version of its connector."""
    labels = {"connector": measured.task.connector, "task": measured.task.task}
    found = measured.metrics
    values = {
        **_common(found),
        **(_source(found) if measured.kind == "source" else _sink(found, measured.lag)),
        **_errors(found),
        "penstock_task_batches_total": found.batches,
        "penstock_task_bytes_total": found.bytes,
        "penstock_task_records_filtered_total": found.filtered,
        "penstock_task_column_fault_records_total": found.column_faults,
        "penstock_task_last_progress_timestamp_seconds": found.last_progress,
    }
    made_of = {"connector_type": measured.kind, **about}
    for role, part in measured.parts.roles.items():
        made_of |= _plugin(role, part)
    families.add("kafka_connect_connector_task_info", 1, **labels, **made_of)
    _add_chain(families, measured.parts, labels)
    for name, value in values.items():
        if value is not None:
            families.add(name, value, **labels)
    for step, seconds in list(found.seconds.items()):
        families.add("penstock_task_step_seconds_total", seconds, **labels, step=step)


def _add_chain(families: Families, parts: TaskParts, labels: Mapping[str, object]) -> None:
    """The transforms of a task, and the predicates in its chain."""
    for kind, found in (("transform", parts.transforms), ("predicate", parts.predicates)):
        for alias, part in found.items():
            families.add(f"kafka_connect_connector_{kind}_info", 1, **labels, **{kind: alias}, **_plugin(kind, part))


def _plugin(name: str, part: Part) -> dict[str, str]:
    return {f"{name}_class": part.class_name, f"{name}_version": part.version}


def _common(found: TaskMetrics) -> dict[str, float | None]:
    task = "kafka_connect_connector_task"
    return {
        f"{task}_running_ratio": found.ratio(State.RUNNING),
        f"{task}_pause_ratio": found.ratio(State.PAUSED),
        f"{task}_batch_size_avg": found.batch_sizes.average,
        f"{task}_batch_size_max": found.batch_sizes.most,
        f"{task}_offset_commit_avg_time_ms": found.commit_seconds.average * _MS,
        f"{task}_offset_commit_max_time_ms": found.commit_seconds.most * _MS,
        f"{task}_offset_commit_success_percentage": _part(found.commits, found.commits + found.commits_failed),
        f"{task}_offset_commit_failure_percentage": _part(found.commits_failed, found.commits + found.commits_failed),
    }


def _source(found: TaskMetrics) -> dict[str, float | None]:
    task, reading = "kafka_connect_source_task", found.batch_seconds.get("read", _NEVER)
    return {
        f"{task}_source_record_poll_total": found.read,
        f"{task}_source_record_poll_rate": found.reads.rate,
        f"{task}_source_record_write_total": found.written,
        f"{task}_source_record_write_rate": found.writes.rate,
        f"{task}_source_record_active_count": found.active,
        f"{task}_source_record_active_count_avg": found.actives.average,
        f"{task}_source_record_active_count_max": found.actives.most,
        f"{task}_poll_batch_avg_time_ms": reading.average * _MS,
        f"{task}_poll_batch_max_time_ms": reading.most * _MS,
        f"{task}_transaction_size_avg": found.transactions.average,
        f"{task}_transaction_size_min": found.transactions.least,
        f"{task}_transaction_size_max": found.transactions.most,
    }


def _sink(found: TaskMetrics, lag: int | None) -> dict[str, float | None]:
    task, putting = "kafka_connect_sink_task", found.batch_seconds.get("put", _NEVER)
    return {
        f"{task}_sink_record_read_total": found.read,
        f"{task}_sink_record_read_rate": found.reads.rate,
        f"{task}_sink_record_send_total": found.written,
        f"{task}_sink_record_send_rate": found.writes.rate,
        f"{task}_sink_record_active_count": found.active,
        f"{task}_sink_record_active_count_avg": found.actives.average,
        f"{task}_sink_record_active_count_max": found.actives.most,
        f"{task}_sink_record_lag_max": lag,
        f"{task}_partition_count": found.partitions,
        f"{task}_put_batch_avg_time_ms": putting.average * _MS,
        f"{task}_put_batch_max_time_ms": putting.most * _MS,
        f"{task}_offset_commit_seq_no": found.commits,
        f"{task}_offset_commit_completion_total": found.commits,
        f"{task}_offset_commit_completion_rate": found.commit_seconds.count_rate,
        f"{task}_offset_commit_skip_total": found.commits_failed,
        f"{task}_offset_commit_skip_rate": found.commit_failures.count_rate,
    }


def _errors(found: TaskMetrics) -> dict[str, float | None]:
    task = "kafka_connect_task_error"
    return {
        f"{task}_total_record_failures": found.failed + found.record_retries,
        f"{task}_total_record_errors": found.failed,
        f"{task}_total_records_skipped": found.skipped,
        f"{task}_total_retries": found.retries,
        f"{task}_total_errors_logged": found.logged,
        f"{task}_deadletterqueue_produce_requests": found.dead_letters,
        f"{task}_deadletterqueue_produce_failures": found.dead_letters_lost,
        f"{task}_last_error_timestamp": int((found.last_error or 0) * _MS),
    }


def add_worker(families: Families, worker: str, metrics: WorkerMetrics, group: GroupView | None) -> None:
    """Starts, and what the worker saw of its group."""
    _add_startups(families, worker, "connector", metrics.connectors)
    _add_startups(families, worker, "task", metrics.tasks)
    if group is not None:
        add_group(families, worker, group)


def _add_startups(families: Families, worker: str, what: str, found: Startups) -> None:
    prefix = f"kafka_connect_worker_{what}_startup"
    families.add(f"{prefix}_attempts_total", found.attempts, worker_id=worker)
    ended = found.successes + found.failures
    for word, count in (("success", found.successes), ("failure", found.failures)):
        families.add(f"{prefix}_{word}_total", count, worker_id=worker)
        families.add(f"{prefix}_{word}_percentage", _part(count, ended), worker_id=worker)


def _part(count: int, whole: int) -> float:
    return count / whole if whole else 0.0

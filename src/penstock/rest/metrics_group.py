"""Metrics of a worker as a member of its cluster."""

from __future__ import annotations

from penstock.runtime.metrics import GroupView
from penstock.runtime.metrics_group import GroupMeters, Meter

from .metrics_catalog import Families

_MS = 1000.0
_HOUR = 3600.0
_COORDINATOR = "kafka_connect_coordinator"


def add_group(families: Families, worker: str, group: GroupView) -> None:
    """What the worker saw of its group."""
    families.add(f"{_COORDINATOR}_assigned_connectors", group.connectors, worker_id=worker)
    families.add(f"{_COORDINATOR}_assigned_tasks", group.tasks, worker_id=worker)
    for name, value in _coordination(group.meters).items():
        if value is not None:
            families.add(f"{_COORDINATOR}_{name}", value, worker_id=worker)
    prefix, rounds = "kafka_connect_worker_rebalance", group.rebalances
    families.add(f"{prefix}_info", 1, worker_id=worker, leader_name=group.leader, connect_protocol=group.protocol)
    families.add(f"{prefix}_epoch", group.epoch, worker_id=worker)
    families.add(f"{prefix}_completed_rebalances_total", rounds.completed, worker_id=worker)
    families.add(f"{prefix}_rebalancing", int(rounds.under_way), worker_id=worker)
    families.add(f"{prefix}_rebalance_avg_time_ms", rounds.seconds.average * _MS, worker_id=worker)
    families.add(f"{prefix}_rebalance_max_time_ms", rounds.seconds.most * _MS, worker_id=worker)
    since = rounds.seconds_since_last
    if since is not None:
        families.add(f"{prefix}_time_since_last_rebalance_ms", since * _MS, worker_id=worker)


def _coordination(meters: GroupMeters) -> dict[str, float | None]:
    """Kafka's metrics of group coordinators; times are milliseconds."""
    heartbeats, rebalances, failed = meters.heartbeats, meters.rebalances, meters.failed_rebalances
    return {
        "heartbeat_rate": heartbeats.seconds.count_rate,
        "heartbeat_total": heartbeats.total,
        "heartbeat_response_time_max": heartbeats.seconds.most * _MS,
        "last_heartbeat_seconds_ago": heartbeats.seconds_since_last,
        **_requests("join", meters.joins),
        **_requests("sync", meters.syncs),
        "rebalance_total": rebalances.total,
        "rebalance_rate_per_hour": rebalances.seconds.count_rate * _HOUR,
        "rebalance_latency_avg": rebalances.seconds.average * _MS,
        "rebalance_latency_max": rebalances.seconds.most * _MS,
        "rebalance_latency_total": rebalances.total_seconds * _MS,
        "last_rebalance_seconds_ago": rebalances.seconds_since_last,
        "failed_rebalance_total": failed.total,
        "failed_rebalance_rate_per_hour": failed.seconds.count_rate * _HOUR,
    }


def _requests(word: str, meter: Meter) -> dict[str, float]:
    return {
        f"{word}_rate": meter.seconds.count_rate,
        f"{word}_total": meter.total,
        f"{word}_time_avg": meter.seconds.average * _MS,
        f"{word}_time_max": meter.seconds.most * _MS,
    }

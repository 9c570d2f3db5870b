"""Both contestants with connectors for PostgreSQL: their settings, and how many records their topics hold."""

from __future__ import annotations

from collections.abc import Sequence

import httpx2

from tests.support.postgres import PostgresServer

from ..api import CONVERTERS
from ..on_kafka import OnKafka
from ..peer.connect import KafkaConnect
from ..peer.jars import debezium_plugins
from ..system import System

TYPED = {key: "true" if key.endswith("schemas.enable") else value for key, value in CONVERTERS["JSON"].items()}
"""JSON with schemas."""


class DebeziumConnect(KafkaConnect):
    """Kafka Connect with Debezium's connectors."""

    def launch(self) -> None:
        self.more = {"plugin.path": debezium_plugins()}
        super().launch()


def worker_pids(system: System) -> Sequence[int]:
    """The processes of the worker, without a broker."""
    return system.worker_pids if isinstance(system, OnKafka) else system.pids


def records_in(system: System, topic: str) -> int:
    """How many records a topic of one partition holds; 0 when it does not exist yet."""
    if isinstance(system, OnKafka):
        return system.broker.end_offset(topic)
    return system.api.records_in(topic)


def failure(system: System, name: str) -> str:
    """What the last lines of a failed connector's or task's trace say that name a cause."""
    status = httpx2.get(f"{system.api.url}/connectors/{name}/status").raise_for_status().json()
    traces = [part.get("trace") or "" for part in (status["connector"], *status["tasks"])]
    lines = [line.strip() for trace in traces for line in trace.splitlines()]
    return " / ".join(line for line in lines if line and not line.startswith(("at ", "...")))[-1000:]


def source_config(server: PostgresServer, name: str, table: str) -> dict[str, str]:
    """Captures one table; Penstock understands Debezium's class and keys, so both get the same."""
    return server.config(
        **{
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "plugin.name": "pgoutput",
            "topic.prefix": name,
            "table.include.list": f"public.{table}",
            "slot.name": name,
            "publication.name": name,
            "publication.autocreate.mode": "filtered",
            **CONVERTERS["JSON"],
        }
    )


def typed_source_config(server: PostgresServer, name: str, table: str) -> dict[str, str]:
    """The same for a topic that sinks read: rows without envelopes, with the schemas that the peer's sink needs."""
    unwrap = {"transforms": "unwrap", "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState"}
    return {**source_config(server, name, table), **TYPED, **unwrap}


def sink_config(system: System, server: PostgresServer, topic: str, table: str, mode: str) -> dict[str, str]:
    """Writes a topic into a table that is there; the peer's is tuned, for its defaults are half as fast."""
    common = {"topics": topic, "insert.mode": mode, "primary.key.mode": "record_key", **TYPED}
    if not isinstance(system, OnKafka):
        return server.config(**{"connector.class": "PostgresSink", "table.name.format": table, **common})
    there = server.parameters
    return {
        "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
        "connection.url": f"jdbc:postgresql://{there['host']}:{there.get('port', 5432)}/{there['dbname']}",
        "connection.username": str(there["user"]),
        "connection.password": str(there.get("password", "")) or "none",
        "collection.name.format": table,
        "batch.size": "5000",
        "dialect.postgres.unnest.insert.enabled": "true",
        "consumer.override.max.poll.records": "5000",
        "consumer.override.max.partition.fetch.bytes": str(32 << 20),
        **common,
    }

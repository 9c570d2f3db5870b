"""Forgetting single positions of a group, which librdkafka's admin client cannot do and kafka-python's can."""

from __future__ import annotations

import ssl
from collections.abc import Collection
from typing import Any

from ..interface import TopicPartition
from .clients import Settings

SECONDS = 30.0


def delete_positions(admin: Settings, group: str, places: Collection[TopicPartition]) -> None:
    """Blocks. Raises ``kafka.errors.KafkaError`` (a ``GroupSubscribedToTopicError`` when somebody consumes)."""
    from kafka import TopicPartition as Place
    from kafka.admin import KafkaAdminClient

    client = KafkaAdminClient(**_settings(dict(admin)))
    try:
        client.delete_group_offsets(group, [Place(at.topic, at.partition) for at in places])
    finally:
        client.close()


def _settings(admin: dict[str, str]) -> dict[str, Any]:
    """The same settings in kafka-python's words."""
    found: dict[str, Any] = {
        "bootstrap_servers": admin["bootstrap.servers"].split(","),
        "client_id": admin.get("client.id") or "penstock",
        "request_timeout_ms": int(SECONDS * 1000),
        "security_protocol": admin.get("security.protocol", "plaintext").upper(),
    }
    if "sasl.mechanisms" in admin:
        found["sasl_mechanism"] = admin["sasl.mechanisms"]
        found["sasl_plain_username"] = admin.get("sasl.username")
        found["sasl_plain_password"] = admin.get("sasl.password")
    if found["security_protocol"].endswith("SSL"):
        found["ssl_context"] = _tls(admin)
        found["ssl_check_hostname"] = admin.get("ssl.endpoint.identification.algorithm", "https") != "none"
    return found


def _tls(admin: dict[str, str]) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=admin.get("ssl.ca.location"), cadata=admin.get("ssl.ca.pem"))
    if admin.get("ssl.endpoint.identification.algorithm") == "none":
        context.check_hostname = False
    if "ssl.certificate.location" in admin:
        context.load_cert_chain(
            admin["ssl.certificate.location"], admin.get("ssl.key.location"), admin.get("ssl.key.password")
        )
    return context

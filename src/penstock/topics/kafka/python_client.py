"""Settings of librdkafka in kafka-python's words: for the few requests that only kafka-python can make."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any

from penstock.api.errors import ConfigError

from .oauth import OidcTokens
from .wire.options import addresses, tls_context
from .wire.sasl import escaped


def python_settings(settings: Mapping[str, str]) -> dict[str, Any]:
    """Where the brokers are, and how to show who we are. Raises ``ConfigError``."""
    protocol = settings.get("security.protocol", "plaintext").upper()
    found: dict[str, Any] = {
        "bootstrap_servers": [_written(*address) for address in addresses(settings["bootstrap.servers"])],
        "security_protocol": protocol,
    }
    if protocol.startswith("SASL"):
        found.update(_login(settings))
    if protocol.endswith("SSL"):
        found["ssl_context"] = _tls(settings)
    return found


def _tls(settings: Mapping[str, str]) -> ssl.SSLContext:
    try:
        return tls_context(settings)
    except OSError as error:
        raise ConfigError(f"The certificates or the key that ssl.* names cannot be used: {error}") from error


def _written(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _login(settings: Mapping[str, str]) -> dict[str, Any]:
    mechanism = settings.get("sasl.mechanisms", "GSSAPI")
    found: dict[str, Any] = {"sasl_mechanism": mechanism}
    if mechanism == "OAUTHBEARER":
        if "sasl.oauthbearer.client.id" not in settings:
            raise ConfigError(
                "sasl.mechanism=OAUTHBEARER needs sasl.oauthbearer.token.endpoint.url, and a client's id and secret in "
                "sasl.jaas.config: workers of a cluster get their tokens there"
            )
        return {**found, "sasl_oauth_token_provider": OidcTokens(settings)}
    if mechanism == "GSSAPI":
        return {**found, "sasl_kerberos_service_name": settings.get("sasl.kerberos.service.name", "kafka")}
    name = settings.get("sasl.username", "")
    return {
        **found,
        "sasl_plain_username": escaped(name) if mechanism.startswith("SCRAM") else name,
        "sasl_plain_password": settings.get("sasl.password"),
    }

"""A Confluent-compatible schema registry: settings, client, subjects, wire format."""

from __future__ import annotations

from .client import Registered, RegistryClient, SchemaText, shared_client
from .converter import RegistryConverter, SchemaFormat
from .settings import REGISTRY_KEYS, RegistrySettings
from .subjects import subject_strategy

__all__ = [
    "REGISTRY_KEYS",
    "Registered",
    "RegistryClient",
    "RegistryConverter",
    "RegistrySettings",
    "SchemaFormat",
    "SchemaText",
    "shared_client",
    "subject_strategy",
]

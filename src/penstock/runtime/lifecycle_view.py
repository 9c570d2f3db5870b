"""Lifecycle states as users see them: secrets masked."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.api.config import Type
from penstock.storage.lifecycle_records import Cleanup

from .requests import CleanupInfo, LifecycleInfo, PendingHook
from .services import Services

HIDDEN = "[hidden]"
SUSPICIOUS = ("password", "secret", "token", "credential", "api.key", "private.key")


def lifecycle_info(name: str, services: Services) -> LifecycleInfo:
    """What hooks have made of a connector, and what they will do next. The connector must exist."""
    snapshot = services.configs.snapshot()
    lifecycle = snapshot.lifecycle(name)
    pending = lifecycle.pending
    hook = services.hooks.due(name, snapshot.connector_config(name) or {})
    return LifecycleInfo(
        name=name,
        active=None if lifecycle.active is None else masked(lifecycle.active, services),
        pending=None if pending is None else PendingHook(pending.hook, pending.since, pending.tries, pending.error),
        next_hook=None if hook is None else hook.value,
        cleanups=[cleanup_info(cleanup, services) for cleanup in snapshot.cleanups_of(name)],
    )


def cleanup_info(cleanup: Cleanup, services: Services) -> CleanupInfo:
    """One clean-up."""
    config = masked(cleanup.config, services)
    return CleanupInfo(
        cleanup.id, cleanup.connector, config, cleanup.since, cleanup.tries, cleanup.error, cleanup.next_try
    )


def masked(config: Mapping[str, str | None], services: Services) -> dict[str, str | None]:
    """A configuration without its secrets: what the plugin calls a password, or what looks like one."""
    secret = _password_keys(config, services)
    return {key: HIDDEN if value and _is_secret(key, value, secret) else value for key, value in config.items()}


def _is_secret(key: str, value: str, declared: frozenset[str]) -> bool:
    if value.startswith("${") and value.endswith("}"):
        return False
    return key in declared or any(word in key.lower() for word in SUSPICIOUS)


def _password_keys(config: Mapping[str, str | None], services: Services) -> frozenset[str]:
    try:
        definition = services.connector_plugin(config).load().config
    except LookupError:
        return frozenset()
    return frozenset(key.name for key in definition.keys if key.type is Type.PASSWORD)

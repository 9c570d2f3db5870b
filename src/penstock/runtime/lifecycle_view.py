"""Lifecycle states as users see them: secrets masked."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.storage.lifecycle_records import Cleanup

from . import secrets
from .requests import CleanupInfo, LifecycleInfo, PendingHook
from .services import Services


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
        applied=snapshot.applied_config(name) == snapshot.connector_config(name),
        cleanups=[cleanup_info(cleanup, services) for cleanup in snapshot.cleanups_of(name)],
    )


def cleanup_info(cleanup: Cleanup, services: Services) -> CleanupInfo:
    """One clean-up."""
    config = masked(cleanup.config, services)
    return CleanupInfo(
        cleanup.id, cleanup.connector, config, cleanup.since, cleanup.tries, cleanup.error, cleanup.next_try
    )


def masked(
    config: Mapping[str, str | None], services: Services, connector: Mapping[str, str | None] | None = None
) -> dict[str, str | None]:
    """A configuration without its secrets. ``connector``: that of the connector, for one of its tasks."""
    try:
        plugin = services.connector_plugin(config if connector is None else connector)
    except LookupError:
        plugin = None
    return secrets.masked(config, plugin, services.plugins.all(*secrets.PARTS))

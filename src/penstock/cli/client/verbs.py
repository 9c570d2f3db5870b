"""Every verb of the client, put on the command line in the order of its help."""

from __future__ import annotations

from .. import dlq, users
from ..parsing import Commands
from . import (
    config_verbs,
    context_verbs,
    describe_verbs,
    get_verbs,
    lifecycle_verbs,
    log_verbs,
    logger_verbs,
    migrate_verbs,
    offset_verbs,
    pipeline_verbs,
    plugin_verbs,
    state_verbs,
    topic_verbs,
)

CONNECTORS = "Connectors"
WORKERS = "Workers, topics, offsets"


def add_client_verbs(app: Commands) -> None:
    """Register the client's verbs."""
    app.add_typer(context_verbs.app, name="context", rich_help_panel=WORKERS)
    app.add_typer(get_verbs.app, name="get", rich_help_panel=CONNECTORS)
    for command in (
        describe_verbs.describe,
        log_verbs.logs,
        config_verbs.create,
        pipeline_verbs.apply,
        pipeline_verbs.plan,
        config_verbs.patch,
        config_verbs.edit,
        state_verbs.pause,
        state_verbs.resume,
        state_verbs.stop,
        state_verbs.restart,
        state_verbs.delete,
        migrate_verbs.migrate,
    ):
        app.command(rich_help_panel=CONNECTORS)(command)
    app.add_typer(offset_verbs.app, name="offsets", rich_help_panel=WORKERS)
    app.add_typer(topic_verbs.app, name="topics", rich_help_panel=WORKERS)
    app.add_typer(dlq.app, name="dlq", rich_help_panel=WORKERS)
    app.add_typer(lifecycle_verbs.app, name="lifecycle", rich_help_panel=WORKERS)
    app.add_typer(plugin_verbs.app, name="plugin", rich_help_panel=WORKERS)
    app.add_typer(logger_verbs.app, name="loggers", rich_help_panel=WORKERS)
    app.add_typer(users.app, name="user", rich_help_panel=WORKERS)

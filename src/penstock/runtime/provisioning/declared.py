"""What pipeline files have declared, as the worker remembers it, and how far it drifted from that."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.storage.config_snapshot import ConfigSnapshot, ConnectorEntry
from penstock.storage.pipeline_records import Declaration

from .plan import STATE_WORDS, DeclaredConnector, DeclaredPipeline


def declared(snapshot: ConfigSnapshot) -> list[DeclaredPipeline]:
    """All pipelines with connectors, by id."""
    pipelines: dict[str, list[str]] = {}
    for name, declaration in snapshot.declarations.items():
        if name in snapshot:
            pipelines.setdefault(declaration.pipeline, []).append(name)
    return [_pipeline(pipeline, sorted(names), snapshot) for pipeline, names in sorted(pipelines.items())]


def drift(declaration: Declaration, entry: ConnectorEntry) -> list[str]:
    """The keys, and ``status``, that somebody else changed since the file was applied."""
    before, now = declaration.config, entry.config
    keys = sorted(key for key in {*before, *now} if before.get(key) != now.get(key))
    moved = declaration.state is not None and declaration.state is not entry.target_state
    return [*keys, *(["status"] if moved else [])]


def _pipeline(pipeline: str, names: Sequence[str], snapshot: ConfigSnapshot) -> DeclaredPipeline:
    first = snapshot.declarations[names[0]]
    connectors = [
        DeclaredConnector(
            name,
            STATE_WORDS[snapshot.entries[name].target_state],
            drift(snapshot.declarations[name], snapshot.entries[name]),
        )
        for name in names
    ]
    return DeclaredPipeline(pipeline, first.description, first.file, first.origin, connectors)

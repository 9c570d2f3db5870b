"""The health of connectors as people read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .screen import state_text
from .times import time_text

if TYPE_CHECKING:
    from rich.text import Text


def health_facts(health: Mapping[str, Any] | None) -> dict[str, str | Text]:
    """What to tell of it; nothing where the worker does not know it."""
    if health is None:
        return {}
    facts: dict[str, str | Text] = {"Health": state_text(health["health"])}
    if health["reason"]:
        facts["Reason"] = str(health["reason"])
    if health["last_progress"] is not None:
        facts["Progress"] = f"last at {time_text(health['last_progress'])}"
    if health["restarts"]:
        facts["Restarts"] = f"{health['restarts']} automatic"
    planned = [part["next_restart"] for part in (health["connector"], *health["tasks"]) if part["next_restart"]]
    if planned:
        facts["Restart"] = f"next at {time_text(min(planned))}"
    return facts

"""Configurations brought to a worker: checked first, compared with what is there, then written."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .close_names import mistyped_keys
from .config_changes import Change, compare
from .connector_texts import Wanted
from .documents import NotReadable, yaml_texts
from .formats import as_yaml
from .problems import Refused, Unsupported, Wrong
from .screen import is_interactive
from .states import state, status_of

if TYPE_CHECKING:
    from .api import ConnectApi


@dataclass(frozen=True)
class Written:
    """What became of a connector: ``created``, ``changed`` or ``unchanged``; ``goal`` is the state it goes to.

    ``notes`` are on keys that look mistyped.
    """

    name: str
    action: str
    changes: list[Change] = field(default_factory=list)
    goal: str = "RUNNING"
    notes: list[str] = field(default_factory=list)


def validated(api: ConnectApi, name: str, config: Mapping[str, Any]) -> None:
    """Raises :class:`Refused` with every error of a configuration, key by key."""
    plugin = config.get("connector.class")
    if not plugin:
        raise Wrong(f"{name} has no connector.class.", "penstock get plugins shows the classes that are installed.")
    report = api.put("connector-plugins", plugin, "config", "validate", body={**config, "name": name})
    if report["error_count"]:
        found = [
            f"{entry['value']['name']}: {error}"
            for entry in report["configs"]
            if entry.get("value")
            for error in entry["value"]["errors"]
        ]
        text = f"The configuration of {name} has {len(found)} error{'s' * (len(found) != 1)}:\n  " + "\n  ".join(found)
        raise Refused(400, text, f"penstock describe --plugin {plugin} explains the keys.")


def target_of(api: ConnectApi, name: str) -> str:
    """The state a connector goes back to after a change: ``RUNNING``, or ``PAUSED`` or ``STOPPED`` as it is."""
    found = state(status_of(api, name))
    return found if found in ("PAUSED", "STOPPED") else "RUNNING"


def apply_wanted(api: ConnectApi, wanted: Wanted, dry_run: bool) -> Written:
    """Create or change a connector. Only checked with ``dry_run``."""
    before = _config(api, wanted.name)
    after = {**wanted.config, "name": wanted.name}
    if before is None:
        changes = compare({}, after)
        if dry_run:
            validated(api, wanted.name, after)
        else:
            api.post("connectors", body={**wanted.body(), "config": after})
        notes = _notes(api, after, changes)
        return Written(wanted.name, "created", changes, wanted.initial_state or "RUNNING", notes)
    changes = compare(before, after)
    if not changes:
        return Written(wanted.name, "unchanged")
    goal = target_of(api, wanted.name)
    if dry_run:
        validated(api, wanted.name, after)
    else:
        api.put("connectors", wanted.name, "config", body=after)
    return Written(wanted.name, "changed", changes, goal, _notes(api, after, changes))


def patched(api: ConnectApi, name: str, wanted: Mapping[str, str | None], dry_run: bool) -> Written:
    """Change some keys; ``None`` removes one. A worker without ``PATCH`` gets the whole configuration."""
    before = api.get("connectors", name, "config")
    merged = {**before, **wanted}
    after = {key: value for key, value in merged.items() if not (key in wanted and value is None)}
    changes = compare(before, after)
    if not changes:
        return Written(name, "unchanged")
    goal = target_of(api, name)
    if dry_run:
        validated(api, name, after)
    else:
        try:
            api.patch("connectors", name, "config", body=dict(wanted))
        except Unsupported:
            api.put("connectors", name, "config", body=after)
    return Written(name, "changed", changes, goal, _notes(api, after, changes))


def _notes(api: ConnectApi, config: dict[str, Any], changes: list[Change]) -> list[str]:
    return mistyped_keys(api, config, [change.key for change in changes if change.after is not None])


def edited_config(name: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration as the user leaves it in an editor."""
    chosen = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not chosen and not is_interactive():
        raise Wrong("There is no terminal to edit in.", f"penstock patch {name} --set KEY=VALUE changes single keys.")
    editor = chosen or "vi"
    with tempfile.TemporaryDirectory(prefix="penstock-edit-") as folder:
        file = Path(folder) / "config.yaml"
        title = f"# {name}: save and leave to change it, leave unchanged for nothing."
        file.write_text(f"{title}\n{as_yaml(dict(config))}", encoding="utf-8")
        try:
            subprocess.run([*shlex.split(editor), str(file)], check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise Wrong(f"The editor '{editor}' failed: {error}", "EDITOR names another one.") from error
        return _read_back(file)


def _read_back(file: Path) -> dict[str, Any]:
    try:
        found = yaml_texts(file.read_text(encoding="utf-8"), file.name)
    except (NotReadable, UnicodeDecodeError) as error:
        raise Wrong(f"What you wrote is not YAML; nothing was changed: {error}") from error
    if not isinstance(found, dict) or not all(_is_plain(value) for value in found.values()):
        raise Wrong("What you wrote is not a list of keys and values; nothing was changed.")
    return {key: _as_text(value) for key, value in found.items()}


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (str, bool, int, float))


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)


def _config(api: ConnectApi, name: str) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = api.get("connectors", name, "config")
    except Refused as error:
        if error.status == 404:
            return None
        raise
    return found

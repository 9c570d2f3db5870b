"""The connector of the guide on lifecycle hooks does what the guide says."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from penstock.api import PluginError
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "lifecycle-hooks.md"


def file_in_guide(name: str) -> str:
    """A block of code that the guide tells to save as a file."""
    (found,) = re.findall(rf"<!-- file: {re.escape(name)} -->\n```\w+\n(.*?)```", GUIDE.read_text(), re.S)
    return str(found)


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    folder = tmp_path / "plugins"
    folder.mkdir()
    (folder / "dropbox.py").write_text(file_in_guide("dropbox.py"))
    return folder


@pytest.fixture
def dropbox(plugins: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("dropbox_of_the_guide", plugins / "dropbox.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_its_hooks_may_be_repeated_and_leave_alone_what_is_not_theirs(dropbox: ModuleType, tmp_path: Path) -> None:
    first, second = tmp_path / "a" / "box", tmp_path / "b"
    old, new = {"name": "n", "folder": str(first)}, {"name": "n", "folder": str(second)}
    for _ in range(2):
        dropbox.DropBox().on_created(old)
    (first / "letter").write_text("hello")
    for _ in range(2):
        dropbox.DropBox().on_updated(old, new)
    assert not first.exists()
    assert (second / "letter").read_text() == "hello"
    with pytest.raises(PluginError, match="belongs to the connector n"):
        dropbox.DropBox().on_created({**new, "name": "other"})
    dropbox.DropBox().on_deleted({**new, "name": "other"})
    assert (second / "letter").exists()
    for _ in range(2):
        dropbox.DropBox().on_deleted(new)
    assert not second.exists()


@pytest.fixture
def worker(plugins: Path, tmp_path: Path) -> Iterator[PenstockProcess]:
    text = "org.apache.kafka.connect.storage.StringConverter"
    settings = {"plugin.path": str(plugins), "key.converter": text, "value.converter": text}
    with PenstockProcess(tmp_path / "worker", settings) as process:
        yield process


@pytest.mark.integration
@pytest.mark.slow
def test_it_keeps_its_folder_over_crashes_and_removes_it_in_the_end(worker: PenstockProcess, tmp_path: Path) -> None:
    request: dict[str, Any] = json.loads(file_in_guide("connector.json"))
    name, config = request["name"], request["config"]
    box, moved = tmp_path / "spool" / "box", tmp_path / "spool" / "moved"
    config["folder"] = str(box)
    worker.create(name, config)
    worker.wait_state(name, "RUNNING")
    assert box.is_dir()
    (box / "1").write_text("first")

    worker.kill()
    (box / "2").write_text("second")
    worker.start()
    changed = {**config, "name": name, "folder": str(moved)}
    assert worker.http.put(f"/connectors/{name}/config", json=changed).status_code == 200
    wait_until(moved.is_dir, "the folder has moved")
    wait_until(lambda: last_file(worker, name) == "2", "what waited in it was read", 120)
    assert not box.exists()

    assert worker.http.delete(f"/connectors/{name}").status_code == 204
    wait_until(lambda: not moved.exists(), "the folder is gone")
    wait_until(lambda: worker.http.get("/lifecycle/cleanups").json() == [], "nothing is left to be cleaned up")


def last_file(worker: PenstockProcess, name: str) -> str | None:
    offsets = worker.http.get(f"/connectors/{name}/offsets").json()["offsets"]
    return str(offsets[0]["offset"]["last"]) if offsets else None

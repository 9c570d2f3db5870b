"""Kafka's jars: fetched once by Maven, then kept in a folder that git does not see."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
POM = HERE / "pom.xml"
DEBEZIUM_POM = HERE / "debezium.xml"
CACHE = HERE.parent / ".cache"
FETCH_SECONDS = 600


class NoPeer(Exception):
    """Kafka Connect cannot be run here; the text says why and what would help."""


def kafka_version() -> str:
    """The version that the POM asks for."""
    return _version("kafka", POM)


def class_path() -> str:
    """Kafka's class path, fetching the jars if need be."""
    if shutil.which("java") is None:
        raise NoPeer("there is no java on the PATH")
    folder = CACHE / f"kafka-{kafka_version()}"
    if not folder.exists():
        _fetch(folder, POM)
    return str(folder / "*")


def debezium_plugins() -> Path:
    """A folder for ``plugin.path`` with Debezium's connectors for PostgreSQL, fetching the jars if need be."""
    folder = CACHE / "plugins" / f"debezium-{_version('debezium', DEBEZIUM_POM)}"
    if not folder.exists():
        _fetch(folder, DEBEZIUM_POM)
    return folder.parent


def _version(what: str, pom: Path) -> str:
    found = re.search(rf"<{what}.version>(.+?)</{what}.version>", pom.read_text())
    assert found
    return found[1]


def _fetch(folder: Path, pom: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise NoPeer("there is no mvn on the PATH to fetch its jars")
    partial = CACHE / f"{folder.name}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={partial}"]
    command = [maven, "-q", "-B", "-f", str(pom), *goal]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_SECONDS)
    except subprocess.TimeoutExpired:
        raise NoPeer(f"mvn did not fetch its jars within {FETCH_SECONDS} s") from None
    if done.returncode:
        raise NoPeer(f"mvn could not fetch its jars: {(done.stdout or done.stderr).strip()[:300]}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial.rename(folder)

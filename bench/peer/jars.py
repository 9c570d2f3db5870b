"""Kafka's jars: fetched once by Maven, then kept in a folder that git does not see."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
POM = HERE / "pom.xml"
CACHE = HERE.parent / ".cache"
FETCH_SECONDS = 600


class NoPeer(Exception):
    """Kafka Connect cannot be run here; the text says why and what would help."""


def kafka_version() -> str:
    """The version that the POM asks for."""
    found = re.search(r"<kafka.version>(.+?)</kafka.version>", POM.read_text())
    assert found
    return found[1]


def class_path() -> str:
    """Kafka's class path, fetching the jars if need be."""
    if shutil.which("java") is None:
        raise NoPeer("there is no java on the PATH")
    folder = CACHE / f"kafka-{kafka_version()}"
    if not folder.exists():
        _fetch(folder)
    return str(folder / "*")


def _fetch(folder: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise NoPeer("there is no mvn on the PATH to fetch its jars")
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={partial}"]
    command = [maven, "-q", "-B", "-f", str(POM), *goal]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_SECONDS)
    except subprocess.TimeoutExpired:
        raise NoPeer(f"mvn did not fetch its jars within {FETCH_SECONDS} s") from None
    if done.returncode:
        raise NoPeer(f"mvn could not fetch its jars: {(done.stdout or done.stderr).strip()[:300]}")
    partial.rename(folder)

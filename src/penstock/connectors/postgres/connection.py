"""Connections to PostgreSQL, and what its failures mean for the runtime."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

from penstock.api import ConfigDef, ConfigKey, Importance, PluginError, RetriableError, Type, between, one_of

if TYPE_CHECKING:
    from psycopg import Connection

GROUP = "Connection"
INSTALL = "pip install 'penstock[postgres]'"
CONNECT_SECONDS = 10

_SESSION = {
    "DateStyle": "ISO",
    "IntervalStyle": "iso_8601",
    "TimeZone": "UTC",
    "bytea_output": "hex",
    "extra_float_digits": "3",
    "client_min_messages": "warning",
    "lc_monetary": "C",
}
"""How values are written, so that the same text means the same thing in snapshots and in the stream of changes."""

KEYS = ConfigDef(
    ConfigKey("database.hostname", Type.STRING, "localhost", Importance.HIGH, "Where the server is.", None, GROUP),
    ConfigKey("database.port", Type.INT, 5432, Importance.HIGH, "Its port.", between(1, 65535), GROUP),
    ConfigKey("database.user", Type.STRING, "postgres", Importance.HIGH, "Whom to connect as.", None, GROUP),
    ConfigKey("database.password", Type.PASSWORD, "", Importance.HIGH, "The user's password.", None, GROUP),
    ConfigKey("database.dbname", Type.STRING, importance=Importance.HIGH, doc="The name of the database.", group=GROUP),
    ConfigKey(
        "database.sslmode",
        Type.STRING,
        "prefer",
        Importance.MEDIUM,
        "Encryption of the connection, as libpq knows it.",
        one_of("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
        GROUP,
    ),
    ConfigKey(
        "database.sslrootcert",
        Type.STRING,
        "",
        Importance.LOW,
        "A PEM file with the authorities to trust for verify-ca and verify-full. It must be there on every executor.",
        None,
        GROUP,
    ),
)


def driver() -> ModuleType:
    """psycopg, or an error that says how to get it."""
    try:
        import psycopg
    except ImportError as error:
        raise PluginError(
            f"PostgreSQL connectors need psycopg, which is not installed here ({error}). Install it on the worker and "
            f"on every executor: {INSTALL}"
        ) from error
    return psycopg


@dataclass(frozen=True)
class Database:
    """Which database, and as whom."""

    host: str
    port: int
    user: str
    password: str
    name: str
    sslmode: str = "prefer"
    sslrootcert: str = ""

    @classmethod
    def of(cls, config: Mapping[str, str]) -> Database:
        own = KEYS.parse(config)
        password = own["database.password"]
        return cls(
            own["database.hostname"],
            own["database.port"],
            own["database.user"],
            password.value if password else "",
            own["database.dbname"],
            own["database.sslmode"],
            own["database.sslrootcert"],
        )

    def connect(
        self, application: str = "penstock", replication: bool = False, settings: Mapping[str, str] | None = None
    ) -> Connection[Any]:
        """A new connection in autocommit mode; ``RetriableError`` when there is none to be had now."""
        session = {**_SESSION, **(settings or {})}
        parameters: dict[str, Any] = {
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "dbname": self.name,
            "sslmode": self.sslmode,
            "connect_timeout": CONNECT_SECONDS,
            "application_name": application,
            "client_encoding": "UTF8",
            "keepalives_idle": 30,
            "options": " ".join(f"-c {key}={value}" for key, value in session.items()),
        }
        if self.password:
            parameters["password"] = self.password
        if self.sslrootcert:
            parameters["sslrootcert"] = self.sslrootcert
        if replication:
            parameters["replication"] = "database"
        with failures_retried(f"{self} cannot be reached"):
            connection: Connection[Any] = driver().connect(**parameters, autocommit=True)
        return connection

    def __str__(self) -> str:
        return f"PostgreSQL database {self.name} at {self.host}:{self.port}"


def identity_of(connection: Connection[Any]) -> str:
    """Which database a connection leads to: the same for all addresses of a server, and for its standbys."""
    row = connection.execute(
        "SELECT system_identifier || '/' || current_database() FROM pg_control_system()"
    ).fetchone()
    assert row is not None
    return str(row[0])


@contextmanager
def failures_retried(what: str) -> Iterator[None]:
    """Turn lost connections, restarts and conflicts with others into ``RetriableError``."""
    psycopg = driver()
    try:
        yield
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        raise RetriableError(f"{what}: {_text(error)}") from error


def _text(error: BaseException) -> str:
    return " ".join(str(error).split())

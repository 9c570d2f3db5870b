"""The Java classes of JDBC drivers, by the scheme of the URLs they take.

Spark asks Java for a driver by the URL, and Java does not see drivers that came with ``spark.jars.packages``. Told the
class by the option ``driver``, Spark finds them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

DRIVERS: Mapping[str, str] = {
    "db2": "com.ibm.db2.jcc.DB2Driver",
    "h2": "org.h2.Driver",
    "mariadb": "org.mariadb.jdbc.Driver",
    "mysql": "com.mysql.cj.jdbc.Driver",
    "oracle": "oracle.jdbc.OracleDriver",
    "postgresql": "org.postgresql.Driver",
    "sqlite": "org.sqlite.JDBC",
    "sqlserver": "com.microsoft.sqlserver.jdbc.SQLServerDriver",
}

_SCHEME = re.compile(r"\s*jdbc:(\w+):", re.IGNORECASE)


def with_driver(spark_format: str | None, options: Mapping[str, str]) -> dict[str, str]:
    """Options of a Spark format; for ``jdbc`` with the driver of the URL, where it is known and none is given."""
    completed = dict(options)
    given = {name.lower(): value for name, value in options.items()}
    if (spark_format or "").lower() != "jdbc" or given.get("driver"):
        return completed
    found = _SCHEME.match(given.get("url", ""))
    driver = DRIVERS.get(found[1].lower()) if found else None
    return completed if driver is None else {**completed, "driver": driver}

"""PythonFunction: a function of the user's own, for one record or for many at a time."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from penstock.api.config import ConfigDef, ConfigKey, Importance, Type, one_of
from penstock.api.errors import ConfigError, DataError
from penstock.api.record import Record
from penstock.api.transform import TableTransform

if TYPE_CHECKING:
    import pyarrow as pa

RECORD = "record"
TABLE = "table"

_NAME = re.compile(r"([^\W\d]\w*(?:\.[^\W\d]\w*)*)[:.]([^\W\d]\w*)")


def find_function(key: str, path: str) -> Callable[[Any], Any]:
    """The function that ``module:name`` means. Modules of Python itself are left alone, as for plugins."""
    named = _NAME.fullmatch(path)
    if named is None:
        way = "write module:name, with the module in a folder of plugin.path or in an installed package"
        raise ConfigError.invalid(key, path, f"This does not name a function: {way}")
    module_name, name = named.groups()
    if module_name.partition(".")[0] in sys.stdlib_module_names:
        raise ConfigError.invalid(key, path, "Functions of Python itself cannot be used: write one that calls it")
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise ConfigError.invalid(key, path, f"Module {module_name} cannot be imported: {reason}") from error
    function = getattr(module, name, None)
    if not callable(function):
        raise ConfigError.invalid(key, path, f"Module {module_name} has no function {name}")
    found: Callable[[Any], Any] = function
    return found


def _importable(key: str, path: Any) -> None:
    if path:
        find_function(key, path)


class PythonFunction(TableTransform):
    """Calls a Python function with each record, or with Arrow tables of many records.

    A function of records gets a Record and returns one (a new one: never the given one changed in place), or None to
    drop it. A function of tables gets and returns a pyarrow.Table whose columns are the fields of the values, and
    _key, _topic, _partition, _offset, _timestamp and _row.
    """

    config = ConfigDef(
        ConfigKey(
            "function",
            Type.STRING,
            importance=Importance.HIGH,
            validator=_importable,
            doc="The function, as module:name. The module lies in a folder of plugin.path or in an installed package.",
        ),
        ConfigKey(
            "takes",
            Type.STRING,
            RECORD,
            Importance.MEDIUM,
            "What the function takes and returns: record (one at a time) or table (an Arrow table of many).",
            one_of(RECORD, TABLE),
        ),
    )

    def configure(self, settings: Mapping[str, Any]) -> None:
        parsed = self.config.parse(settings)
        self._function = find_function("function", parsed["function"])
        self._name: str = parsed["function"]
        self.takes_tables = parsed["takes"] == TABLE

    def apply(self, record: Record) -> Record | None:
        changed = self._function(record)
        if changed is None or isinstance(changed, Record):
            return changed
        raise DataError(f"{self._name} returned {type(changed).__name__}, not a Record or None")

    def apply_rows(self, rows: pa.Table) -> pa.Table:
        import pyarrow as pa

        changed = self._function(rows)
        if isinstance(changed, pa.RecordBatch):
            return pa.Table.from_batches([changed])
        if isinstance(changed, pa.Table):
            return changed
        raise DataError(f"{self._name} returned {type(changed).__name__}, not a pyarrow.Table")

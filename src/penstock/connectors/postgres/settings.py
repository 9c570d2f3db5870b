"""The configuration keys of the source; names and meanings are Debezium's where it has them."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.api import ConfigDef, ConfigKey, Importance, Type, at_least, non_empty_string, one_of

from . import connection
from .shape import EXTRA_FIELDS

SLOT, CAPTURE, SNAPSHOT, RECORDS = "Replication", "Tables", "Snapshot", "Records"
_HIGH, _MEDIUM, _LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW

SNAPSHOT_MODES = {
    "initial": "initial",
    "never": "never",
    "no_data": "never",
    "always": "always",
    "only": "only",
    "initial_only": "only",
}

SOURCE = connection.KEYS + ConfigDef(
    ConfigKey(
        "topic.prefix",
        Type.STRING,
        importance=_HIGH,
        doc="The beginning of all topic names: changes of public.orders go to <topic.prefix>.public.orders. It is also"
        " the source partition: with another one everything begins anew.",
        validator=non_empty_string,
        group=CAPTURE,
    ),
    ConfigKey(
        "table.include.list",
        Type.LIST,
        "",
        _HIGH,
        "Which tables to capture: regular expressions over schema.table. Empty: all but those excluded.",
        None,
        CAPTURE,
    ),
    ConfigKey(
        "table.exclude.list", Type.LIST, "", _MEDIUM, "Which tables not to capture, in the same form.", None, CAPTURE
    ),
    ConfigKey("schema.include.list", Type.LIST, "", _LOW, "Capture only tables of these schemas.", None, CAPTURE),
    ConfigKey("schema.exclude.list", Type.LIST, "", _LOW, "Capture no tables of these schemas.", None, CAPTURE),
    ConfigKey(
        "slot.name",
        Type.STRING,
        "",
        _HIGH,
        "The replication slot, made before the first start and dropped after the connector was deleted. By default"
        " penstock_ and the name of the connector.",
        None,
        SLOT,
    ),
    ConfigKey(
        "slot.adopt",
        Type.BOOLEAN,
        False,
        _LOW,
        "Use a slot that exists already and was not made by this connector. It is then this connector's, and is dropped"
        " with it.",
        None,
        SLOT,
    ),
    ConfigKey(
        "slot.drop.on.delete",
        Type.BOOLEAN,
        True,
        _LOW,
        "Drop slot and publication when the connector is deleted. A slot that stays holds back the server's log.",
        None,
        SLOT,
    ),
    ConfigKey(
        "slot.failover", Type.BOOLEAN, False, _LOW, "Make a slot that standbys take over (PostgreSQL 17).", None, SLOT
    ),
    ConfigKey(
        "publication.name",
        Type.STRING,
        "",
        _MEDIUM,
        "The publication that says which tables the slot tells of. By default penstock_ and the name of the connector.",
        None,
        SLOT,
    ),
    ConfigKey(
        "publication.autocreate.mode",
        Type.STRING,
        "filtered",
        _MEDIUM,
        "filtered: a publication of the captured tables, which follows them; all_tables: one of all tables; disabled:"
        " use one that exists (an empty one, which needs CREATE on the database, then says whose the slot is).",
        one_of("filtered", "all_tables", "disabled"),
        SLOT,
    ),
    ConfigKey("plugin.name", Type.STRING, "pgoutput", _LOW, "Only pgoutput.", one_of("pgoutput"), SLOT),
    ConfigKey(
        "snapshot.mode",
        Type.STRING,
        "initial",
        _HIGH,
        "initial: read each table once before its changes; never (or no_data): only changes; always: read the tables at"
        " each start; only (or initial_only): read the tables once and no changes, without a slot.",
        one_of(*SNAPSHOT_MODES),
        SNAPSHOT,
    ),
    ConfigKey(
        "snapshot.split.pages",
        Type.INT,
        1024,
        _LOW,
        "How many pages (of 8 KB) of a table one executor reads at a time.",
        at_least(1),
        SNAPSHOT,
    ),
    ConfigKey(
        "poll.interval.ms", Type.INT, 10, _LOW, "The shortest time between two looks for changes.", at_least(0), SLOT
    ),
    ConfigKey(
        "heartbeat.interval.ms",
        Type.INT,
        0,
        _MEDIUM,
        "How often to write a record to the heartbeat topic. 0: never. The slot moves on by itself while captured"
        " tables are quiet and others are not; heartbeats are for those who watch.",
        at_least(0),
        SLOT,
    ),
    ConfigKey(
        "heartbeat.topics.prefix",
        Type.STRING,
        "__debezium-heartbeat",
        _LOW,
        "The beginning of the heartbeat topic's name; a dot and topic.prefix follow.",
        non_empty_string,
        SLOT,
    ),
    ConfigKey("heartbeat.action.query", Type.STRING, "", _LOW, "SQL to run with each heartbeat.", None, SLOT),
    ConfigKey(
        "envelope",
        Type.STRING,
        "debezium",
        _HIGH,
        "debezium: before, after, source, op and ts_ms; flat: the row itself, and null for a deleted one.",
        one_of("debezium", "flat"),
        RECORDS,
    ),
    ConfigKey(
        "flat.add.fields",
        Type.LIST,
        "",
        _LOW,
        f"With envelope=flat, more fields of each row, with two underscores in front: {', '.join(EXTRA_FIELDS)}.",
        None,
        RECORDS,
    ),
    ConfigKey(
        "tombstones.on.delete",
        Type.BOOLEAN,
        True,
        _MEDIUM,
        "After the record of a delete, write one with the same key and no value, so that compaction removes the key.",
        None,
        RECORDS,
    ),
    ConfigKey(
        "skipped.operations",
        Type.LIST,
        "t",
        _LOW,
        "Which changes to leave out: c, u, d, t (truncate), or none.",
        None,
        RECORDS,
    ),
    ConfigKey(
        "decimal.handling.mode",
        Type.STRING,
        "precise",
        _MEDIUM,
        "numeric as decimals (precise), as double, or as text (string). Decimals have neither NaN nor infinity: null.",
        one_of("precise", "double", "string"),
        RECORDS,
    ),
    ConfigKey(
        "time.precision.mode",
        Type.STRING,
        "adaptive",
        _MEDIUM,
        "Dates, times and timestamps with Debezium's types, to the microsecond (adaptive, adaptive_time_microseconds),"
        " or with Kafka Connect's, to the millisecond (connect).",
        one_of("adaptive", "adaptive_time_microseconds", "connect"),
        RECORDS,
    ),
    ConfigKey(
        "interval.handling.mode",
        Type.STRING,
        "numeric",
        _LOW,
        "Intervals as microseconds (numeric) or as ISO 8601 text (string).",
        one_of("numeric", "string"),
        RECORDS,
    ),
    ConfigKey(
        "unavailable.value.placeholder",
        Type.STRING,
        "__debezium_unavailable_value",
        _LOW,
        "What stands for a large value that an update left as it was, which the log does not tell.",
        non_empty_string,
        RECORDS,
    ),
)

_NOT_UNDERSTOOD = ("column.", "message.key.columns", "snapshot.select.statement.overrides")


def refused_keys(config: Mapping[str, str]) -> dict[str, list[str]]:
    """Debezium's keys that decide which values go out, and that nobody here would heed: what to do instead."""
    advice = "PostgresCdc does not know it, and values that it keeps back would go out. Take it out; transforms such as"
    advice += " ReplaceField, MaskField and ValueToKey choose columns, hide values and make keys."
    return {key: [advice] for key in config if key.startswith(_NOT_UNDERSTOOD)}

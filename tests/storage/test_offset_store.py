"""Source offsets: Kafka Connect's bytes, its checks, and partitions that are the same whatever their field order."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from penstock.api.errors import DataError
from penstock.storage.errors import StorageError
from penstock.storage.log import Listener, LogRecord
from penstock.storage.memory_log import MemoryLog
from penstock.storage.offset_store import OffsetKeys, OffsetStore


def started(*records: tuple[bytes, bytes | None]) -> tuple[OffsetStore, MemoryLog]:
    log = MemoryLog([LogRecord(key, value) for key, value in records])
    store = OffsetStore(log)
    store.start()
    return store, log


def test_records_have_the_bytes_of_kafka_connect() -> None:
    store, log = started()
    store.put("file-1", [({"filename": "/ä/😀"}, {"position": 12})]).result()
    assert log.records == [
        LogRecord('["file-1",{"filename":"/ä/\\ud83d\\ude00"}]'.encode(), b'{"position":12}'),
    ]


def test_offsets_are_known_after_a_restart_and_apart_by_connector() -> None:
    store, log = started()
    store.put("a", [({"f": "x"}, {"p": 1}), ({"f": "y"}, {"p": 2})]).result()
    store.put("b", [({"f": "x"}, {"p": 3})]).result()
    again = OffsetStore(log)
    again.start()
    assert again.all("a") == [({"f": "x"}, {"p": 1}), ({"f": "y"}, {"p": 2})]
    assert again.get("b", {"f": "x"}) == {"p": 3}
    assert again.get("b", {"f": "y"}) is None
    assert again.connectors() == ["a", "b"]


def test_only_keys_that_may_be_written_otherwise_travel_with_the_work() -> None:
    store, _ = started((b'["a", {"f":"y"}]', b'{"p":1}'))
    store.put("a", [({"f": "x"}, {"p": 1}), ({"db": "d", "table": "t"}, {"p": 2})]).result()
    assert store.keys("a").unusual.keys() == {'{"f":"y"}', '{"db":"d","table":"t"}'}
    assert store.keys("b") == OffsetKeys("b", {})


def test_partitions_and_offsets_are_checked_wherever_their_records_are_made() -> None:
    keys = OffsetKeys("a", {})
    with pytest.raises(DataError, match="field f contains ARRAY"):
        keys([({"f": [1]}, {"p": 1})])
    with pytest.raises(DataError, match="field p contains MAP"):
        keys([({"f": 1}, {"p": {}})])


def test_the_log_of_every_connector_is_the_one_that_ends_with_the_store() -> None:
    class Ending(MemoryLog):
        ended = False

        def stop(self) -> None:
            self.ended = True

    log = Ending()
    store = OffsetStore(log)
    store.start()
    assert store.log_of("a") is log
    assert not log.ended
    store.stop()
    assert log.ended


def test_the_newest_offset_counts_and_null_forgets() -> None:
    store, _ = started()
    store.put("a", [({"f": "x"}, {"p": 1})]).result()
    store.put("a", [({"f": "x"}, {"p": 2}), ({"f": "y"}, {"p": 5})]).result()
    assert store.get("a", {"f": "x"}) == {"p": 2}
    store.put("a", [({"f": "x"}, None)]).result()
    assert store.all("a") == [({"f": "y"}, {"p": 5})]


def test_reset_forgets_every_partition_of_one_connector() -> None:
    store, log = started()
    store.put("a", [({"f": "x"}, {"p": 1}), ({"f": "y"}, {"p": 2})]).result()
    store.put("b", [({"f": "x"}, {"p": 3})]).result()
    store.reset("a").result()
    assert store.all("a") == []
    assert store.all("b") == [({"f": "x"}, {"p": 3})]
    assert [record.value for record in log.records[-2:]] == [None, None]


def test_reset_without_offsets_writes_nothing() -> None:
    store, log = started()
    store.reset("a").result()
    assert log.records == []


def test_a_partition_with_its_fields_in_another_order_is_the_same_one_under_its_old_key() -> None:
    java = b'["a",{"table":"t","db":"d"}]'
    store, log = started((java, b'{"lsn":1}'))
    assert store.get("a", {"db": "d", "table": "t"}) == {"lsn": 1}
    store.put("a", [({"db": "d", "table": "t"}, {"lsn": 2})]).result()
    assert log.records[-1] == LogRecord(java, b'{"lsn":2}')
    assert store.all("a") == [({"table": "t", "db": "d"}, {"lsn": 2})]


def test_two_keys_of_one_partition_are_written_and_reset_together() -> None:
    first, second = b'["a",{"x":1,"y":2}]', b'["a",{"y":2,"x":1}]'
    store, log = started((first, b'{"p":1}'), (second, b'{"p":2}'))
    assert [offset for _, offset in store.all("a")] == [{"p": 2}]
    store.reset("a").result()
    assert log.records[-2:] == [LogRecord(first, None), LogRecord(second, None)]
    assert store.all("a") == []


@pytest.mark.parametrize(
    "key", [b"not json", b'"text"', b'["a"]', b'["a",null]', b'[1,{"f":1}]', b'["a",{"f":1},3]', b"\xff"]
)
def test_keys_of_another_shape_are_ignored(key: bytes) -> None:
    store, _ = started((key, b'{"p":1}'), (b'["a",{"f":1}]', b'{"p":2}'))
    assert store.all("a") == [({"f": 1}, {"p": 2})]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("text", "Offsets must be specified as a Map"),
        ({1: 2}, "Offsets may only use String keys"),
        ({"f": [1]}, "Offsets may only contain primitive types as values, but field f contains ARRAY"),
        ({"f": {"g": 1}}, "Offsets may only contain primitive types as values, but field f contains MAP"),
    ],
)
def test_only_maps_of_primitives_are_taken(value: Any, text: str) -> None:
    store, log = started()
    for change in ((value, {"p": 1}), ({"f": 1}, value)):
        with pytest.raises(DataError) as refused:
            store.put("a", [({"fine": 1}, {"p": 1}), change])
        assert str(refused.value) == text
    assert log.records == []


def test_primitives_of_every_kind_are_taken() -> None:
    store, log = started()
    store.put("a", [({"f": True}, {"i": 2**62, "x": 1.5, "s": "t", "n": None, "b": b"\x00\xff"})]).result()
    assert log.records[0].value == b'{"i":4611686018427387904,"x":1.5,"s":"t","n":null,"b":"AP8="}'


def test_records_made_elsewhere_are_those_of_the_store() -> None:
    strange = b'[ "a", {"f": "x"} ]'
    store, _ = started((strange, b'{"p":1}'), (b'["a",{"t":1,"s":2}]', b'{"p":1}'), (b'["a",{"f":"y"}]', b'{"p":1}'))
    changes: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"f": "x"}, {"p": 2}),
        ({"s": 2, "t": 1}, {"p": 3}),
        ({"f": "y"}, {"p": 4}),
        ({"f": "new"}, {"p": 5}),
    ]
    elsewhere: OffsetKeys = pickle.loads(pickle.dumps(store.keys("a")))
    assert elsewhere(changes) == store.records("a", changes)
    assert elsewhere([*changes, ({"f": "y"}, {"p": 6})])[2] == LogRecord(b'["a",{"f":"y"}]', b'{"p":6}')
    with pytest.raises(DataError, match="Offsets may only contain primitive types"):
        elsewhere([({"f": "x"}, {"p": []})])


def test_a_new_log_counts_and_what_it_has_not_is_remembered_as_lost() -> None:
    store, old = started((b'["a", {"f":"x"}]', b'{"p":1}'), (b'["a",{"f":"y"}]', b'{"p":2}'))
    new = MemoryLog([LogRecord(b'["a",{"f":"y"}]', b'{"p":5}')])
    assert store.lost("a") == []
    store.renew(new)
    assert store.lost("a") == [({"f": "x"}, {"p": 1})]
    assert sorted(store.all("a"), key=str) == [({"f": "x"}, {"p": 1}), ({"f": "y"}, {"p": 5})]
    store.put("a", store.lost("a")).result()
    assert store.lost("a") == []
    assert new.records[1:] == [LogRecord(b'["a", {"f":"x"}]', b'{"p":1}')], "under the key it had"
    old.append([LogRecord(b'["a",{"f":"y"}]', b'{"p":9}')]).result()
    assert store.get("a", {"f": "y"}) == {"p": 5}


def test_a_log_that_cannot_take_the_place_of_another_leaves_it() -> None:
    class Refusing(MemoryLog):
        def start(self, listener: Listener) -> int:
            raise StorageError("it cannot be made")

    store, old = started((b'["a",{"f":"x"}]', b'{"p":1}'))
    with pytest.raises(StorageError, match="cannot be made"):
        store.renew(Refusing())
    store.put("a", [({"f": "x"}, {"p": 2})]).result()
    assert store.log is old
    assert store.get("a", {"f": "x"}) == {"p": 2}

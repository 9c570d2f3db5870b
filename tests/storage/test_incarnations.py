"""Lives of connector names in the config log: the same for every worker, whatever was compacted, whoever wrote it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from penstock.storage.config_records import connector_record, target_state_record
from penstock.storage.config_snapshot import ConfigSnapshot
from penstock.storage.config_store import ConfigStore
from penstock.storage.lifecycle_records import (
    Cleanup,
    HookCall,
    Lifecycle,
    cleanup_id,
    cleanup_record,
    incarnation_record,
    lifecycle_record,
)
from penstock.storage.log import LogRecord
from penstock.storage.memory_log import MemoryLog

A, B, C = ({"connector.class": "Source", "mark": mark} for mark in "abc")


def opened(*records: LogRecord) -> tuple[ConfigStore, MemoryLog]:
    """A worker that begins to read here."""
    log = MemoryLog(records)
    store = ConfigStore(log)
    store.start()
    return store, log


def compacted(records: Sequence[LogRecord]) -> list[LogRecord]:
    """What is left of a log when compaction has come to its end."""
    newest = {record.key: place for place, record in enumerate(records)}
    return [one for place, one in enumerate(records) if newest[one.key] == place and one.value is not None]


def read_again(log: MemoryLog) -> ConfigSnapshot:
    """What a worker knows that begins to read when the log was compacted."""
    return opened(*compacted(log.records))[0].snapshot()


def left(snapshot: ConfigSnapshot) -> dict[str, Sequence[Mapping[str, str | None]]]:
    """Clean-ups with what they are called with."""
    return {
        one.id: [one.config] if one.doubtful is None else [one.config, one.doubtful]
        for one in snapshot.cleanups.values()
    }


def calling(hook: str, config: Mapping[str, str | None], worker: str | None = "w") -> HookCall:
    return HookCall(hook, config, 1, 1, worker=worker)


def test_a_connector_has_one_id_from_its_creation_to_its_deletion() -> None:
    store, log = opened()
    store.put_connector("c", A)
    first = store.incarnation("c")
    store.put_connector("c", B)
    assert (store.incarnation("c"), read_again(log).incarnation("c")) == (first, first)
    log.append([connector_record("c", C)])
    assert store.incarnation("c") == first, "Kafka Connect changes a configuration, not who it is of"
    store.remove_connector("c")
    assert (store.incarnation("c"), "c" in read_again(log).incarnations) == (None, False)
    store.put_connector("c", A)
    assert store.incarnation("c") not in (None, first)


def test_what_is_noted_of_an_earlier_life_says_nothing_of_the_present_one() -> None:
    store, log = opened()
    store.put_connector("c", A)
    first = str(store.incarnation("c"))
    store.remove_connector("c")
    store.put_connector("c", B)
    second = str(store.incarnation("c"))
    store.put_lifecycle("c", second, Lifecycle(B))
    store.put_lifecycle("c", first, Lifecycle(A))
    for snapshot in (store.snapshot(), read_again(log)):
        assert snapshot.lifecycle("c") == Lifecycle(B)
        assert left(snapshot) == {cleanup_id(first, 0): [A]}


def test_a_deletion_turns_what_hooks_have_noted_into_a_clean_up_whoever_writes_it() -> None:
    for gone in ([connector_record("c", None), target_state_record("c", None)], [connector_record("c", None)]):
        store, log = opened(incarnation_record("c", "one"), connector_record("c", B))
        store.put_lifecycle("c", "one", Lifecycle(A, calling("updated", B)))
        log.append(gone)
        for snapshot in (store.snapshot(), read_again(log)):
            assert left(snapshot) == {cleanup_id("one", 0): [A, B]}
            assert snapshot.cleanups[cleanup_id("one", 0)].awaited == "w"


def test_logs_of_an_older_penstock_go_on() -> None:
    """Its records are under the connector's name, do not tell it, and know neither workers nor ids."""

    def old(key: str, value: Any) -> LogRecord:
        return LogRecord(key.encode(), json.dumps(value).encode())

    noted = old("lifecycle-c", {"active": A, "pending": None})
    cleanup = {"connector": "d", "config": C, "since": 7, "tries": 2, "error": "no", "next-try": 9, "doubtful": None}
    store, log = opened(connector_record("c", A), noted, old("cleanup-3f9c1a2b4d5e", cleanup))
    assert store.snapshot().lifecycle("c") == Lifecycle(A)
    assert store.snapshot().cleanups["3f9c1a2b4d5e"] == Cleanup("3f9c1a2b4d5e", "d", C, 7, 2, "no", 9)
    store.put_lifecycle("c", str(store.incarnation("c")), Lifecycle(B))
    assert store.snapshot().lifecycle("c") == read_again(log).lifecycle("c") == Lifecycle(B)
    store.remove_connector("c")
    (of_c,) = store.snapshot().cleanups_of("c")
    assert of_c.config == B
    store.finish_cleanup(of_c)
    assert not read_again(log).cleanups_of("c")
    orphan = opened(noted)[0].snapshot()
    assert [one.config for one in orphan.cleanups_of("c")] == [A], "a deletion that did not come to its end"


def test_a_connector_that_kafka_connect_makes_again_and_again_is_cleaned_up_after_each_time() -> None:
    store, log = opened()
    for _ in range(3):
        log.append([connector_record("c", A)])
        store.put_lifecycle("c", str(store.incarnation("c")), Lifecycle(A))
        log.append([connector_record("c", None)])
        (cleanup,) = store.snapshot().cleanups_of("c")
        assert (cleanup.config, left(read_again(log))) == (A, left(store.snapshot()))
        store.finish_cleanup(cleanup)
        assert not store.snapshot().cleanups
        assert not read_again(log).cleanups


def test_a_connector_that_is_put_back_is_the_same_one_with_all_that_its_hooks_have_done() -> None:
    store, log = opened()
    store.put_connector("c", A)
    incarnation, entry = str(store.incarnation("c")), store.snapshot().entries["c"]
    store.put_lifecycle("c", incarnation, Lifecycle(A))
    store.remove_connector("c")
    assert store.snapshot().cleanups_of("c")
    store.restore_connector("c", entry, incarnation, None)
    for snapshot in (store.snapshot(), read_again(log)):
        assert (snapshot.incarnation("c"), snapshot.lifecycle("c")) == (incarnation, Lifecycle(A))
        assert not snapshot.cleanups


def test_a_clean_up_that_is_over_is_not_begun_again_by_who_did_not_know() -> None:
    store, log = opened(incarnation_record("c", "one"), connector_record("c", A))
    store.put_lifecycle("c", "one", Lifecycle(A))
    store.remove_connector("c")
    (cleanup,) = store.snapshot().cleanups_of("c")
    store.finish_cleanup(cleanup)
    log.append([cleanup_record(replace(cleanup, tries=1))])
    log.append([cleanup_record(replace(cleanup, stands_alone=True))])
    log.append([lifecycle_record("c", "one", Lifecycle(A))])
    assert not store.snapshot().cleanups
    assert store.snapshot().spent
    store.sweep()
    assert not store.snapshot().spent
    assert not read_again(log).cleanups


def test_a_clean_up_that_has_begun_is_over_when_it_is_told_at_last_that_nothing_was_made() -> None:
    store, log = opened(incarnation_record("c", "one"), connector_record("c", A))
    store.put_lifecycle("c", "one", Lifecycle(None, calling("created", A)))
    store.remove_connector("c")
    (cleanup,) = store.snapshot().cleanups_of("c")
    store.put_cleanup(replace(cleanup, worker="leader"))
    assert left(store.snapshot()) == left(read_again(log)) == {cleanup.id: [A]}
    store.put_lifecycle("c", "one", Lifecycle(None, replace(calling("created", A), error="no")))
    assert not store.snapshot().cleanups
    assert not read_again(log).cleanups
    store.sweep()
    assert not compacted(log.records)


def test_of_two_workers_that_begin_a_clean_up_the_first_has_it_until_it_is_dead() -> None:
    store, _ = opened()
    cleanup = Cleanup("id", "c", A, 1)
    store.put_cleanup(replace(cleanup, worker="one"))
    store.put_cleanup(replace(cleanup, worker="two"))
    assert store.snapshot().cleanups["id"].worker == "one"
    store.put_cleanup(replace(cleanup, worker="two", instead_of="one"))
    assert store.snapshot().cleanups["id"].worker == "two"
    store.put_cleanup(replace(cleanup, tries=1, error="no", instead_of="one"))
    assert store.snapshot().cleanups["id"] == replace(cleanup, worker="two", instead_of="one")
    store.put_cleanup(replace(cleanup, tries=1, error="no", instead_of="two"))
    assert store.snapshot().cleanups["id"].tries == 1


def test_a_worker_that_is_started_again_disowns_what_it_called_for_connectors_that_are_gone() -> None:
    store, log = opened(incarnation_record("c", "one"), connector_record("c", A), connector_record("alive", B))
    store.put_lifecycle("c", "one", Lifecycle(None, calling("created", A, "again")))
    store.put_lifecycle("alive", "alive", Lifecycle(None, calling("created", B, "again")))
    store.put_cleanup(Cleanup("other", "d", C, 1, worker="again"))
    store.remove_connector("c")
    store.disown_calls("again")
    for snapshot in (store.snapshot(), read_again(log)):
        assert [(one.awaited, one.worker) for one in snapshot.cleanups.values()] == [(None, None)] * 2
        assert snapshot.lifecycle("alive").calling == "again", "whoever has it now may have begun it again"


def test_an_older_worker_finds_hooks_under_a_name_and_passes_over_those_under_an_id() -> None:
    """It would take the id for the name of a connector that is gone, and call its deletion hook."""
    store, log = opened(connector_record("old", A))
    store.put_connector("new", B)
    for name, config in (("old", A), ("new", B)):
        store.put_lifecycle(name, str(store.incarnation(name)), Lifecycle(config))
    assert [record.key for record in log.records[-2:]] == [
        b"lifecycle-old",
        f"hooks-{store.incarnation('new')}".encode(),
    ]


def test_an_id_that_is_none_is_passed_over() -> None:
    store, _ = opened(LogRecord(b"incarnation-c", b'{"id":7}'), LogRecord(b"incarnation-c", b'{"id":""}'))
    store.put_connector("c", A)
    assert len(str(store.incarnation("c"))) == 12

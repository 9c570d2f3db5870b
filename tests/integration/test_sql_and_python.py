"""Sql and PythonFunction on a real worker: in sinks and sources, with bad records and a kill in between."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.probes import PLUGINS, wait_for_spark
from tests.support.raw_records import RawTopics
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PLAIN = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
}
TOLERANT = {"errors.tolerance": "all", "errors.deadletterqueue.context.headers.enable": "true"}
SECONDS = 120.0


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    folder = tmp_path_factory.mktemp("sql")
    with PenstockProcess(folder / "worker", {"plugin.path": str(PLUGINS)}) as process:
        wait_for_spark(process, folder)
        yield process


def lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def sink(worker: PenstockProcess, folder: Path, name: str, **config: str) -> Path:
    file = folder / f"{name}.txt"
    own = {"connector.class": "FileStreamSink", "topics": f"{name}-in", "file": str(file)}
    dead = {"errors.deadletterqueue.topic.name": f"{name}-dead"}
    worker.create(name, {**own, **PLAIN, **TOLERANT, **dead, **config})
    return file


def test_a_chain_of_sql_python_and_kafkas_own(worker: PenstockProcess, tmp_path: Path) -> None:
    topics = RawTopics(worker, tmp_path, "chain-source")
    chain = {
        "transforms": "ten,greet,sql,pick",
        "transforms.ten.type": "PythonFunction",
        "transforms.ten.function": "shop_functions:expensive",
        "transforms.ten.takes": "table",
        "transforms.greet.type": "PythonFunction",
        "transforms.greet.function": "shop_functions:greet",
        "transforms.sql.type": "Sql",
        "transforms.sql.select": "concat(greeting, ', that is ', CAST(price AS INT) * amount) AS text",
        "transforms.sql.where": "name <> 'Bob'",
        "transforms.pick.type": "org.apache.kafka.connect.transforms.ExtractField$Value",
        "transforms.pick.field": "text",
    }
    file = sink(worker, tmp_path, "chain", **chain)
    for name, amount, price in [
        ("Ann", 20, "2"),
        ("Bob", 30, "2"),
        ("Cid", 5, "2"),
        ("Dan", 40, "two"),
        ("Eve", 50, "3"),
    ]:
        topics.send("chain-in", json.dumps({"name": name, "amount": amount, "price": price}).encode())
    wait_until(lambda: len(lines(file)) == 2, "two lines", SECONDS)
    assert lines(file) == ["Hello Ann, that is 40", "Hello Eve, that is 150"]
    path = "/connectors/chain/dead-letters"
    wait_until(lambda: len(worker.http.get(path).json()["dead_letters"]) == 1, "Dan's dead letter", SECONDS)
    (letter,) = worker.http.get(path).json()["dead_letters"]
    assert letter["original"]["offset"] == 3
    assert letter["error"]["class_name"] == "penstock.transforms.sql.Sql"
    assert "The value 'two' of the type" in letter["error"]["message"]
    mended = {"id": letter["id"], "value": {"text": '{"name": "Dan", "amount": 40, "price": "4"}'}}
    assert worker.http.post(f"{path}/replay", json={"dead_letters": [mended]}).json() == {"replayed": 1, "failed": 0}
    assert lines(file)[-1] == "Hello Dan, that is 160"


def test_a_source_selects_what_it_writes(worker: PenstockProcess, tmp_path: Path) -> None:
    given = tmp_path / "given.txt"
    given.write_text("".join(f"{number}\n" for number in range(100)))
    config = {
        "connector.class": "FileStreamSource",
        "file": str(given),
        "topic": "selected-in",
        "transforms": "sql",
        "transforms.sql.type": "Sql",
        "transforms.sql.select": "CAST(_value AS INT) AS number",
        "transforms.sql.where": "_value LIKE '%7'",
    }
    worker.create("selecting", {**config, **PLAIN})
    file = sink(worker, tmp_path, "selected")
    wait_until(lambda: len(lines(file)) == 10, "ten lines", SECONDS)
    assert lines(file) == [f"{{number={number}}}" for number in range(7, 100, 10)]


def test_wrong_sql_is_refused_and_a_wrong_column_fails_records(worker: PenstockProcess, tmp_path: Path) -> None:
    config: dict[str, Any] = {
        "connector.class": "FileStreamSink", "topics": "t", "transforms": "sql", "transforms.sql.type": "Sql",
        "transforms.sql.select": "a b c",
    }  # fmt: skip
    answer = worker.http.post("/connectors", json={"name": "wrong", "config": config})
    assert answer.status_code == 400
    assert "PARSE_SYNTAX_ERROR" in answer.json()["message"]
    config["transforms.sql.select"] = "*"
    config |= {
        "transforms": "f",
        "transforms.f.type": "PythonFunction",
        "transforms.f.function": "shop_functions:nothing",
    }
    answer = worker.http.post("/connectors", json={"name": "wrong", "config": config})
    assert "Module shop_functions has no function nothing" in answer.json()["message"]


def test_nothing_is_lost_or_twice_when_a_worker_dies_amid_a_query(tmp_path: Path) -> None:
    with PenstockProcess(tmp_path / "worker", {"plugin.path": str(PLUGINS)}) as own:
        topics = RawTopics(own, tmp_path)
        select = {"transforms": "sql", "transforms.sql.type": "Sql", "transforms.sql.select": "n * 2 AS n"}
        file = sink(own, tmp_path, "killed", **select)
        for number in range(300):
            topics.send("killed-in", b'{"n":%d}' % number)
        wait_until(lambda: len(lines(file)) > 0, "the first lines", SECONDS)
        for number in range(300, 600):
            topics.send("killed-in", b'{"n":%d}' % number)
        own.restart()
        wait_until(lambda: len(lines(file)) >= 600, "all lines", SECONDS)
        assert lines(file) == [f"{{n={2 * number}}}" for number in range(600)]

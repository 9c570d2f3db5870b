"""Executors that do not see the worker's folder say so, and what to do."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from penstock.topics.embedded_io import EmbeddedReader, EmbeddedStager
from penstock.topics.errors import TopicError
from penstock.topics.folders import TopicFolders
from penstock.topics.interface import RAW_SCHEMA, TopicPartition

from .world import World, numbered

T0 = TopicPartition("t", 0)
ELSEWHERE = r"does not see .*elsewhere, the folder of the embedded topics.*data\.dir.*share.*bootstrap\.servers"


def test_records_cannot_be_staged_where_the_folder_is_not_shared(tmp_path: Path) -> None:
    table = pa.Table.from_pylist([{"value": b"x", "timestamp": 1}], RAW_SCHEMA)
    stager = EmbeddedStager(TopicFolders(str(tmp_path / "elsewhere")), "epoch", inline_bytes=0)
    with pytest.raises(TopicError, match=ELSEWHERE):
        stager.write(T0, table)


def test_records_cannot_be_read_where_the_folder_is_not_shared(world: World, tmp_path: Path) -> None:
    world.send(numbered(0, 50_000))
    ranges = world.topics.ranges({T0: None}, 10**6, 10**9)
    assert any(piece.segment.file for piece in ranges[0].pieces)
    reader = EmbeddedReader(TopicFolders(str(tmp_path / "elsewhere")))
    with pytest.raises(TopicError, match=ELSEWHERE):
        reader.read(ranges[0])

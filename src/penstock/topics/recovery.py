"""What a start does: learn what is committed, finish what a crash interrupted, sweep what it left."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Mapping

from penstock.storage.faults import reach
from penstock.storage.sqlite import Database

from . import manifest
from .folders import SUFFIX, TopicFolders
from .index import Index, PartitionIndex, TopicIndex
from .settings import TopicSettings

logger = logging.getLogger(__name__)

FOR_EVER = 2**62
Rules = Callable[[str, Mapping[str, str]], TopicSettings]


def recover(database: Database, folders: TopicFolders, index: Index, rules: Rules) -> None:
    """Fill the index from the manifest and bring the folders in line with it. No batch may be on its way."""
    database.write(manifest.create_tables).result()
    database.read(lambda connection: _load(connection, index, rules))
    _publish_staged(folders, index)
    _delete_removed(database, folders)
    _delete_staged(folders)


def _load(connection: sqlite3.Connection, index: Index, rules: Rules) -> None:
    for row in manifest.all_topics(connection):
        partitions = []
        for number, (first, following) in enumerate(manifest.all_partitions(connection, row.id)):
            segments = manifest.all_segments(connection, row.id, number)
            partitions.append(PartitionIndex(first, following, segments, sum(s.size for s in segments)))
        index.topics[row.name] = TopicIndex(row.id, row.name, row.settings, rules(row.name, row.settings), partitions)
    for group, partition, position in manifest.all_positions(connection):
        index.move(group, {partition: position})
    for group, task, state in manifest.all_states(connection):
        index.states.setdefault(group, {})[task] = state


def _publish_staged(folders: TopicFolders, index: Index) -> None:
    """Move files to their topics that were committed and no more, or that a backup caught on their way out."""
    for topic in index.topics.values():
        for number, partition in enumerate(topic.partitions):
            for segment in partition.segments:
                if segment.file is None or folders.committed(topic.name, number, segment.start, segment.file).exists():
                    continue
                reach("recovery-publish")
                if not folders.bring_back(topic.name, number, segment.start, segment.file):
                    logger.error(
                        "Topic '%s' lacks the file %s: its offsets %d to %d cannot be read. Restore it from a backup.",
                        topic.name,
                        folders.committed(topic.name, number, segment.start, segment.file),
                        segment.start,
                        segment.end - 1,
                    )


def _delete_removed(database: Database, folders: TopicFolders) -> None:
    gone = database.read(lambda connection: manifest.removed_files(connection, FOR_EVER))
    for file, topic, partition, first in gone:
        folders.delete(topic, partition, first, file)
        folders.remove_empty(topic)
        reach("recovery-sweep")
    if gone:
        database.write(lambda connection: manifest.forget_removed(connection, [row[0] for row in gone])).result()
    for path in folders.removed.glob(f"*{SUFFIX}"):
        path.unlink(missing_ok=True)


def _delete_staged(folders: TopicFolders) -> None:
    orphans = list(folders.staged.glob(f"*{SUFFIX}"))
    for path in orphans:
        path.unlink(missing_ok=True)
        reach("recovery-sweep")
    if orphans:
        logger.info("Swept %d staged files that were never committed", len(orphans))

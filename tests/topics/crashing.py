"""Run as a program: work on embedded topics, say what was acknowledged, and die where PENSTOCK_FAULT says.

Arguments: data folder, first number to send, number to stop before.
"""

from __future__ import annotations

import sys
from pathlib import Path

from penstock.topics import maintenance
from penstock.topics.interface import SinkCommit, SourceCommit, TopicPartition
from tests.topics.world import World, numbered

FEW, MANY = 3, 200


def main(folder: str, first: int, last: int) -> None:
    maintenance.REMOVED_KEPT_MS = 0
    world = World(Path(folder))
    number, batch = first, 0
    while number < last:
        width = min(MANY if batch % 3 == 0 else FEW, last - number)
        staged = [world.stage(numbered(number, number + width, size=20))]
        number += width
        offsets = [({"f": "x"}, {"p": number})]
        world.topics.commit_source(SourceCommit("c", staged, offsets)).result()
        print("source", number, flush=True)
        positions = {TopicPartition("t", 0): number}
        world.topics.commit_sink(SinkCommit("g", positions, 0, {"seen": number})).result()
        print("sink", number, flush=True)
        if batch % 10 == 9:
            world.topics.maintain()
        batch += 1
    world.close()
    print("end", number, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))

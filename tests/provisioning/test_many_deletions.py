"""How many deletions are too many, and of what."""

from __future__ import annotations

import pytest

from penstock.runtime.provisioning.desired import API, WORKER, Desired, DesiredConnector, DesiredPipeline, Place, Scope
from penstock.runtime.provisioning.diff import Actual, diff
from penstock.runtime.provisioning.many_deletions import ManyDeletions, too_many
from penstock.storage.config_snapshot import ConfigSnapshot, ConnectorEntry
from penstock.storage.pipeline_records import Declaration

FOLDER = "/pipelines"


def judged(
    before: int, gone: int, percent: int = 50, origin: str = API, elsewhere: int = 0, paths: tuple[str, ...] = (FOLDER,)
) -> ManyDeletions | None:
    """Files of a folder that declared so many connectors, so many of which are gone; others are of another folder."""
    files = {f"c{number}": f"{FOLDER}/{number % 2}.yaml" for number in range(before)}
    files |= {f"other{number}": "/elsewhere/x.yaml" for number in range(elsewhere)}
    declarations = {name: Declaration(file, file, origin, {}) for name, file in files.items()}
    actual = Actual(ConfigSnapshot({name: ConnectorEntry({}) for name in files}, declarations=declarations))
    left = [name for name in files if files[name].startswith(FOLDER)][gone:]
    pipelines = [
        DesiredPipeline(
            file,
            Place(file, 0, "pipelines[0]"),
            [
                DesiredConnector(name, file, {}, None, Place(file, 0, ""))
                for name in (*left, "new")
                if files.get(name) == file or name == "new"
            ],
        )
        for file in sorted({files[name] for name in left})
    ]
    desired = Desired(pipelines, Scope(paths, origin))
    difference = diff(desired, actual)
    return too_many(difference.actions, difference.held, percent, desired.scope)


@pytest.mark.parametrize(
    ("before", "gone", "percent", "refused"),
    [
        (2, 2, 50, False),
        (3, 3, 50, True),
        (6, 3, 50, False),
        (5, 3, 50, True),
        (6, 4, 50, True),
        (6, 6, 99, True),
        (6, 6, 100, False),
        (100, 3, 0, True),
        (100, 2, 0, False),
    ],
)
def test_three_deletions_that_are_more_than_the_share_are_too_many(
    before: int, gone: int, percent: int, refused: bool
) -> None:
    assert (judged(before, gone, percent) is not None) is refused


def test_only_connectors_that_the_files_answer_for_count() -> None:
    found = judged(4, 3, elsewhere=100)
    assert found is not None
    assert found.held == 4
    own = judged(4, 3, elsewhere=100, origin=WORKER)
    assert own is not None
    assert (len(own.gone), own.held) == (103, 104), "a worker answers for all that its files ever made"


def test_the_message_says_how_many_of_how_many_where_and_the_way_out() -> None:
    asked, own = judged(5, 4), judged(5, 4, origin=WORKER)
    assert asked is not None
    assert own is not None
    assert asked.message == (
        "4 of the 5 connectors that /pipelines declared before would be deleted (c0, c1, c2, …): more than 50 % "
        "(pipelines.delete.max.percent). Is a folder not mounted, or files missing? If it is meant, say so: penstock "
        "apply --delete-many, or 'delete_many': true in a request."
    )
    assert own.message.endswith("If it is meant, start the worker with pipelines.delete.max.percent=80.")
    assert own.problem.file == FOLDER
    assert own.problem.is_error
    lots = judged(5, 4, paths=tuple(f"{FOLDER}/{number}.yaml" for number in range(5)))
    assert lots is not None
    assert "/pipelines/0.yaml, /pipelines/1.yaml, /pipelines/2.yaml and 2 more declared before" in lots.message


def test_pipelines_that_would_lose_too_much_stay_as_they_are() -> None:
    found = judged(6, 5)
    assert found is not None
    assert found.without(found.gone) == []

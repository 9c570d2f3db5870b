"""Tests without the mark ``integration`` start no process: ``make check`` runs them, and nobody waits for it.

A pytest plugin; ``tests/conftest.py`` loads it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

START_PROCESSES = frozenset({"broker", "engine", "real_worker", "shared_worker"})
"""Fixtures of many files. Whoever uses one of them has the mark without saying so."""

_STARTS = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn"})


class _Current:
    """The test that must not start a process, with its fixtures; empty when it may."""

    test = ""


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    if _Current.test and event in _STARTS:
        raise AssertionError(
            f"{_Current.test} starts a process ({event}: {arguments[:2]}): mark it with @pytest.mark.integration"
        )


# An audit hook sees what a test starts through any library, and cannot be taken off again: it is added once.
sys.addaudithook(_refuse)


def pytest_itemcollected(item: pytest.Item) -> None:
    if isinstance(item, pytest.Function) and START_PROCESSES.intersection(item.fixturenames):
        item.add_marker(pytest.mark.integration)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _Current.test = "" if item.get_closest_marker("integration") else item.nodeid
    try:
        return (yield)
    finally:
        _Current.test = ""

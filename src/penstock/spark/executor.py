"""Executor side: runs works one after the other and never lets one harm the next."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Sequence
from typing import Protocol

from penstock.api.errors import RetriableError

from .splits import Failure, Receipt


class Runnable(Protocol):
    """A picklable piece of work: ``SourceWork``, ``SinkWork``, or anything else with a ``run``."""

    def run(self) -> Receipt:
        """Do it, on an executor."""


def run_works(payload: bytes) -> bytes:
    """Pickled works in, their pickled receipts out, in the same order."""
    works: Sequence[Runnable] = pickle.loads(payload)
    return pickle.dumps([run_work(work) for work in works], protocol=pickle.HIGHEST_PROTOCOL)


def run_work(work: Runnable) -> Receipt:
    """One receipt, whatever happens: an exception that escapes the work becomes a failure."""
    try:
        return work.run()
    except Exception as error:
        return Receipt(failure=Failure(describe(error), retriable=isinstance(error, RetriableError)))


def describe(error: BaseException) -> str:
    """The error in one line, then its Python traceback."""
    summary = "".join(traceback.format_exception_only(error)).strip()
    return f"{summary}\n{''.join(traceback.format_exception(error)).rstrip()}"

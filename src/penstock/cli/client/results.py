"""What became of several connectors, told once at the end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..exit_codes import OK
from .formats import Format, print_data
from .problems import ClientError, Refused, tell
from .screen import answers
from .states import Status
from .waiting import Goal, wait_for_all

if TYPE_CHECKING:
    from .api import ConnectApi


@dataclass
class Results:
    """Collects outcomes. ``verb`` is the past form for people: ``paused``."""

    verb: str
    output: Format
    done: list[str] = field(default_factory=list)
    failed: list[tuple[str, ClientError]] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)
    verbs: dict[str, str] = field(default_factory=dict)
    """Other words for single connectors."""
    untouched: Collection[str] = ()
    """Those of the done for which nothing had to be done."""
    statuses: dict[str, Status] = field(default_factory=dict)
    """The last ones that waiting has seen."""

    def attempt(self, name: str, action: Callable[[], Any]) -> None:
        """Do it for one; what goes wrong is kept and the others get their turn. A worker that is gone ends it all."""
        try:
            found = action()
        except ClientError as error:
            if isinstance(error, Refused) and error.status == 0:
                raise
            self.fail(name, error)
            return
        self.done.append(name)
        if found is not None:
            self.more[name] = found

    def fail(self, name: str, error: ClientError) -> None:
        """Keep what went wrong with one, and tell it to people at once."""
        self.failed.append((name, error))
        if not self.output.is_data:
            tell(error)

    def wait(
        self, api: ConnectApi, goals: Mapping[str, Goal], seconds: float, changed: Collection[str] = ()
    ) -> None:
        """Wait for some that were done; those that do not reach their goal have failed after all.

        Those that are ``changed`` must run with their new configuration.
        """
        waited = wait_for_all(api, goals, seconds, changed)
        self.statuses.update({name: status for name, status in waited.statuses.items() if status is not None})
        for name, problem in waited.problems.items():
            self.done.remove(name)
            self.fail(name, problem)

    @property
    def code(self) -> int:
        """The exit code: that of the first failure."""
        return self.failed[0][1].code if self.failed else OK

    def finish(self, tell_done: bool = True) -> int:
        """Print what happened; the exit code."""
        if self.output.is_data:
            print_data([*self._done(), *self._failed()], self.output)
        elif tell_done:
            for name in self.done:
                text = f"{name} {self.verbs.get(name, self.verb)}"
                if name in self.untouched:
                    answers().line(f"  {text}", "dim")
                else:
                    answers().done(text)
        return self.code

    def _done(self) -> Sequence[dict[str, Any]]:
        return [
            {
                "name": name,
                "result": self.verbs.get(name, self.verb),
                **self._status(name),
                **({"answer": self.more[name]} if name in self.more else {}),
            }
            for name in self.done
        ]

    def _failed(self) -> Sequence[dict[str, Any]]:
        return [
            {"name": name, "result": "failed", "message": str(error), **self._status(name)}
            for name, error in self.failed
        ]

    def _status(self, name: str) -> dict[str, Any]:
        return {"status": self.statuses[name]} if name in self.statuses else {}

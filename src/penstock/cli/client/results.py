"""What became of several connectors, told once at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..exit_codes import OK
from .formats import Format, print_data
from .problems import ClientError, Refused, tell
from .screen import answers


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

    def attempt(self, name: str, action: Callable[[], Any]) -> None:
        """Do it for one; what goes wrong is kept and the others get their turn. A worker that is gone ends it all."""
        try:
            found = action()
        except ClientError as error:
            if isinstance(error, Refused) and error.status == 0:
                raise
            self.failed.append((name, error))
            if not self.output.is_data:
                tell(error)
            return
        self.done.append(name)
        if found is not None:
            self.more[name] = found

    def finish(self, statuses: Mapping[str, Any] | None = None, tell_done: bool = True) -> int:
        """Print what happened; the exit code is that of the first failure."""
        if self.output.is_data:
            print_data([*self._done(statuses or {}), *self._failed()], self.output)
        elif tell_done:
            for name in self.done:
                answers().done(f"{name} {self.verbs.get(name, self.verb)}")
        return self.failed[0][1].code if self.failed else OK

    def _done(self, statuses: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
        return [
            {
                "name": name,
                "result": self.verbs.get(name, self.verb),
                **({"status": statuses[name]} if statuses.get(name) else {}),
                **({"answer": self.more[name]} if name in self.more else {}),
            }
            for name in self.done
        ]

    def _failed(self) -> Sequence[dict[str, Any]]:
        return [{"name": name, "result": "failed", "message": str(error)} for name, error in self.failed]

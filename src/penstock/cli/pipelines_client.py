"""Pipeline files, and the worker they are meant for: over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import msgspec

from penstock.runtime.pipeline_files import PipelineFiles, load_pipeline_files
from penstock.runtime.provisioning.plan import Plan
from penstock.runtime.provisioning.planning import located

SECONDS = 120.0


class Refused(Exception):
    """The worker did not do it; ``status`` is its HTTP code, 0 when it could not be reached. The text is for users."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class PipelinesClient:
    """Some pipeline files in the hands of one user. ``name`` is what they are called on the worker."""

    def __init__(self, url: str, paths: Sequence[Path], name: str | None = None, adopt: bool = False) -> None:
        self._url = url.rstrip("/")
        self._files = load_pipeline_files(paths, name)
        self._adopt = adopt

    def plan(self) -> Plan:
        """What applying would do; all problems with their lines. Raises :class:`Refused`."""
        return self._with_lines(self._post("plan", {}))

    def apply(self, plan: str | None) -> Plan:
        """Do it; ``plan`` is the hash of the plan that was agreed on. Raises :class:`Refused`."""
        return self._with_lines(self._post("apply", {"plan": plan}))

    def _with_lines(self, answer: Any) -> Plan:
        plan = msgspec.convert(answer, Plan)
        problems = [*_only_here(self._files, plan), *located(plan.problems, self._files.documents)]
        valid = not any(problem.is_error for problem in problems)
        return replace(plan, problems=problems, hash=plan.hash if valid else None)

    def _post(self, action: str, more: dict[str, Any]) -> Any:
        files = [
            {"file": document.file, "document": document.value, "number": document.number}
            for document in self._files.documents
        ]
        paths = self._files.roots if self._files.whole else []
        body = {"files": files, "paths": paths, "adopt": self._adopt, **more}
        try:
            answer = httpx.post(f"{self._url}/pipelines/{action}", json=body, timeout=SECONDS)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Refused(0, f"Cannot reach a worker at {self._url}: {error}. --url chooses another one.") from error
        if answer.status_code != httpx.codes.OK:
            raise Refused(answer.status_code, refusal_text(answer))
        return answer.json()


def _only_here(files: PipelineFiles, plan: Plan) -> list[Any]:
    """Problems of texts that never became a document, so the worker cannot know of them."""
    return [problem for problem in files.problems if problem not in plan.problems]


def refusal_text(answer: httpx.Response) -> str:
    """What a worker that did not do something says about it."""
    try:
        return str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        return f"{answer.request.url} answered {answer.status_code}: is it a Penstock worker?"

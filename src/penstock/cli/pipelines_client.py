"""Pipeline files, and the worker they are meant for: over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from penstock.runtime.pipeline_files import PipelineFiles, load_pipeline_files
from penstock.runtime.provisioning.plan import Plan
from penstock.runtime.provisioning.planning import located

from .client.api import ConnectApi


class PipelinesClient:
    """Some pipeline files in the hands of one user. ``name`` is what they are called on the worker."""

    def __init__(self, api: ConnectApi, paths: Sequence[Path], name: str | None = None, adopt: bool = False) -> None:
        self._api = api
        self._files = load_pipeline_files(paths, name)
        self._adopt = adopt

    def plan(self) -> Plan:
        """What applying would do; all problems with their lines. Raises ``ClientError``."""
        return self._with_lines(self._post("plan", {}))

    def apply(self, plan: str | None, delete_many: bool = False) -> Plan:
        """Do it; ``plan`` is the hash of the plan that was agreed on. Raises ``ClientError``."""
        more = {"delete_many": True} if delete_many else {}
        return self._with_lines(self._post("apply", {"plan": plan, **more}))

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
        with self._api.only_penstock("Pipeline files", "penstock apply -f FILE applies connector files."):
            return self._api.post("pipelines", action, body=body)


def _only_here(files: PipelineFiles, plan: Plan) -> list[Any]:
    """Problems of texts that never became a document, so the worker cannot know of them."""
    return [problem for problem in files.problems if problem not in plan.problems]


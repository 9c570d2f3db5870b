"""The figures that are on the page in docs: of each step those of the last run that was published."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import reduce
from pathlib import Path

from .figures import Findings, both_versions

Steps = Mapping[str, Findings]
"""What was found in each step."""


def published(file: Path) -> dict[str, Steps]:
    """What was published of each system, by its name."""
    found = json.loads(file.read_text()) if file.exists() else {}
    return {
        system: {step: Findings.from_json(findings) for step, findings in steps.items()}
        for system, steps in found.items()
    }


def publish(run: Iterable[Findings], file: Path) -> dict[str, Steps]:
    """Keep the steps of a run in place of those there were; all that is published then."""
    systems = published(file)
    for findings in run:
        systems[findings.system] = {**systems.get(findings.system, {}), **_by_step(findings)}
    found = {
        system: {step: findings.to_json() for step, findings in sorted(steps.items())}
        for system, steps in sorted(systems.items())
    }
    file.write_text(json.dumps(found, indent=1) + "\n")
    return systems


def together(steps: Steps) -> Findings:
    """All figures of a system, whenever and of whichever version; what else it says is of the last of them."""
    last = max(steps.values(), key=lambda found: found.date)
    version = reduce(both_versions, (found.version for found in steps.values()))
    figures = {key: figure for found in steps.values() for key, figure in found.figures.items()}
    return replace(last, version=version, figures=figures)


def _by_step(run: Findings) -> dict[str, Findings]:
    steps: dict[str, Findings] = {}
    for figure in run.figures.values():
        empty = Findings(run.system, run.version, run.date, run.machine)
        steps.setdefault(figure.step, empty).add([figure])
    return steps

"""A plan for a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.runtime.provisioning import plan as words
from penstock.runtime.provisioning.plan import Change, KeyChange, Plan

from .plan_text import SIGNS, summary


def plan_as_markdown(plan: Plan) -> str:
    """The whole plan: a table of what changes, and the details of each change folded away."""
    return "\n".join(_lines(plan)) + "\n"


def _lines(plan: Plan) -> Iterator[str]:
    yield f"### Penstock: {summary(plan)}"
    yield ""
    for problem in plan.problems:
        yield f"- {'❌' if problem.is_error else '⚠️'} {_plain(str(problem))}"
    if plan.refused is not None:
        yield f"- ⚠️ apply refuses this plan: {_plain(plan.refused)}"
    if plan.problems or plan.refused is not None:
        yield ""
    if not plan.changes or plan.hash is None:
        return
    yield "| | Pipeline | What | Effect | Hooks |"
    yield "|---|---|---|---|---|"
    for change in plan.changes:
        sign, _, verb = SIGNS[change.action]
        hooks = ", ".join(f"`on_{hook.hook}`" for hook in change.hooks)
        effect = "" if change.effect == "nothing" else change.effect
        yield f"| `{sign}` | {_cell(change.pipeline)} | {verb} `{_cell(change.name)}` | {effect} | {hooks} |"
    yield ""
    for change in plan.changes:
        if change.action != words.CLAIM:
            yield from _details(change)


def _details(change: Change) -> Iterator[str]:
    yield f"<details><summary>{_plain(change.summary)}</summary>"
    yield ""
    if change.keys:
        yield "```diff"
        for key in change.keys:
            yield from _key(key)
        yield "```"
    for note in change.notes:
        yield f"- {_plain(note)}"
    for hook in change.hooks:
        yield f"- `on_{hook.hook}()` is called {hook.when}."
    yield "</details>"
    yield ""


def _key(change: KeyChange) -> Iterator[str]:
    drift = "   # drift: changed by the API" if change.drift else ""
    if change.before is not None:
        yield f"- {change.key}: {_one_line(change.before)}{drift}"
    if change.after is not None:
        yield f"+ {change.key}: {_one_line(change.after)}"


def _one_line(text: str) -> str:
    return text.replace("\n", "\\n").replace("`", "'")


def _plain(text: str) -> str:
    return text.replace("<", "&lt;").replace("\n", " ")


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|")

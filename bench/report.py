"""Findings as text: a table for the terminal, the same for the page in docs."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from .figures import Figure, Findings

TITLES = {
    "startup": "Start-up",
    "throughput": "Throughput",
    "chains": "Transforms",
    "kafka": "Topics in Kafka",
    "latency": "Latency",
    "status": "GET status",
    "control": "Control actions",
    "connectors": "Many connectors",
    "cluster": "A cluster",
    "postgres": "PostgreSQL",
}
"""In the order of the steps."""

SIGNS = {True: "✓", False: "✗", None: ""}
COLOURS = {True: "green", False: "red", None: "default"}


def shown(figure: Figure) -> str:
    """The value with as many digits as mean something, and its unit."""
    value, unit = figure.value, figure.unit
    if unit == "records/s":
        return f"{value / 1e6:.2f} M/s" if value >= 1e6 else f"{value / 1e3:.0f} k/s"
    if unit in ("threads", "processes", "tasks"):
        return f"{value:.0f}"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f} {unit}"


def ratio(ours: Figure, theirs: Figure | None) -> str:
    """``3.1 x`` when we are so many times better; less than 1 when we are worse."""
    times = ours.times_better_than(theirs) if theirs else None
    if times is None:
        return ""
    return f"{times:.0f} x" if times >= 20 else f"{times:.1f} x" if times >= 1 else f"{times:.2f} x"


def target(figure: Figure, theirs: Figure | None) -> str:
    """The target and whether it is reached."""
    if figure.times is not None:
        wanted = f"≥ {figure.times:g} x"
    elif figure.target is not None:
        sign = "≥" if figure.better == "more" else "≤"
        wanted = f"{sign} {shown(Figure(figure.key, '', figure.unit, figure.target))}"
    else:
        return ""
    return f"{wanted} {SIGNS[figure.reached(theirs)]}".rstrip()


def rows(ours: Findings, peer: Findings | None) -> Iterator[tuple[str, Figure, Figure | None]]:
    """Each figure of ours with its step's title and the peer's figure."""
    for key, figure in ours.figures.items():
        yield TITLES.get(figure.step, figure.step), figure, peer.figures.get(key) if peer else None


def table(ours: Findings, peer: Findings | None, peer_title: str) -> Table:
    """All figures, a section for each step."""
    made = Table(title=f"{ours.system} {ours.version} on {ours.machine}", title_justify="left")
    made.add_column("")
    for column in (ours.system, peer_title, "ratio", "target"):
        made.add_column(column, justify="right")
    last = None
    for step, figure, theirs in rows(ours, peer):
        if step != last:
            made.add_section()
            made.add_row(f"[bold]{step}[/bold]")
            last = step
        colour = COLOURS[figure.reached(theirs)]
        judged = f"[{colour}]{target(figure, theirs)}[/{colour}]"
        made.add_row(figure.title, shown(figure), shown(theirs) if theirs else "", ratio(figure, theirs), judged)
    return made


def markdown(ours: Findings, peer: Findings | None, peer_title: str) -> dict[str, str]:
    """The same as Markdown tables, one for each step, by their titles."""
    head = f"| | {ours.system} | {peer_title} | ratio | target |\n|---|--:|--:|--:|--:|"
    tables: dict[str, list[str]] = {}
    for step, figure, theirs in rows(ours, peer):
        compared = (shown(theirs) if theirs else "", ratio(figure, theirs), target(figure, theirs))
        tables.setdefault(step, [head]).append("| " + " | ".join((figure.title, shown(figure), *compared)) + " |")
    return {step: "\n".join(lines) for step, lines in tables.items()}

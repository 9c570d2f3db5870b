"""Where findings go: a file for each run, the recorded figures of the peer, the page in docs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .chart import CHOSEN, chart
from .figures import Findings, both_versions
from .machine import is_noisy
from .page import with_sections
from .published import publish, together
from .report import TITLES, markdown
from .sizing import sizing_page

HERE = Path(__file__).parent
RESULTS = HERE / "results"
RECORDED = HERE / "peer" / "recorded.json"
PUBLISHED = HERE / "published.json"
DOCS = HERE.parent / "docs"
PAGE = DOCS / "benchmarks.md"
SIZING = DOCS / "sizing.md"
IMAGE = DOCS / "images" / "benchmarks.svg"


@dataclass(frozen=True, slots=True)
class Outcome:
    """All of a run. ``others`` tells for each step how many cores other processes used meanwhile."""

    date: str
    ours: Findings
    peer: Findings | None
    peer_measured: bool
    load_before: float
    others: Mapping[str, float]

    @property
    def peer_title(self) -> str:
        if self.peer is None:
            return "Kafka Connect"
        recorded = "" if self.peer_measured else f", recorded {self.peer.date[:10]}"
        return f"{self.peer.system} {self.peer.version}{recorded}"

    def save(self) -> Path:
        """A JSON file, and a chart when there is a peer to compare with; the path of the first."""
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"{self.date.replace(':', '')}.json"
        systems = [self.ours, self.peer] if self.peer and self.peer_measured else [self.ours]
        found = {
            "date": self.date,
            "load_before": self.load_before,
            "cores_used_by_others": dict(self.others),
            "systems": [system.to_json() for system in systems],
        }
        path.write_text(json.dumps(found, indent=2) + "\n")
        if self.peer:
            path.with_suffix(".svg").write_text(chart(self.ours, self.peer, self.peer_title))
        return path

    @property
    def noisy(self) -> dict[str, float]:
        """The steps during which others were busy, and how many cores they used."""
        return {step: cores for step, cores in self.others.items() if is_noisy(cores)}

    def record_peer(self) -> None:
        """Keep the peer's figures for runs without it.

        Only of steps on a quiet machine: a peer that was slowed down would make every later comparison a lie. Other
        steps keep the figures they had.
        """
        if not self.peer or not self.peer_measured:
            return
        before = recorded_peer()
        quiet = {key: figure for key, figure in self.peer.figures.items() if figure.step not in self.noisy}
        if not quiet:
            return
        figures = {**before.figures, **quiet} if before else quiet
        mixed = before is not None and not before.figures.keys() <= quiet.keys()
        version = both_versions(before.version, self.peer.version) if before and mixed else self.peer.version
        kept = Findings(self.peer.system, version, self.peer.date, self.peer.machine, figures)
        RECORDED.write_text(json.dumps(kept.to_json(), indent=1) + "\n")

    def publish(self) -> None:
        """Put the figures into the docs, and what follows from them for the size of a cluster.

        Steps that this run did not have keep the figures they had, in the chart, too, which waits until it has all.
        """
        tables = markdown(self.ours, self.peer, self.peer_title)
        steps = {TITLES.get(figure.step, figure.step): figure.step for figure in self.ours.figures.values()}
        sections = {title: f"{self._about(steps[title])}\n\n{table}" for title, table in tables.items()}
        PAGE.write_text(with_sections(PAGE.read_text(), sections, TITLES.values()))
        found = publish([self.ours, self.peer] if self.peer and self.peer_measured else [self.ours], PUBLISHED)
        if self.peer and self.peer.system in found:
            ours, peer = together(found[self.ours.system]), together(found[self.peer.system])
            if all(key in ours.figures and key in peer.figures for key in CHOSEN):
                IMAGE.write_text(chart(ours, peer, f"{peer.system} {peer.version}"))
        if sizing := sizing_page(found[self.ours.system]):
            SIZING.write_text(sizing)

    def _about(self, step: str) -> str:
        about = f"{self.ours.system} {self.ours.version} on {self.date[:10]}: {self.ours.machine}."
        if step in self.noisy:
            about += (
                f"\n\n**Not to be quoted.** The machine was busy with other work: load {self.load_before:.1f} before "
                f"the run, and others, on it or on the same host, used {self.noisy[step]:.1f} of its cores during this "
                f"step. Times and speeds are worse than they would be, by unknown amounts, and ratios are rough."
            )
        return about


def recorded_peer() -> Findings | None:
    """The peer's figures of an earlier run, if there are any."""
    return Findings.from_json(json.loads(RECORDED.read_text())) if RECORDED.exists() else None

"""A bar chart of the main figures as SVG, drawn by hand."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .figures import Figure, Findings
from .report import ratio, shown

CHOSEN = (
    "throughput.in.string.100",
    "throughput.out.string.100",
    "throughput.in.json.1000",
    "throughput.out.json.1000",
    "latency.p50",
    "latency.p99",
    "startup.record",
    "control.busy.create",
    "control.busy.pause",
    "control.busy.restart",
    "control.busy.stop",
    "connectors.many.running",
    "connectors.idle.500.threads",
    "connectors.idle.500.rss",
)
WIDTH, LABEL, BAR, ROW = 860, 330, 360, 44
OURS, THEIRS, TEXT, FAINT = "#0b7a75", "#b8b8b8", "#222222", "#777777"


def chart(ours: Findings, peer: Findings, peer_title: str) -> str:
    """Two bars for each chosen figure, drawn to its own scale: the longer one is the larger value."""
    pairs = [
        (figure, theirs) for key in CHOSEN if (figure := ours.figures.get(key)) and (theirs := peer.figures.get(key))
    ]
    height = 60 + ROW * len(pairs)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="sans-serif" font-size="13">',
        f"<title>{escape(ours.system)} and {escape(peer_title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        *_legend((ours.system, peer_title)),
    ]
    for row, (figure, theirs) in enumerate(pairs):
        parts += _row(50 + ROW * row, figure, theirs)
    return "\n".join([*parts, "</svg>", ""])


def _legend(names: Sequence[str]) -> list[str]:
    parts = []
    for name, colour, x in zip(names, (OURS, THEIRS), (LABEL, LABEL + 140), strict=True):
        parts.append(f'<rect x="{x}" y="16" width="12" height="12" fill="{colour}"/>')
        parts.append(_text(x + 18, 27, name))
    return parts


def _row(y: int, ours: Figure, theirs: Figure) -> list[str]:
    largest = max(ours.value, theirs.value) or 1.0
    parts = [
        _text(LABEL - 12, y + 14, ours.title, anchor="end"),
        _text(LABEL - 12, y + 29, "more is better" if ours.better == "more" else "less is better", FAINT, "end", 11),
    ]
    for figure, colour, top in ((ours, OURS, y), (theirs, THEIRS, y + 17)):
        length = max(2.0, BAR * figure.value / largest)
        parts.append(f'<rect x="{LABEL}" y="{top}" width="{length:.0f}" height="15" fill="{colour}"/>')
        parts.append(_text(int(LABEL + length + 6), top + 12, shown(figure)))
    parts.append(_text(WIDTH - 14, y + 20, ratio(ours, theirs), OURS, "end", 15))
    return parts


def _text(x: int, y: int, text: str, colour: str = TEXT, anchor: str = "start", size: int = 13) -> str:
    return f'<text x="{x}" y="{y}" fill="{colour}" text-anchor="{anchor}" font-size="{size}">{escape(text)}</text>'

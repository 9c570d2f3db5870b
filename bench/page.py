"""The figures on the page in docs: a section for each step, from the last run that had it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

BEGIN, END = "<!-- figures: written by python -m bench --publish -->", "<!-- end of figures -->"
_HEADING = re.compile(r"^### (.+)$", re.MULTILINE)


def with_sections(page: str, sections: Mapping[str, str], order: Iterable[str]) -> str:
    """The page with these sections, by their titles, in place of those it had; the others stay."""
    before, _, rest = page.partition(BEGIN)
    figures, _, after = rest.partition(END)
    found = {**_sections(figures), **{title: text.strip() for title, text in sections.items()}}
    known = [title for title in order if title in found]
    titles = [*known, *(title for title in found if title not in known)]
    texts = "\n\n".join(f"### {title}\n\n{found[title]}" for title in titles)
    head = _HEADING.split(figures, maxsplit=1)[0].strip()
    return f"{before}{BEGIN}\n{head}\n\n{texts}\n{END}{after}"


def _sections(figures: str) -> dict[str, str]:
    """What stands under each heading."""
    parts = _HEADING.split(figures)[1:]
    return {title: text.strip() for title, text in zip(parts[::2], parts[1::2], strict=True)}

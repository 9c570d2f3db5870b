"""A hook of mkdocs: pages that read well in the repository do so on the site, too.

Links to files outside ``docs`` (examples, tests, deployments) lead to copies of them in the site, below ``source``, so
that it can be read anywhere without the repository. A list right below a paragraph is a list.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
LIST_BELOW_TEXT = re.compile(r"^((?![-#|>` ]|\d+\. )\S[^\n]*:)\n(?=- )", re.M)
OUTSIDE = re.compile(r"(?<=\]\()(?:\.\./)+[^)#\s]+")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for page in list(files.documentation_pages()):
        for _, path in _outside_links(page, page.content_string):
            if files.get_file_from_path(_place(path)) is None:
                files.append(File.generated(config, _place(path), content=(ROOT / path).read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    folder = os.path.dirname(page.file.src_uri)
    for link, path in _outside_links(page.file, markdown):
        markdown = markdown.replace(f"]({link}", f"]({os.path.relpath(_place(path), folder)}")
    return LIST_BELOW_TEXT.sub(r"\1\n\n", markdown)


def _outside_links(page: File, markdown: str) -> Iterator[tuple[str, str]]:
    """Links that leave ``docs``, with the path in the repository of the file each leads to."""
    folder = (ROOT / "docs" / page.src_uri).parent
    for link in dict.fromkeys(OUTSIDE.findall(markdown)):
        target = Path(os.path.normpath(folder / link))
        if not target.is_relative_to(ROOT / "docs") and target.is_relative_to(ROOT) and target.is_file():
            yield link, str(target.relative_to(ROOT))


def on_post_build(config: MkDocsConfig) -> None:
    """A site without an address has a map without pages: search engines would take it for empty."""
    if not config.site_url:
        for name in ("sitemap.xml", "sitemap.xml.gz"):
            (Path(config.site_dir) / name).unlink(missing_ok=True)


def _place(path: str) -> str:
    return f"source/{path}"

"""Pipeline files on disk: a file, or a folder with everything in it that is YAML or JSON.

.. code-block:: yaml

    pipelines:
      - id: orders
        status: running
        connectors:
          - name: orders-in
            class: FileStreamSource
            config:
              file: orders.txt
              topic: orders
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .properties import read_text
from .provisioning.desired import API, WORKER, Desired, Scope
from .provisioning.documents import Document, parse_documents
from .provisioning.problems import WARNING, Problem
from .provisioning.reading import read_documents

_EMPTY = (
    "There is no pipeline file. Is a volume not mounted? What files have declared before stays: nothing is deleted. If "
    "it is to go, leave a file here that says 'pipelines: []'; from three connectors on set "
    "'pipelines.delete.max.percent=100' as well."
)
SUFFIXES = frozenset({".yaml", ".yml", ".json"})


@dataclass
class PipelineFiles:
    """The documents of some files, what is wrong with the files, and whether everything asked for was there.

    ``roots`` are the paths that were asked for, as the files in them are called, ``empty`` those without any file.
    """

    documents: list[Document] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)
    roots: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    whole: bool = True

    def desired(self, origin: str = API) -> Desired:
        """What the files want together. Of a worker's own files, nothing counts as gone while a folder is empty."""
        kept = self.empty if origin == WORKER else []
        scope = Scope(tuple(self.roots), origin, self.whole and not kept)
        problems = [*self.problems, *(Problem(_EMPTY, root, severity=WARNING) for root in kept)]
        return read_documents(self.documents, scope, problems, self.unread)


def load_pipeline_files(paths: Sequence[Path], name: str | None = None) -> PipelineFiles:
    """Read files and folders. Never raises: what cannot be read is a problem.

    Files are called by their absolute path, or by ``name`` and their path from there, so that the same files are
    known again wherever they lie.
    """
    loaded = PipelineFiles()
    for path in paths:
        root = _called(path, path, name)
        loaded.roots.append(root)
        try:
            files = list(files_in(path))
        except OSError as error:
            loaded.whole = False
            text = f"Cannot read '{path}': {error.strerror or error}."
            loaded.problems.append(Problem(text, root, suggestion="Check the path and the permissions."))
            continue
        if not files:
            loaded.empty.append(root)
        for file in files:
            _load(file, _called(file, path, name), loaded)
    return loaded


def files_in(path: Path) -> Iterator[Path]:
    """The pipeline files that a path stands for, in the order of their names. Raises ``OSError``.

    Hidden files and folders are left out.
    """
    if not path.is_dir():
        path.stat()
        yield path
        return
    for entry in sorted(path.iterdir()):
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            yield from files_in(entry)
        elif entry.suffix.lower() in SUFFIXES:
            yield entry


def _load(file: Path, called: str, loaded: PipelineFiles) -> None:
    try:
        text = read_text(file)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        documents: list[Document] = []
        problems = [Problem(f"Cannot read the file: {reason}.", called)]
    else:
        documents, problems = parse_documents(text, called)
    loaded.documents += documents
    loaded.problems += problems
    if problems:
        loaded.unread.add(called)


def _called(file: Path, root: Path, name: str | None) -> str:
    if name is None:
        return str(file.absolute())
    if file == root:
        return name if root.is_dir() else f"{name}/{file.name}"
    return f"{name}/{file.relative_to(root)}"

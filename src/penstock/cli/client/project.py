"""A project for plugins of one's own, written from templates."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from pathlib import Path
from string import Template

from .formats import as_yaml
from .problems import Wrong

_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_JSON = {"value.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable": "false"}


class Kind(StrEnum):
    """What a plugin is."""

    SOURCE = "source"
    SINK = "sink"
    TRANSFORM = "transform"


@dataclass(frozen=True)
class Project:
    """``name`` is that of the project: words in lower case, with hyphens between."""

    name: str
    kinds: Sequence[Kind]

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or keyword.iskeyword(self.module):
            raise Wrong(
                f"'{self.name}' cannot be the name of a project.",
                "Use words in lower case with hyphens between, such as orders-api.",
            )

    @property
    def module(self) -> str:
        return self.name.replace("-", "_")

    @property
    def prefix(self) -> str:
        """What its classes begin with."""
        return "".join(word.capitalize() for word in self.name.split("-"))

    def files(self) -> dict[str, str]:
        """Path → text of every file."""
        found = {
            "pyproject.toml": self._filled("pyproject.toml"),
            ".gitignore": self._filled("gitignore"),
            "README.md": self._filled("README.md"),
            "pipeline.yaml": self._filled("pipeline.yaml") + self._connectors(),
            f"src/{self.module}/__init__.py": self._filled("package.py"),
            f"src/{self.module}/py.typed": "",
        }
        for kind in self.kinds:
            found[f"src/{self.module}/{kind.value}.py"] = self._filled(f"{kind.value}.py")
            found[f"tests/test_{kind.value}.py"] = self._filled(f"test_{kind.value}.py")
        return found

    def write(self, folder: Path) -> list[Path]:
        """Write the project into a new folder; the paths of its files. Raises :class:`Wrong`."""
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise Wrong(f"{folder} is there already and not empty.", "--folder chooses another place.")
        written = []
        try:
            for path, text in self.files().items():
                file = folder / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
                written.append(file)
        except OSError as error:
            raise Wrong(f"Cannot write {folder}: {error}") from error
        return written

    def _class(self, kind: Kind) -> str:
        return f"{self.prefix}{kind.value.capitalize()}"

    def _filled(self, template: str) -> str:
        text = (resources.files("penstock.cli") / "scaffold" / f"{template}.tmpl").read_text(encoding="utf-8")
        kinds = sorted(self.kinds, key=lambda kind: kind.value)
        return Template(text).substitute(
            project=self.name,
            module=self.module,
            name=self.prefix,
            kinds=" and ".join(f"a {kind.value}" for kind in kinds),
            imports="\n".join(f"from .{kind.value} import {self._class(kind)}" for kind in kinds),
            names=", ".join(f'"{self._class(kind)}"' for kind in kinds),
            files="\n".join(f"| `src/{self.module}/{kind.value}.py` | the {kind.value} |" for kind in kinds),
        )

    def _connectors(self) -> str:
        """An example that shows every plugin of the project at work."""
        source = {"connector.class": self._class(Kind.SOURCE), "topic": self.name}
        if Kind.SOURCE not in self.kinds:
            source.update({"connector.class": "Generator", "rate": "20"})
        sink = {"connector.class": "FileStreamSink", "topics": self.name, "file": f"{self.name}.jsonl"}
        if Kind.SINK in self.kinds:
            sink["connector.class"] = self._class(Kind.SINK)
        if Kind.TRANSFORM in self.kinds:
            sink.update({"transforms": "mine", "transforms.mine.type": self._class(Kind.TRANSFORM)})
        made = [
            {"name": f"{self.name}-in", "config": {**source, **_JSON}},
            {"name": f"{self.name}-out", "config": {**sink, **_JSON}},
        ]
        return "".join(f"      {line}\n" for line in as_yaml(made).splitlines())

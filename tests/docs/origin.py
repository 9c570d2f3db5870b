"""The repository that readers clone: the files of this one as they are now, with a history of two commits."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.docs.blocks import ROOT

NAME = "<this repository>"
COMMITS = (("add", "--all"), ("commit", "-q", "-m", "First"), ("commit", "-q", "--allow-empty", "-m", "Second"))


def make_origin(folder: Path, variables: dict[str, str]) -> Path:
    """What git tracks or would track here, committed anew in ``folder``."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True, timeout=120).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    for arguments in (("init", "-q"), *COMMITS):
        subprocess.run(["git", *arguments], cwd=folder, env=variables, check=True, timeout=120)
    return folder

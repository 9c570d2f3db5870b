"""Virtual environments that see the packages of the one that runs the tests, but no Penstock.

What a command installs there it has really installed, and Spark is not downloaded again for it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from pathlib import Path

HIDDEN = re.compile(r"penstock|_?pytest(-\d|$)|pip(-\d|$)")
"""What commands under test install themselves: Penstock, and pytest and pip for their programs."""
TOOLS = ("ruff", "mypy")
"""Programs that look at files and import nothing of theirs: those of this environment do for any."""
PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"


def python_that_shares(folder: Path) -> Path:
    """A folder for the front of a PATH: its ``python3`` makes virtual environments that see our packages."""
    packages = _linked(folder / "packages")
    programs = folder / "bin"
    programs.mkdir()
    tools = " ".join(str(Path(sys.executable).with_name(tool)) for tool in TOOLS)
    script = f"""#!/bin/sh
{sys.executable} "$@" || exit
[ "$1 $2" = "-m venv" ] || exit 0
for last; do :; done
echo {packages} > "$last/lib/{PYTHON}/site-packages/shared.pth"
ln -sf {tools} "$last/bin/"
"""
    for name in ("python3", PYTHON, "python"):
        (programs / name).write_text(script)
        (programs / name).chmod(0o755)
    no_uv = programs / "uv"
    no_uv.write_text("#!/bin/sh\necho 'here environments are made by venv' >&2\nexit 1\n")
    no_uv.chmod(0o755)
    return programs


def new_environment(folder: Path) -> Path:
    """Such an environment, in a new folder; the folder of its programs."""
    folder.mkdir(parents=True)
    python = python_that_shares(folder) / "python3"
    environment = folder / "environment"
    subprocess.run([python, "-m", "venv", environment], check=True, capture_output=True, timeout=300)
    return environment / "bin"


def _linked(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for place in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for item in Path(place).iterdir():
            if item.suffix != ".pth" and item.name != "__pycache__" and not HIDDEN.match(item.name):
                (folder / item.name).symlink_to(item)
    return folder


#!/usr/bin/env bash
# Build .venv: setup.sh runtime|dev. Uses uv when it is there, else venv and pip.
set -euo pipefail
cd "$(dirname "$0")/.."

level=${1:?runtime or dev}
venv=.venv

say() { printf '\033[36m%s\033[0m\n' "$*" >&2; }
fail() { printf '\033[31m%s\033[0m\n' "$*" >&2; exit 1; }

find_python() { # the first Python that is new enough
    local candidate
    for candidate in ${PYTHON:+"$PYTHON"} python3 python3.13 python3.12 python3.11 python; do
        if "$candidate" -c "import sys; sys.exit(sys.version_info < (3, 11))" >/dev/null 2>&1; then
            echo "$candidate"
            return 0
        fi
    done
    return 1
}

create_with_uv() {
    local python
    python=$(find_python) || python='>=3.11'
    uv venv --quiet --allow-existing --python "$python" "$venv"
}

create_with_venv() {
    local python
    python=$(find_python) || fail "Penstock needs Python 3.11 or later.
Install one (https://www.python.org/downloads/, or uv: https://docs.astral.sh/uv/) and run make again,
or point to it: make setup PYTHON=/path/to/python3"
    if ! "$python" -m venv "$venv" 2>/dev/null; then
        rm -rf "$venv"
        "$python" -m venv --without-pip "$venv"
        "$python" -m pip --python "$venv/bin/python" install --quiet pip 2>/dev/null || {
            rm -rf "$venv"
            fail "$("$python" --version) at $(command -v "$python") can build no virtual environment: its venv module is incomplete.
Install it (Debian, Ubuntu: apt install python3-venv), or install uv (https://docs.astral.sh/uv/), and run make again."
        }
    fi
}

install() { # requirement
    if [ "$tool" = uv ]; then
        uv pip install --quiet --python "$venv/bin/python" --editable "$1"
    else
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable "$1"
    fi
}

tool=pip
if command -v uv >/dev/null 2>&1; then tool=uv; fi

if [ ! -x "$venv/bin/python" ]; then
    if [ "$tool" = uv ] && ! create_with_uv; then
        say "uv could not build $venv; going on with venv and pip."
        tool=pip
    fi
    [ -x "$venv/bin/python" ] || create_with_venv
fi
if [ "$tool" = pip ] && ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    fail "$venv has no pip and uv is not installed. Remove it (make clean) and run make again."
fi

say "$venv: $("$venv/bin/python" --version), installing with $tool (Spark is 450 MB: the first time takes a while) …"
if [ "$level" = dev ]; then install '.[dev]'; else install .; fi

if ! "$venv/bin/python" -c 'from penstock.spark.java import find_java; find_java()' 2>/dev/null; then
    say "This machine has no Java that Spark can use: installing one into $venv …"
    install '.[java]'
fi

"$venv/bin/penstock" warm-up || say "Spark will start a little slower."

touch "$venv/.runtime"
if [ "$level" = dev ]; then touch "$venv/.dev"; fi
say "$venv is ready."

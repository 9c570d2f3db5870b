"""What the documentation shows as code or data is code or data."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import tomllib
from collections.abc import Callable

import pytest
import yaml

from penstock.runtime.properties import as_dict, parse_properties
from tests.docs.blocks import SHELLS, Block, every_block

BLOCKS = every_block()


def _properties(text: str) -> None:
    assert as_dict(parse_properties(text))


def _shell(text: str) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    done = subprocess.run([bash, "-n"], input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


CHECKS: dict[str, Callable[[str], object]] = {
    "json": json.loads,
    "yaml": lambda text: list(yaml.safe_load_all(text)),
    "toml": tomllib.loads,
    "properties": _properties,
    "python": ast.parse,
}


@pytest.mark.integration
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block.page}:{block.line}")
def test_a_block_is_well_formed(block: Block) -> None:
    if "sketch" in block.told:
        return
    if block.is_shell:
        assert block.commands, "no command in it: begin commands with '$ ', or call the block something else"
        if "not run" not in block.told:
            _shell("\n".join(command.text for command in block.commands))
    elif block.language in CHECKS:
        CHECKS[block.language](block.text)


def test_blocks_are_of_kinds_that_are_checked() -> None:
    assert {block.language for block in BLOCKS} <= {*CHECKS, *SHELLS, "sql", ""}
    by_hand = [block for block in BLOCKS if block.language == "" and not block.page.startswith("docs/reference")]
    assert [block for block in by_hand if block.text.startswith(("$ ", "penstock ", "curl "))] == []


def test_few_blocks_are_only_sketches() -> None:
    sketches = {f"{block.page}: {block.told['sketch']}" for block in BLOCKS if "sketch" in block.told}
    assert len(sketches) <= 3, sketches

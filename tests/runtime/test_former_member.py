"""What a worker remembers of its place in the group."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.runtime.former_member import FILE, FormerMember


def test_a_name_is_found_again_in_the_same_group_only(tmp_path: Path) -> None:
    FormerMember(tmp_path, "ours").remember("member-1")
    FormerMember(tmp_path, "ours").remember("member-2")
    assert FormerMember(tmp_path, "ours").read() == "member-2"
    assert FormerMember(tmp_path, "theirs").read() == ""
    assert [file.name for file in tmp_path.iterdir()] == [FILE]


def test_who_has_left_is_forgotten(tmp_path: Path) -> None:
    former = FormerMember(tmp_path, "ours")
    former.remember("member-1")
    former.forget()
    former.forget()
    assert former.read() == ""


@pytest.mark.parametrize("text", ["", "{", "[]", '{"group": "ours"}'])
def test_a_broken_file_is_no_name(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    assert FormerMember(tmp_path, "ours").read() == ""


def test_a_folder_that_is_gone_or_was_never_given_is_no_error(tmp_path: Path) -> None:
    for former in (FormerMember(tmp_path / "gone", "ours"), FormerMember(None, "ours")):
        former.remember("member-1")
        former.forget()
        assert former.read() == ""

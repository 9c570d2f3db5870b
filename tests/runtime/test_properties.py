from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.properties import PropertiesError, as_dict, load_properties, parse_properties


def parsed(text: str) -> dict[str, str]:
    return as_dict(parse_properties(text))


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("a=b", "a", "b"),
        ("a:b", "a", "b"),
        ("a b", "a", "b"),
        ("a = b ", "a", "b "),
        ("a \t:\f b", "a", "b"),
        ("a==b", "a", "=b"),
        ("a = : b", "a", ": b"),
        ("a", "a", ""),
        ("a=", "a", ""),
        ("=b", "", "b"),
        (":", "", ""),
        (r"a\ b=c", "a b", "c"),
        (r"a\=b\:c=d", "a=b:c", "d"),
        (r"a\\=b", "a\\", "b"),
        (r"path=C\:\\temp\new", "path", "C:\\temp\new"),
        (r"a=\t\n\r\f\q\"", "a", '\t\n\r\fq"'),
        (r"a=\u00e9\u20AC", "a", "é€"),
        (r"a=\uD83D\uDE00", "a", "😀"),
        (r"\u0061=b", "a", "b"),
        ("a=b # c ! d", "a", "b # c ! d"),
        ("  \t a=b", "a", "b"),
        ("a=b\\", "a", "b"),
        ("ключ=значение", "ключ", "значение"),
        ("a=x\u2028y\x0bz\x85", "a", "x\u2028y\x0bz\x85"),
    ],
)
def test_one_line(line: str, key: str, value: str) -> None:
    assert [(item.key, item.value) for item in parse_properties(line)] == [(key, value)]


def test_comments_and_blank_lines_are_skipped() -> None:
    assert parsed("# a=1\n  ! b=2\n\n \t\f\nc=3") == {"c": "3"}


def test_a_comment_does_not_continue() -> None:
    assert parsed("# comment \\\na=1") == {"a": "1"}


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_lines_continue_after_an_odd_number_of_backslashes(end: str) -> None:
    text = end.join(["a=1,\\", "    2,\\", "\t3", "b=x\\\\", "c=y\\\\\\", "z"])
    assert parsed(text) == {"a": "1,2,3", "b": "x\\", "c": "y\\z"}


def test_a_comment_sign_inside_a_continued_line_is_text() -> None:
    assert parsed("a=1\\\n# not a comment") == {"a": "1# not a comment"}


def test_a_blank_line_ends_a_continued_one() -> None:
    assert parsed("a=1\\\n\nb=2") == {"a": "1", "b": "2"}


def test_the_last_of_equal_keys_counts_and_both_are_reported() -> None:
    found = parse_properties("a=1\n\na=2")
    assert [(item.value, item.line) for item in found] == [("1", 1), ("2", 3)]
    assert as_dict(found) == {"a": "2"}


def test_a_bad_unicode_escape_names_the_line() -> None:
    with pytest.raises(PropertiesError, match=r"line 2: malformed .*'\\users'"):
        parse_properties("a=1\npath=C:\\users")


def test_files_are_utf8_and_else_latin1(tmp_path: Path) -> None:
    (tmp_path / "utf8").write_bytes("\ufeffname=é".encode())
    (tmp_path / "latin1").write_bytes("name=é".encode("latin-1"))
    assert load_properties(tmp_path / "utf8") == {"name": "é"}
    assert load_properties(tmp_path / "latin1") == {"name": "é"}


@given(st.dictionaries(st.text(min_size=1), st.text()))
def test_what_is_escaped_comes_back(settings: dict[str, str]) -> None:
    text = "\n".join(f"{_escaped(key)}={_escaped(value)}" for key, value in settings.items())
    assert parsed(text) == settings


def _escaped(text: str) -> str:
    units = text.encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1\\\n   \\\n  2\nb : : x\n", {"a": "12", "b": ": x"}),
        ("\\\n# comment after an empty continued line\na=b", {"a": "b"}),
        ("a\\\nb=c\n  key\\\n   =v\n", {"ab": "c", "key": "v"}),
        ("a=b\\\r\n c\rd e\r\r\nf", {"a": "bc", "d": "e", "f": ""}),
        ("x\\\\\\=y = \\ z\\ \n\\:k v", {"x\\=y": " z ", ":k": "v"}),
        (" = \n\\ =\n\t\\\t=a", {"": "", " ": "", "\t": "a"}),
        ("a=\\\n\n\nb=\\\n#c", {"a": "", "b": "#c"}),
        ("\\\n\\\n\\\na=1", {"a": "1"}),
        ("\\\n!!x", {}),
        ("\\\n!!x=y\na=b", {"a": "b"}),
        ("a=b\n\\\r\n  #x", {"a": "b"}),
        ("\\", {"": ""}),
        ("a=b\n \\\n", {"a": "b", "": ""}),
        ("\\\r\n\\\r", {"": ""}),
        ("\\\r\n", {}),
        ("\\\n\n", {}),
        ("\\\n ", {}),
        ("a=b\\\n", {"a": "b"}),
        ("a=b\\\n\n", {"a": "b"}),
    ],
)
def test_odd_texts_read_as_java_reads_them(text: str, expected: dict[str, str]) -> None:
    """Checked once against ``java.util.Properties`` of Java 17, which gave the same for each (and 21 and 25 do).

    Before Java 13 a comment sign that opens the second line, after nothing but a backslash in the first, was text.
    """
    assert parsed(text) == expected

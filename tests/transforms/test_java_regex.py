"""Regular expressions and replacements; every expectation was observed on java.util.regex."""

from __future__ import annotations

import pytest

from penstock.api.errors import DataError
from penstock.transforms.java.regex import JavaPattern
from penstock.transforms.java.regex_syntax import PatternSyntaxError

REPLACED = [
    ("(.*)", "x-$1", "orders", "x-orders"),
    ("a|ab", "X", "ab", "Xb"),
    ("(?<n>[a-z]+)", "${n}_2", "orders", "orders_2"),
    ("orders", r"\$x\\", "orders", "$x\\"),
    ("(a)|(b)", "[$1$2]", "b", "[b]"),
    (".*?", "x", "ab", "xab"),
    ("(o)(r)(d)ers", "$3$12$10", "orders", "do2o0"),
    ("(?i)ORD(?-i)ers", "x", "orDers", "x"),
    ("ORD(?i:ERS)", "x", "ORDers", "x"),
    ("[a-z&&[^o]]+", "q", "abc", "q"),
    ("[^a-c[xyz]]+", "q", "def", "q"),
    ("a++b", "x", "aab", "x"),
    (r"\Qa.b\E+", "x", "a.bb", "x"),
    (r"\p{Alpha}+\p{Lu}\P{Digit}", "x", "abC_", "x"),
    (r"([a-z])\1", "<$0>", "aa", "<aa>"),
    (r"(?<l>[a-z])\k<l>", "<$1>", "aa", "<a>"),
    (r"\x61\u0062\0143", "x", "abc", "x"),
    ("(?x) a b # c", "x", "ab", "x"),
    (r"topic.\w+\.\d{2,3}", "t", "topic-x.123", "t"),
    ("]}", "x", "]}", "x"),
    ("(?<!x)ab(?=c).", "y", "abc", "y"),
    ("^ab$", "y", "ab", "y"),
    ("", "x", "", "x"),
    (r"([^.]+)\.([^.]+)", "$2.$1", "db.table", "table.db"),
    ("(a)?b", "[$1]", "b", "[]"),
]


@pytest.mark.parametrize(("pattern", "replacement", "text", "result"), REPLACED)
def test_the_first_match_is_replaced_as_java_replaces_it(
    pattern: str, replacement: str, text: str, result: str
) -> None:
    compiled = JavaPattern(pattern)
    assert compiled.matches(text)
    assert compiled.replace_first(text, replacement) == result


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("rder", "orders"), ("a*+a", "aaa"), ("(?>a|ab)c", "abc"), (r"\d", "\u0661"), (".", "\x85"), ("(?i)[^A-Z]", "b")],
)
def test_what_java_does_not_match_does_not_match(pattern: str, text: str) -> None:
    assert not JavaPattern(pattern).matches(text)


@pytest.mark.parametrize(
    "pattern", ["(", ")", "[a", "*", "a{", "a{2,1}", r"\p{None}", "a**", r"\y", "(?<1>a)", "(?<n>a)(?<n>b)", r"\k<n>"]
)
def test_what_java_refuses_is_refused(pattern: str) -> None:
    with pytest.raises(PatternSyntaxError):
        JavaPattern(pattern)


@pytest.mark.parametrize(
    ("replacement", "exception", "message"),
    [
        ("$2", "java.lang.IndexOutOfBoundsException", "No group 2"),
        ("$", "java.lang.IllegalArgumentException", "Illegal group reference: group index is missing"),
        ("$x", "java.lang.IllegalArgumentException", "Illegal group reference"),
        ("x\\", "java.lang.IllegalArgumentException", "character to be escaped is missing"),
        ("${m}", "java.lang.IllegalArgumentException", "No group with name {m}"),
        ("${n", "java.lang.IllegalArgumentException", "named capturing group is missing trailing '}'"),
        ("${1}", "java.lang.IllegalArgumentException", "capturing group name {1} starts with digit character"),
        ("${}", "java.lang.IllegalArgumentException", "named capturing group has 0 length name"),
    ],
)
def test_bad_replacements_fail_with_javas_exceptions(replacement: str, exception: str, message: str) -> None:
    with pytest.raises(DataError) as failed:
        JavaPattern("(a)").replace_first("a", replacement)
    assert (failed.value.exception, str(failed.value)) == (exception, message)

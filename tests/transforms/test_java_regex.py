"""Regular expressions and replacements; every expectation was observed on java.util.regex."""

from __future__ import annotations

import pytest

from penstock.api.errors import DataError
from penstock.api.java_regex.syntax import PatternSyntaxError
from penstock.transforms.java.regex import JavaPattern

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


LINES = [
    (r"a$", "a\r\n", "<a>\r\n"),
    (r"\r$", "a\r\n", "a\r\n"),
    (r"\r$", "a\r", "a<\r>"),
    (r"(?m)a$", "a\r\nb", "<a>\r\nb"),
    (r"(?m)\r$", "a\r\nb", "a\r\nb"),
    (r"(?m)^.", "\r\nb", "\r\n<b>"),
    (r"(?m)\n^", "a\r\nb", "a\r<\n>b"),
    (r"(?m)\r^", "a\r\nb", "a\r\nb"),
    (r"(?m)^", "", ""),
    (r"(?d)a$", "a\r", "a\r"),
    (r"(?d)a$", "a\n", "<a>\n"),
    (r"(?dm)^b", "a\rb", "a\rb"),
    (r"(?dm)^b", "a\nb", "a\n<b>"),
    (r"(?d)a\Z", "a\x85", "a\x85"),
    (r"a\Z", "a\x85", "<a>\x85"),
    (r"\B", "", "<>"),
    (r"\b", "", ""),
    (r"(?dm)a$", "a\r\n", "a\r\n"),
]


@pytest.mark.parametrize(("pattern", "text", "marked"), LINES)
def test_lines_begin_and_end_where_they_do_in_java(pattern: str, text: str, marked: str) -> None:
    assert JavaPattern(pattern).replace_first(text, "<$0>") == marked


@pytest.mark.parametrize(
    "pattern", ["(", ")", "[a", "*", "a{", "a{2,1}", r"\p{None}", "a**", r"\y", "(?<1>a)", "(?<n>a)(?<n>b)", r"\k<n>"]
)
def test_what_java_refuses_is_refused(pattern: str) -> None:
    with pytest.raises(PatternSyntaxError):
        JavaPattern(pattern)


SAMPLE = (
    "aZks1_-$;\xe9\xc9\xdf\u1e9e\u017f\u212ai\u0131\u0130\u03c3\u03c2\u03a3\xb5\u03a9\u2126\u037e\u0342\u1f00\u0416\u05d0\u0639"
    "\u0663\u4e2d\u304b\u30ab\uac00\xaa\u2167\u0345\u01c5\t\x1c\x85\xa0\u2007\u2028\u200d\u0378\u24b6\U0001d49c\U00010400"
    "\U00010428\U0001f600"
)
MATCHED = [
    (r"\p{InGreek}", "\u03c3\u03c2\u03a3\u03a9\u037e\u0378"),
    (r"\p{block=Latin-1 Supplement}", "\xe9\xc9\xdf\xb5\xaa\x85\xa0"),
    (r"\p{IsGreek}", "\u03c3\u03c2\u03a3\u03a9\u2126\u1f00"),
    (r"\p{Script=Greek}", "\u03c3\u03c2\u03a3\u03a9\u2126\u1f00"),
    (r"\p{sc=Latn}", "aZks\xe9\xc9\xdf\u1e9e\u017f\u212ai\u0131\u0130\xaa\u2167\u01c5"),
    (
        r"\P{IsLatin}",
        "1_-$;\u03c3\u03c2\u03a3\xb5\u03a9\u2126\u037e\u0342\u1f00\u0416\u05d0\u0639\u0663\u4e2d\u304b\u30ab\uac00\u0345\t\x1c\x85\xa0\u2007\u2028\u200d\u0378\u24b6\U0001d49c\U00010400\U00010428\U0001f600",
    ),
    (r"\p{IsCyrillic}", "\u0416"),
    (r"\p{IsHan}", "\u4e2d"),
    (r"\p{IsArabic}", "\u0639\u0663"),
    (
        r"\p{L}",
        "aZks\xe9\xc9\xdf\u1e9e\u017f\u212ai\u0131\u0130\u03c3\u03c2\u03a3\xb5\u03a9\u2126\u1f00\u0416\u05d0\u0639\u4e2d\u304b\u30ab\uac00\xaa\u01c5\U0001d49c\U00010400\U00010428",
    ),
    (r"\p{Lu}", "Z\xc9\u1e9e\u212a\u0130\u03a3\u03a9\u2126\u0416\U0001d49c\U00010400"),
    (
        r"(?i)\p{Lu}",
        "aZks\xe9\xc9\xdf\u1e9e\u017f\u212ai\u0131\u0130\u03c3\u03c2\u03a3\xb5\u03a9\u2126\u1f00\u0416\u01c5\U0001d49c\U00010400\U00010428",
    ),
    (r"\p{gc=Nd}", "1\u0663"),
    (r"\p{Cn}", "\u0378"),
    (
        r"\p{IsAlphabetic}",
        "aZks\xe9\xc9\xdf\u1e9e\u017f\u212ai\u0131\u0130\u03c3\u03c2\u03a3\xb5\u03a9\u2126\u1f00\u0416\u05d0\u0639\u4e2d\u304b\u30ab\uac00\xaa\u2167\u0345\u01c5\u24b6\U0001d49c\U00010400\U00010428",
    ),
    (r"\p{IsUppercase}", "Z\xc9\u1e9e\u212a\u0130\u03a3\u03a9\u2126\u0416\u2167\u24b6\U0001d49c\U00010400"),
    (
        r"(?i)\p{IsTitlecase}",
        "aZks\xe9\xc9\xdf\u1e9e\u017f\u212ai\u0131\u0130\u03c3\u03c2\u03a3\xb5\u03a9\u2126\u1f00\u0416\xaa\u2167\u0345\u01c5\u24b6\U0001d49c\U00010400\U00010428",
    ),
    (r"\p{IsWhite_Space}", "\t\x85\xa0\u2007\u2028"),
    (r"\p{IsPunctuation}", "_-;\u037e"),
    (
        r"\p{IsWord}",
        "aZks1_\xe9\xc9\xdf\u1e9e\u017f\u212ai\u0131\u0130\u03c3\u03c2\u03a3\xb5\u03a9\u2126\u0342\u1f00\u0416\u05d0\u0639\u0663\u4e2d\u304b\u30ab\uac00\xaa\u2167\u0345\u01c5\u200d\u24b6\U0001d49c\U00010400\U00010428",
    ),
    (
        r"\p{IsAlnum}",
        "aZks1\xe9\xc9\xdf\u1e9e\u017f\u212ai\u0131\u0130\u03c3\u03c2\u03a3\xb5\u03a9\u2126\u1f00\u0416\u05d0\u0639\u0663\u4e2d\u304b\u30ab\uac00\xaa\u2167\u0345\u01c5\u24b6\U0001d49c\U00010400\U00010428",
    ),
    (r"\p{javaLowerCase}", "aks\xe9\xdf\u017fi\u0131\u03c3\u03c2\xb5\u1f00\xaa\u0345\U00010428"),
    (r"\p{javaWhitespace}", "\t\x1c\u2028"),
    (r"\p{javaSpaceChar}", "\xa0\u2007\u2028"),
    (
        r"\p{IsGraph}",
        "aZks1_-$;\xe9\xc9\xdf\u1e9e\u017f\u212ai\u0131\u0130\u03c3\u03c2\u03a3\xb5\u03a9\u2126\u037e\u0342\u1f00\u0416\u05d0\u0639\u0663\u4e2d\u304b\u30ab\uac00\xaa\u2167\u0345\u01c5\u200d\u24b6\U0001d49c\U00010400\U00010428\U0001f600",
    ),
    (r"\w", "aZks1_i"),
    (
        r"(?U)\w",
        "aZks1_\xe9\xc9\xdf\u1e9e\u017f\u212ai\u0131\u0130\u03c3\u03c2\u03a3\xb5\u03a9\u2126\u0342\u1f00\u0416\u05d0\u0639\u0663\u4e2d\u304b\u30ab\uac00\xaa\u2167\u0345\u01c5\u200d\u24b6\U0001d49c\U00010400\U00010428",
    ),
    (r"(?U)\d", "1\u0663"),
    (r"(?U)\s", "\t\x85\xa0\u2007\u2028"),
    (r"(?U)\W", "-$;\u037e\t\x1c\x85\xa0\u2007\u2028\u0378\U0001f600"),
    (
        r"(?U)\p{Alpha}",
        "aZks\xe9\xc9\xdf\u1e9e\u017f\u212ai\u0131\u0130\u03c3\u03c2\u03a3\xb5\u03a9\u2126\u1f00\u0416\u05d0\u0639\u4e2d\u304b\u30ab\uac00\xaa\u2167\u0345\u01c5\u24b6\U0001d49c\U00010400\U00010428",
    ),
    (r"(?U)\p{Punct}", "_-;\u037e"),
    (
        r"(?Ui)\p{Upper}",
        "aZks\xe9\xc9\xdf\u1e9e\u017f\u212ai\u0131\u0130\u03c3\u03c2\u03a3\xb5\u03a9\u2126\u1f00\u0416\xaa\u2167\u0345\u01c5\u24b6\U0001d49c\U00010400\U00010428",
    ),
    (
        r"(?U)[\w&&[^a-z]]",
        "Z1_\xe9\xc9\xdf\u1e9e\u017f\u212a\u0131\u0130\u03c3\u03c2\u03a3\xb5\u03a9\u2126\u0342\u1f00\u0416\u05d0\u0639\u0663\u4e2d\u304b\u30ab\uac00\xaa\u2167\u0345\u01c5\u200d\u24b6\U0001d49c\U00010400\U00010428",
    ),
    (r"(?U)(?-U)\w", "aZks1_i"),
    (r"(?iu)k", "k\u212a"),
    ("(?iu)\xdf", "\xdf"),
    ("(?iu)\u1e9e", "\xdf\u1e9e"),
    (r"(?iu)[s]", "s\u017f"),
    (
        "(?iu)[^\u017f]",
        "aZk1_-$;\xe9\xc9\xdf\u1e9e\u212ai\u0131\u0130\u03c3\u03c2\u03a3\xb5\u03a9\u2126\u037e\u0342\u1f00\u0416\u05d0\u0639\u0663\u4e2d\u304b\u30ab\uac00\xaa\u2167\u0345\u01c5\t\x1c\x85\xa0\u2007\u2028\u200d\u0378\u24b6\U0001d49c\U00010400\U00010428\U0001f600",
    ),
    (r"(?iu)i", "i\u0131\u0130"),
    ("(?iu)\u03a3", "\u03c3\u03c2\u03a3"),
    ("(?iu)[\u03b1-\u03c9]", "\u03c3\u03c2\u03a3\xb5\u03a9\u2126\u0345"),
    ("(?iu)[\xb5-\xb5]", "\xb5"),
    (r"(?iu)\xe9", "\xe9\xc9"),
    ("(?iU)\xc9", "\xe9\xc9"),
    ("(?iU)(?-U)\xc9", "\xc9"),
    ("(?i)(?U)\xc9", "\xe9\xc9"),
    ("(?i)\xc9", "\xc9"),
    ("(?u)\xc9", "\xc9"),
    ("(?iu:\xc9)", "\xe9\xc9"),
    ("(?iu)\U00010400", "\U00010400\U00010428"),
    (r"\N{GREEK SMALL LETTER SIGMA}", "\u03c3"),
    (r"[\N{DIGIT ZERO}-\N{ digit nine }]", "1"),
    (r"\N{GRINNING FACE}", "\U0001f600"),
    (
        r"(?U)\b.\b",
        "aZks1_\xe9\xc9\xdf\u1e9e\u017f\u212ai\u0131\u0130\u03c3\u03c2\u03a3\xb5\u03a9\u2126\u0342\u1f00\u0416\u05d0\u0639\u0663\u4e2d\u304b\u30ab\uac00\xaa\u2167\u0345\u01c5\u200d\u24b6\U0001d49c\U00010400\U00010428",
    ),
    (r"(?U).\B", "-$;\u037e\t\x1c\xa0\u2007\u0378\U0001f600"),
]


@pytest.mark.parametrize(("pattern", "matched"), MATCHED)
def test_a_pattern_matches_the_characters_that_it_matches_in_java(pattern: str, matched: str) -> None:
    """Java 17 gave these characters of the sample for each pattern."""
    compiled = JavaPattern(pattern)
    assert "".join(char for char in SAMPLE if compiled.matches(char)) == matched


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (r"\p{IsArmenian}", r"name {IsArmenian} (not every script and block of Java is known here: write its ranges"),
        (r"\p{block=Thai}", "name {block=Thai} (not every script"),
        (r"\p{javaJavaIdentifierStart}", "Unknown character property name {javaJavaIdentifierStart} near index"),
        (r"\p{Alphabetic}", "Unknown character property name {Alphabetic} near index"),
        (r"\N{NULL}", r"Unknown character name [NULL]: write its code point, such as \u00e9"),
        (r"\N{KEYCAP DIGIT ONE}", "Unknown character name [KEYCAP DIGIT ONE]"),
        (r"\Na", "Illegal character name escape sequence"),
        (r"(?iu)(\xe9)\1", "A back reference is not supported where (?iu) or (?iU) applies"),
        (r"(?iU)(?<n>\xe9)\k<n>", "A back reference is not supported where (?iu) or (?iU) applies"),
    ],
)
def test_what_only_java_can_do_is_refused_with_the_way_out(pattern: str, message: str) -> None:
    with pytest.raises(PatternSyntaxError) as refused:
        JavaPattern(pattern)
    assert message in str(refused.value)


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

"""A parser for Java's regular expressions that writes the same expression for Python's ``re``.

Groups become named ones (``g1``, ``g2``, …), so that a digit after a back reference stays a digit. Character classes
become plain sets of ranges.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .char_cases import range_in_any_case, same_letter
from .char_properties import PREDEFINED, UNICODE_PREDEFINED, char_named, named, unicode_property, way_out
from .char_sets import LINE_ENDS, Ranges, complement, either_case, intersection, of_chars, to_regex, union

_GROUP_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_ANY_CASE = frozenset("iu")
_CHAR_NAME = re.compile(r"\{([^}]*)\}")
_FLAGS = re.compile(r"([idmsuxU]*)(?:-([idmsuxU]*))?")
_REPETITION = re.compile(r"\{(\d+)(?:(,)(\d*))?\}", re.ASCII)
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_CODE_POINTS = {
    "x": re.compile(r"([0-9a-fA-F]{2})|\{([0-9a-fA-F]+)\}"),
    "u": re.compile(r"([0-9a-fA-F]{4})"),
    "0": re.compile(r"([0-3][0-7]{2}|[0-7]{1,2})"),
}
_QUOTATION = re.compile(r"(\\[^Q])|\\Q(.*?)(?:\\E|\Z)", re.DOTALL)
_ESCAPABLE = re.compile(r"[^\w]|_", re.ASCII)
_LOOKAROUNDS = ("?=", "?!", "?<=", "?<!")


class PatternSyntaxError(ValueError):
    """The text is no regular expression, or one that Python cannot do."""


class _Lines(NamedTuple):
    """Where lines end: before an end, after one, and a character that is none. CR LF is one end."""

    before: str
    after: str
    within: str


_LINES = _Lines(r"\r\n|[\r\x85\u2028\u2029]|(?<!\r)\n", r"(?<=[\n\x85\u2028\u2029])|(?<=\r)(?!\n)", f"[^{LINE_ENDS}]")
_UNIX_LINES = _Lines(r"\n", r"(?<=\n)", r"[^\n]")


class Translated(NamedTuple):
    """An expression for Python and what is known about its groups."""

    python: str
    group_count: int
    names: dict[str, int]


def translate(pattern: str) -> Translated:
    """Java's expression as Python's."""
    parser = _Parser(_unquoted(pattern))
    python = parser.alternatives(frozenset())
    if parser.at < len(parser.pattern):
        raise parser.error("Unmatched closing ')'")
    return Translated(python, parser.group_count, parser.names)


def _unquoted(pattern: str) -> str:
    """The pattern with ``\\Q…\\E`` turned into single escapes."""
    return _QUOTATION.sub(lambda found: found[1] or _ESCAPABLE.sub(r"\\\g<0>", found[2]), pattern)


class _Parser:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.group_count = 0
        self.names: dict[str, int] = {}
        self._closed: set[int] = set()
        self._flags: frozenset[str] = frozenset()

    def error(self, text: str) -> PatternSyntaxError:
        return PatternSyntaxError(f"{text} near index {self.at}\n{self.pattern}")

    def alternatives(self, ambient: frozenset[str]) -> str:
        """Everything up to a closing parenthesis or the end; flags set inside end there."""
        self._flags = ambient
        branches = [self._sequence(ambient)]
        while self._take("|"):
            branches.append(self._sequence(ambient))
        self._flags = ambient
        return "|".join(branches)

    def _sequence(self, ambient: frozenset[str]) -> str:
        parts: list[str] = []
        while self.at < len(self.pattern) and self._peek() not in "|)":
            if "x" in self._flags and self._skip_comment():
                continue
            if self._inline_flags():
                continue
            parts.append(_scoped(self._quantified(), self._flags, ambient))
        return "".join(parts)

    def _skip_comment(self) -> bool:
        if self._peek() in " \t\n\x0b\f\r":
            self.at += 1
            return True
        if self._peek() != "#":
            return False
        end = self.pattern.find("\n", self.at)
        self.at = len(self.pattern) if end < 0 else end
        return True

    def _inline_flags(self) -> bool:
        """``(?i)``: flags for the rest of the group."""
        if not self.pattern.startswith("(?", self.at):
            return False
        found = _FLAGS.match(self.pattern, self.at + 2)
        if found is None or self.pattern[found.end() : found.end() + 1] != ")":
            return False
        self._flags = _changed(self._flags, found)
        self.at = found.end() + 1
        return True

    def _quantified(self) -> str:
        atom = self._atom()
        if "x" in self._flags:
            while self.at < len(self.pattern) and self._skip_comment():
                pass
        quantifier = self._quantifier()
        while quantifier is not None:
            atom = f"(?:{atom}){quantifier}"
            if self._take("?"):
                atom += "?"
            elif self._take("+"):
                atom = f"(?>{atom})"
            quantifier = self._quantifier() if self._peek() == "{" else None
        return atom

    def _quantifier(self) -> str | None:
        char = self._peek()
        if char and char in "*+?":
            self.at += 1
            return char
        if char != "{":
            return None
        found = _REPETITION.match(self.pattern, self.at)
        if found is None:
            raise self.error("Illegal repetition")
        if found[3] and int(found[3]) < int(found[1]):
            raise self.error("Illegal repetition range")
        self.at = found.end()
        return found[0]

    def _atom(self) -> str:
        char = self._peek()
        self.at += 1
        if char == "(":
            return self._group()
        if char == "[":
            return self._set(self._char_class())
        if char == "\\":
            return self._escape()
        if char == ".":
            return r"[\s\S]" if "s" in self._flags else self._lines.within
        if char == "^":
            return rf"(?:(?:\A|{self._lines.after})(?!\Z))" if "m" in self._flags else r"\A"
        if char == "$":
            return rf"(?={self._lines.before}|\Z)" if "m" in self._flags else self._end_of_text()
        if char in "*+?":
            raise self.error(f"Dangling meta character '{char}'")
        if char == "{":
            raise self.error("Illegal repetition")
        return self._literal(char)

    @property
    def _lines(self) -> _Lines:
        return _UNIX_LINES if "d" in self._flags else _LINES

    def _end_of_text(self) -> str:
        return rf"(?=(?:{self._lines.before})?\Z)"

    def _literal(self, char: str) -> str:
        """One character. Python is left to find the other case of ASCII letters."""
        return self._set(same_letter(ord(char))) if self._flags >= _ANY_CASE else re.escape(char)

    def _group(self) -> str:
        outer = self._flags
        if not self._take("?"):
            return self._capturing(outer)
        self.at -= 1
        for lookaround in _LOOKAROUNDS:
            if self._take(lookaround):
                return f"({lookaround}{self._inside(outer)})"
        if self._take("?<"):
            name = _GROUP_NAME.match(self.pattern, self.at)
            if name is None or self.pattern[name.end() : name.end() + 1] != ">":
                raise self.error("named capturing group is missing trailing '>'")
            if name[0] in self.names:
                raise self.error(f"Named capturing group <{name[0]}> is already defined")
            self.at = name.end() + 1
            self.names[name[0]] = self.group_count + 1
            return self._capturing(outer)
        if self._take("?>"):
            return f"(?>{self._inside(outer)})"
        found = _FLAGS.match(self.pattern, self.at + 1)
        if found is None or self.pattern[found.end() : found.end() + 1] != ":":
            raise self.error("Unknown inline modifier")
        self.at = found.end() + 1
        inner = _changed(outer, found)
        return _scoped(f"(?:{self._inside(inner, outer)})", inner, outer)

    def _capturing(self, flags: frozenset[str]) -> str:
        self.group_count += 1
        number = self.group_count
        text = f"(?P<g{number}>{self._inside(flags)})"
        self._closed.add(number)
        return text

    def _inside(self, flags: frozenset[str], after: frozenset[str] | None = None) -> str:
        text = self.alternatives(flags)
        if not self._take(")"):
            raise self.error("Unclosed group")
        self._flags = flags if after is None else after
        return text

    def _escape(self) -> str:
        char = self._peek()
        if char and char in "123456789":
            return self._back_reference()
        self.at += 1
        if char == "k":
            return self._named_back_reference()
        if char in ("b", "B") and "U" in self._flags:
            return _word_boundary(negated=char == "B")
        simple = {"b": r"\b", "B": r"(?!\b)", "A": r"\A", "G": r"\A", "z": r"\Z"}.get(char)
        if simple is not None:
            return simple
        if char == "Z":
            return self._end_of_text()
        if char == "R":
            return "(?:\r\n|[\n\x0b\f\r\x85\u2028\u2029])"
        if char == "X":
            return rf"(?:\r\n|[\s\S]{to_regex(named('M') or ())}*)"
        self.at -= 1
        ranges = self._escaped_set()
        return self._literal(chr(ranges[0][0])) if _is_single(ranges) else self._set(ranges)

    def _back_reference(self) -> str:
        number = int(self._peek())
        self.at += 1
        while self._peek() and self._peek() in "0123456789" and number * 10 + int(self._peek()) <= self.group_count:
            number = number * 10 + int(self._peek())
            self.at += 1
        return self._group_again(number)

    def _group_again(self, number: int) -> str:
        if self._flags >= _ANY_CASE:
            raise self.error("A back reference is not supported where (?iu) or (?iU) applies: end it before, by (?-u)")
        return f"(?P=g{number})" if number in self._closed else "(?!)"

    def _named_back_reference(self) -> str:
        if not self._take("<"):
            raise self.error("\\k is not followed by '<' for named capturing group")
        end = self.pattern.find(">", self.at)
        name = self.pattern[self.at : end]
        if end < 0 or name not in self.names:
            raise self.error(f"named capturing group <{name}> does not exist")
        self.at = end + 1
        return self._group_again(self.names[name])

    def _escaped_set(self) -> Ranges:
        """What a backslash and the text after it mean, as a set of characters."""
        char = self._peek()
        if not char:
            raise self.error("Unexpected internal error")
        self.at += 1
        if char.lower() in PREDEFINED:
            ranges = self._predefined(char.lower())
            return ranges if char.islower() else complement(ranges)
        if char in "pP":
            return self._property(negated=char == "P")
        if char == "N":
            return of_chars(self._named_char())
        if char in _CONTROL:
            return of_chars(_CONTROL[char])
        if char == "c":
            self.at += 1
            return of_chars(chr(ord(self.pattern[self.at - 1]) ^ 64)) if self.at <= len(self.pattern) else ()
        if char in "xu0":
            return of_chars(chr(self._code_point(char)))
        if char.isascii() and char.isalnum():
            raise self.error("Illegal/unsupported escape sequence")
        return of_chars(char)

    def _predefined(self, letter: str) -> Ranges:
        name = UNICODE_PREDEFINED.get(letter) if "U" in self._flags else None
        return (unicode_property(name) if name else None) or PREDEFINED[letter]

    def _named_char(self) -> str:
        """``{LATIN SMALL LETTER A}``. Names that only one of Java and Python knows are refused."""
        found = _CHAR_NAME.match(self.pattern, self.at)
        if found is None:
            raise self.error("Illegal character name escape sequence")
        self.at = found.end()
        char = char_named(found[1].strip())
        if char is None:
            raise self.error(f"Unknown character name [{found[1]}]: write its code point, such as \\u00e9")
        return char

    def _code_point(self, kind: str) -> int:
        found = _CODE_POINTS[kind].match(self.pattern, self.at)
        if found is None:
            names = {"x": "hexadecimal", "u": "Unicode", "0": "octal"}
            raise self.error(f"Illegal {names[kind]} escape sequence")
        self.at = found.end()
        code = int(found[found.lastindex or 1], 8 if kind == "0" else 16)
        if code > 0x10FFFF:
            raise self.error("Hexadecimal codepoint is too big")
        return code

    def _property(self, negated: bool) -> Ranges:
        if self._take("{"):
            end = self.pattern.find("}", self.at)
            if end < 0:
                raise self.error("Unclosed character family")
            name, self.at = self.pattern[self.at : end], end + 1
        else:
            name = self._peek()
            self.at += 1
        ranges = named(name, "i" in self._flags, "U" in self._flags)
        if ranges is None:
            raise self.error(f"Unknown character property name {{{name}}}{way_out(name)}")
        return complement(ranges) if negated else ranges

    def _char_class(self) -> Ranges:
        """The set between brackets; the opening one is behind us."""
        negated = self._take("^")
        result = self._class_body()
        self.at += 1
        return complement(result) if negated else result

    def _class_body(self) -> Ranges:
        """Everything up to the closing bracket, which stays. ``&&`` binds what follows it first."""
        current = () if self.pattern.startswith("&&", self.at) else self._class_item()
        while self._peek() != "]":
            if not self._take("&&"):
                current = union(current, self._class_item())
                continue
            right: Ranges | None = None
            while self._peek() not in ("]", "&", ""):
                item = self._char_class() if self._take("[") else self._class_body()
                right = item if right is None else union(right, item)
            if right is not None:
                current = intersection(current, right) if current else right
        return current

    def _class_item(self) -> Ranges:
        if not self._peek():
            raise self.error("Unclosed character class")
        if self._take("["):
            return self._char_class()
        low = self._class_char()
        single = _is_single(low)
        following = self.pattern[self.at + 1 : self.at + 2]
        if not single or self._peek() != "-" or not following or following in "[]":
            return self._one_of(low[0][0]) if single else low
        self.at += 1
        high = self._class_char()
        if len(high) != 1 or high[0][0] != high[0][1] or high[0][0] < low[0][0]:
            raise self.error("Illegal character range")
        if self._flags >= _ANY_CASE:
            return range_in_any_case(low[0][0], high[0][0])
        return self._ascii_case(((low[0][0], high[0][0]),))

    def _one_of(self, code: int) -> Ranges:
        return same_letter(code) if self._flags >= _ANY_CASE else self._ascii_case(((code, code),))

    def _ascii_case(self, ranges: Ranges) -> Ranges:
        return either_case(ranges) if "i" in self._flags else ranges

    def _set(self, ranges: Ranges) -> str:
        """A set that was made for the flags in force: Python shall not widen it."""
        return f"(?-i:{to_regex(ranges)})" if "i" in self._flags else to_regex(ranges)

    def _class_char(self) -> Ranges:
        char = self._peek()
        self.at += 1
        return self._escaped_set() if char == "\\" else of_chars(char)

    def _peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def _take(self, text: str) -> bool:
        if not self.pattern.startswith(text, self.at):
            return False
        self.at += len(text)
        return True


def _is_single(ranges: Ranges) -> bool:
    return len(ranges) == 1 and ranges[0][0] == ranges[0][1]


def _word_boundary(negated: bool) -> str:
    """``\\b`` where words are made of what Unicode takes for words."""
    word = to_regex(unicode_property("WORD") or ())
    if negated:
        return f"(?:(?<={word})(?={word})|(?<!{word})(?!{word}))"
    return f"(?:(?<={word})(?!{word})|(?<!{word})(?={word}))"


def _changed(flags: frozenset[str], found: re.Match[str]) -> frozenset[str]:
    """The flags after a match of ``_FLAGS``. ``U`` brings ``u``, and takes it along."""
    on, off = (text.replace("U", "Uu") for text in (found[1], found[2] or ""))
    return (flags | set(on)) - set(off)


def _scoped(text: str, flags: frozenset[str], ambient: frozenset[str]) -> str:
    """The text under a flag that differs from its surroundings. Only ``i`` is left to Python."""
    if ("i" in flags) == ("i" in ambient) or not text:
        return text
    return f"(?i:{text})" if "i" in flags else f"(?-i:{text})"

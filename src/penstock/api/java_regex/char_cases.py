"""Upper and lower case as ``java.lang.Character`` knows them, for expressions whose letters mean both."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from .char_sets import Ranges, of_codes, union

_LAST_CASED = 0x1FFFF
"""No character with two cases lies beyond."""


class _Cases(NamedTuple):
    upper: int
    folded: int


@lru_cache(maxsize=1)
def _cased() -> dict[int, _Cases]:
    """The characters whose capital, or whose capital in lower case, is another one."""
    found: dict[int, _Cases] = {}
    for code in range(_LAST_CASED + 1):
        upper = _upper(chr(code))
        folded = upper.lower()[0]
        if not chr(code) == upper == folded:
            found[code] = _Cases(ord(upper), ord(folded))
    return found


def _upper(char: str) -> str:
    """The one character that is the capital; Python prefers the several that some letters become, such as ``SS``."""
    return next((text for text in (char.upper(), char.title()) if len(text) == 1), char)


def same_letter(code: int) -> Ranges:
    """A character and all that equal it when case does not matter.

    This is not symmetric: the capital of sharp s equals the small one, which has no capital of one character.
    """
    cases = _cased()
    if code not in cases:
        return ((code, code),)
    folded = cases[code].folded
    return of_codes({folded, *(other for other, case in cases.items() if case.folded == folded)})


def range_in_any_case(low: int, high: int) -> Ranges:
    """A range and all characters whose capital, or whose capital in lower case, lies in it."""
    return union(((low, high),), of_codes({code for code, case in _cased().items() if _any_between(low, case, high)}))


def _any_between(low: int, case: _Cases, high: int) -> bool:
    return low <= case.upper <= high or low <= case.folded <= high

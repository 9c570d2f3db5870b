"""Numbers and literals of JSON, a column at a time: only the spellings that need no second look."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_LONG = r"^(0|-?[1-9][0-9]{0,17})$"
_DOUBLE = r"^(-?[1-9][0-9]*\.[0-9]+|0\.[0-9]+|-0\.0*[1-9][0-9]*)$"
"""All but zero with a sign."""

_LONGEST_DOUBLE = 80


class Kind(IntEnum):
    """What a token is. ``ODD`` is everything that must be read by itself."""

    ODD = 0
    NULL = 1
    BOOLEAN = 2
    LONG = 3
    DOUBLE = 4


def typed_column(tokens: pa.Array) -> pa.Array | None:
    """The values, if all tokens are of one kind."""
    first = tokens[0].as_py()
    if first in ("true", "false"):
        is_true = _is(tokens, "true")
        return is_true if pc.all(pc.or_(is_true, _is(tokens, "false"))).as_py() else None
    if first == "null":
        return pa.nulls(len(tokens)) if pc.all(_is(tokens, "null")).as_py() else None
    if "." in first:
        return tokens.cast(pa.float64()) if pc.all(_is_double(tokens)).as_py() else None
    return _longs(tokens)


def kinds_of(tokens: pa.Array) -> npt.NDArray[np.int8]:
    """The kind of each token."""
    kinds = np.zeros(len(tokens), np.int8)
    kinds[_mask(_is(tokens, "null"))] = Kind.NULL
    kinds[_mask(pc.or_(_is(tokens, "true"), _is(tokens, "false")))] = Kind.BOOLEAN
    kinds[_mask(pc.match_substring_regex(tokens, _LONG))] = Kind.LONG
    kinds[_mask(_is_double(tokens))] = Kind.DOUBLE
    return kinds


def typed_as(kind: Kind, tokens: pa.Array) -> pa.Array:
    """The values of tokens that are all of a kind."""
    if kind is Kind.NULL:
        return pa.nulls(len(tokens))
    if kind is Kind.BOOLEAN:
        return _is(tokens, "true")
    return tokens.cast(pa.int64() if kind is Kind.LONG else pa.float64())


def _is(tokens: pa.Array, literal: str) -> pa.Array:
    return pc.equal(tokens, pa.scalar(literal, tokens.type))


def _longs(tokens: pa.Array) -> pa.Array | None:
    """All tokens as 64-bit numbers, if each is spelt just as the number is written."""
    try:
        numbers = tokens.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    return numbers if numbers.cast(tokens.type).equals(tokens) else None


def _is_double(tokens: pa.Array) -> pa.Array:
    found = pc.match_substring_regex(tokens, _DOUBLE)
    lengths = pc.binary_length(tokens)
    if pc.max(lengths).as_py() <= _LONGEST_DOUBLE:
        return found
    return pc.and_(found, pc.less_equal(lengths, pa.scalar(_LONGEST_DOUBLE, lengths.type)))


def _mask(flags: pa.Array) -> npt.NDArray[np.bool_]:
    return np.asarray(flags.to_numpy(zero_copy_only=False))

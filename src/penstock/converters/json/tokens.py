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
    kind = _kind_of(tokens[0].as_py())
    if kind is Kind.LONG:
        return _longs(tokens)
    if kind is Kind.DOUBLE and pc.all(_is_double(tokens)).as_py():
        return typed_as(kind, tokens)
    if kind is Kind.BOOLEAN:
        is_true = pc.equal(tokens, "true")
        return is_true if pc.all(pc.or_(is_true, pc.equal(tokens, "false"))).as_py() else None
    return typed_as(kind, tokens) if kind is Kind.NULL and pc.all(pc.equal(tokens, "null")).as_py() else None


def kinds_of(tokens: pa.Array) -> npt.NDArray[np.int8]:
    """The kind of each token."""
    kinds = np.zeros(len(tokens), np.int8)
    kinds[_mask(pc.equal(tokens, "null"))] = Kind.NULL
    kinds[_mask(pc.or_(pc.equal(tokens, "true"), pc.equal(tokens, "false")))] = Kind.BOOLEAN
    kinds[_mask(pc.match_substring_regex(tokens, _LONG))] = Kind.LONG
    kinds[_mask(_is_double(tokens))] = Kind.DOUBLE
    return kinds


def typed_as(kind: Kind, tokens: pa.Array) -> pa.Array:
    """The values of tokens that are all of a kind."""
    if kind is Kind.NULL:
        return pa.nulls(len(tokens))
    if kind is Kind.BOOLEAN:
        return pc.equal(tokens, "true")
    return tokens.cast(pa.int64() if kind is Kind.LONG else pa.float64())


def _kind_of(token: str) -> Kind:
    return Kind(int(kinds_of(pa.array([token]))[0]))


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
    return found if pc.max(lengths).as_py() <= _LONGEST_DOUBLE else pc.and_(found, pc.less(lengths, _LONGEST_DOUBLE))


def _mask(flags: pa.Array) -> npt.NDArray[np.bool_]:
    return np.asarray(flags.to_numpy(zero_copy_only=False))

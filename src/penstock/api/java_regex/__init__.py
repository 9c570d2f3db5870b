"""Java's regular expressions, carried over to Python's ``re``, for every configuration key that holds one.

Imports nothing of ours. Begin with ``compiled.py`` (what callers use), then ``syntax.py`` (the parser that writes the
expression) and ``char_properties.py`` (what ``\\p{…}`` means). The record in docs/adr about Java's patterns says why.
"""

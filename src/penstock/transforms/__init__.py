"""Kafka Connect's single message transforms and predicates, under their Java names.

One module a transform, or a small family; ``predicates`` has the predicates. What they share: ``sides`` (the key
and value forms), ``structs`` (checks, copies and schemas of structs), ``field_path``, and ``java``, the parts of
Java's library that they rely on.
"""

"""Penstock and its peer, Kafka Connect, on the same work: ``python -m bench``. The method is in docs/benchmarks.md."""

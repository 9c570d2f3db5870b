"""Kafka's own protocol for the requests that carry records: whole batches as columns, not a call for each record."""

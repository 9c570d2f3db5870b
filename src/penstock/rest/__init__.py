"""HTTP in, herder call, HTTP out: Kafka Connect's REST API over a :class:`~penstock.runtime.herder.Herder`."""

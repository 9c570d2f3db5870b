"""Topics in Kafka."""

"""Where records wait: the embedded log, or Kafka."""

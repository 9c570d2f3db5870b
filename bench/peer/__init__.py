"""The peer: Apache Kafka and Kafka Connect."""

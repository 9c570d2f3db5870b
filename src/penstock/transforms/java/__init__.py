"""The parts of Java's library that transforms rely on: dates, numbers, regular expressions, the order of hash maps."""

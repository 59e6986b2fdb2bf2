"""Benchmarks: ``python -m bench`` is the main one, on a real Kafka; see docs/benchmarks.md."""

"""Benchmarks of run-time infrastructures: a platform, and studies on it."""

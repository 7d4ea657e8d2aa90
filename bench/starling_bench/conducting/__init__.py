"""Runs: federates are started, led from test to test, and ended."""

"""Benchmarks of run-time infrastructures: a shared platform, and RTIBM on it."""

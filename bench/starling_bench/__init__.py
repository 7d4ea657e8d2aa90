"""Benchmarks of run-time infrastructures: a platform, and studies on it."""

import os

# matplotlib reads it as it is loaded, and fails if it is none: figures here are files, whatever
# shows those of others.
os.environ.pop("MPLBACKEND", None)

"""Test sequence files: read, written, judged, and what they come to."""

"""The report: its parts, its answers and its figures."""

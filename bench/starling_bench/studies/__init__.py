"""One folder per study: its fields, runs, columns and figures, and nothing of the platform."""

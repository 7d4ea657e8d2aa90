"""Flows of updates from publishers to subscribers: what came, and what follows from that."""

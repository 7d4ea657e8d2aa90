"""What can be concluded from what was measured, and how surely."""

"""What a user asks for, and is told."""

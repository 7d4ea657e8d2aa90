"""What is seen of a run from outside: packets and instructions."""

"""A run that is led by hand or by a question of the moment, and seen while it goes on."""

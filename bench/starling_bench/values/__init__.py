"""Values for any class of a FOM, and what layouts of the same data cost."""

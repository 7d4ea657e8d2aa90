// Federates are linked with this library; the stand-in has no time management.

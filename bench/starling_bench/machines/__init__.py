"""Where and on what federates run: hosts, networks between them, the RTI."""

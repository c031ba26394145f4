"""Load of a process: readings, the adaptive limit, and the pressure that refuses requests."""

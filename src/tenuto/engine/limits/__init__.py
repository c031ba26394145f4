"""Limits: which are set, and the loop that admits instances."""

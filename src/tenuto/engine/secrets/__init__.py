"""Secrets in a process: filled in right before an attempt runs, and kept out of all records."""

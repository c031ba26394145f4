"""Definitions: compiled plans, declared tasks, and the rows that a saved version leaves."""

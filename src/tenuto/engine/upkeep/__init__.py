"""Upkeep: retention, reindexing and the verification of stored data."""

"""Frozen values that every layer shares: graphs, entries, inputs, effects, errors."""

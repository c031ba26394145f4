"""Test runs: unsaved workflows, with mocks for their tasks."""

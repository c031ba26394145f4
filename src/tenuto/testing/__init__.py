"""Tests of workflows: the shipped engine in memory, on a clock that only the test moves."""

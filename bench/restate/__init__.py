"""Restate, measured beside Tenuto: its server, one process with its SDK, the same workload."""

"""Targets of requests: limits and circuit breakers that all processes share."""

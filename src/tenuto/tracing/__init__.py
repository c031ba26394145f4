"""Spans for OpenTelemetry, where it is installed and asked for."""

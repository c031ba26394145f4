"""OpenTelemetry spans, if it is installed and enabled."""

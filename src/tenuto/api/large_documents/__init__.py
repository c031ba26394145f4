"""Large documents of requests, read by another process."""

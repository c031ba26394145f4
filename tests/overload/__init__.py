"""More starts than a service can take: what it refuses, and what becomes of what it accepts."""

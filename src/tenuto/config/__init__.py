"""Settings of a service: from flags, environment, a file, defaults."""

"""Where a service gets its settings from: flags, environment, a file, defaults."""

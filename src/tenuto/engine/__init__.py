"""The shell around the core: turns, tasks, timers, events and recovery."""

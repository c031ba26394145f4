"""Starts the ticks of schedules, once each."""

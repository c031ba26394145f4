"""Measurements, side by side in one run: ratios count, absolute times do not."""

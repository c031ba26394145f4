"""Turns: the intake of a lane, the drafts made of it, and the one write that makes them durable."""

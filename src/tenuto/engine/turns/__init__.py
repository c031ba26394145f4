"""Turns: what waits for a lane, the drafts made of it, and the one write that makes it durable."""

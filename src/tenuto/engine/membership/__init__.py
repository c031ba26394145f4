"""Membership: heartbeats, fencing, and the takeover of instances of dead processes."""

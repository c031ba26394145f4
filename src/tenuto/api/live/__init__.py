"""Live updates of instances over sockets and event streams."""

"""What a process measures of itself, for whoever watches over it."""

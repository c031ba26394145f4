"""What the service costs whoever talks to it: real processes, over HTTP on loopback."""

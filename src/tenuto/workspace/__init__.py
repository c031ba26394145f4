"""What a principal can do: one protocol, and its implementation over an engine in this process."""

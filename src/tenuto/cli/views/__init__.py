"""What commands print: pure functions from values to text, and the two streams they go to."""

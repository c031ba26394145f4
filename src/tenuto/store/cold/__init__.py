"""Records that are not on the hot path: one implementation for every SQL store, over a row port."""

"""The same measurements on PostgreSQL, and those that need several processes."""

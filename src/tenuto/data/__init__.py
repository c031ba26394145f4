"""Data sources and queries: databases of users, and statements that are run on them."""

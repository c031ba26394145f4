"""The operations of the service: one module for each kind of record."""

"""Drivers: one module for each kind of database, imported when a source of it is used."""

"""Small inputs that cause much work: data for tests, each entry a name and how it is made."""

"""JavaScript of users, run in confined child processes that can be killed.

`sandbox.py` is the way in. Nothing is imported here: the child processes import this package.
"""

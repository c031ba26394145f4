"""How a store refuses: errors that its callers tell apart."""

from __future__ import annotations


class CommitUnknown(Exception):
    """The connection broke during COMMIT: whether it was committed must be asked, never guessed.

    A turn is sent again; after a claim of jobs a process reads its `leases`.
    """


class Fenced(Exception):
    """This process was presumed dead and others own its instances: it must `enter` again."""


class Superseded(Exception):
    """The version that the caller named is not the newest version of the definition."""

    def __init__(self, newest: int) -> None:
        super().__init__(f"version {newest} is the newest")
        self.newest = newest
        """0 if the definition has no version."""


class DataRefused(Exception):
    """The store can never keep these data; the rest of the turn may be valid.

    Reads never raise this: a search for data that cannot be stored finds nothing.
    """

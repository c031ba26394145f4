"""How a store refuses: errors that its callers tell apart."""

from __future__ import annotations


class CommitUnknown(Exception):
    """The connection broke during COMMIT: ask what was done, never guess.

    A turn is sent again; after a claim of jobs a process asks for its `leases`.
    """


class Fenced(Exception):
    """This process was taken for dead and others own what it owned: it must enter anew."""


class Superseded(Exception):
    """Another version of a definition is the newest than the one that was named."""

    def __init__(self, newest: int) -> None:
        super().__init__(f"version {newest} is the newest")
        self.newest = newest
        """0 where there is none."""


class DataRefused(Exception):
    """The store will never take these data; the rest of the turn may be fine.

    Who looks for something by such data is not told this: it is not there.
    """

"""Slows guesses of credentials: an address that has sent too many wrong ones has to wait.

While it waits, a credential from there that is new to this process is not looked at, unless it is
a key or a token, which nobody can guess: of those a bounded number is, and a wrong one is answered
as if it were not. Credentials that were looked at before are no guesses: clients with a valid one
go on behind the same proxy, and a client that repeats a wrong one uses up nothing.
"""

from __future__ import annotations

import hashlib

from tenuto.access.client_network import client_network
from tenuto.access.rates import RateLimiter
from tenuto.model.errors import TenutoError

WRONG = "TEN-5011"
"""The code for a credential that does not exist; an expired one is no guess."""
_MOST = 10_000


class Guesses:
    """Counts the wrong credentials of addresses, in this process."""

    def __init__(self, limiter: RateLimiter, looks: RateLimiter, most: int = _MOST) -> None:
        """`limiter` bounds wrong credentials by address, `looks` those of addresses that wait.

        `most` of either kind are known.
        """
        self._limiter = limiter
        self._looks = looks
        self._most = most
        self._valid: dict[bytes, None] = {}
        """Hashes of credentials, so that none is kept; the oldest first."""
        self._wrong: dict[bytes, None] = {}
        """Kept apart, so that wrong ones displace no valid one."""

    def is_known(self, credential: str) -> bool:
        """Whether a credential was looked at before, so that it is no guess."""
        known = _hash(credential)
        return known in self._valid or known in self._wrong

    def begin(self, source: str) -> float:
        """Before an unknown credential is looked at: 0, or for how many seconds it must not be.

        It is counted before the look, so that many at once are no way around it.
        """
        return self._limiter.take(client_network(source))

    def may_look(self, source: str) -> bool:
        """Whether a key or a token is looked at, though its address has to wait.

        They cost a read or a signature: so many of an address are looked at in a second.
        """
        return self._looks.take(client_network(source)) == 0

    def learn(self, credential: str) -> None:
        """A credential was found to be valid."""
        self._keep(self._valid, credential)

    def end(self, source: str, credential: str, error: TenutoError | None) -> None:
        """An unknown credential was looked at; what was no guess does not count."""
        is_guess = error is not None and error.code == WRONG
        if not is_guess:
            self._limiter.give_back(client_network(source))
        if error is not None and not is_guess:
            # The store or the provider is away, or it was valid once: nothing is learnt.
            return
        self._keep(self._wrong if is_guess else self._valid, credential)

    def _keep(self, known: dict[bytes, None], credential: str) -> None:
        while len(known) >= self._most:
            del known[next(iter(known))]
        known[_hash(credential)] = None


def _hash(credential: str) -> bytes:
    return hashlib.sha256(credential.encode("utf-8", "surrogatepass")).digest()

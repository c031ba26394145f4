"""Counts the bytes of large answers that clients have not taken yet: by tenant or address, and all.

An answer is in memory until its client has taken it, and a client may take its time: without a
bound, a few hundred connections that read nothing would use up the memory of the process.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from tenuto.access.client_network import client_network
from tenuto.access.principal import Principal
from tenuto.api.problems import Refusal
from tenuto.model.errors import may_be_written

_RETRY_SECONDS = 5
_FOR_CHANGES = 2
"""Answers to changes have so many times the room, so that unread lists do not cost these."""
MOST_KNOWN = 1_000
"""Of so many reads the size of the large answer is remembered; the newest ones."""


class UntakenAnswers:
    """The large answers that are under way; a tenant or address without any is not kept."""

    def __init__(self, most: int, most_of_all: int) -> None:
        """`most`: bytes of one tenant, or of one address without a credential.

        `most_of_all`: over all of them. Beyond it those are refused that have their share of it;
        beyond twice as much, everybody.
        """
        self._most = most
        self._most_of_all = most_of_all
        self._bytes: dict[str, int] = {}
        self._of_all = 0
        self._known: OrderedDict[int, int] = OrderedDict()
        """How large the newest answer to a read was, where it was large."""

    def was_large(self, read: int) -> bool:
        """Whether the newest answer to this read was large."""
        return read in self._known

    def refuse_again(self, who: str, read: int) -> None:
        """Refusal where the newest answer to this read would have no room now.

        Else hundreds of requests would each make many megabytes, to be refused then.
        """
        self._refuse_beyond(who, self._known.get(read, 0))

    @contextmanager
    def holding(self, who: str, size: int, *, is_change: bool) -> Iterator[None]:
        """Count an answer inside of this context; TenutoError where there is no room for it.

        One alone is let through at any size: otherwise nobody could ever read it. `is_change`: the
        request may have changed something, so that its refusal must not say that it did not.
        """
        if not is_change:
            self._refuse_beyond(who, size)
        elif not self._has_room(who, size, times=_FOR_CHANGES):
            raise may_be_written("too many bytes of answers are not taken yet for this one")
        self._bytes[who] = self._bytes.get(who, 0) + size
        self._of_all += size
        try:
            yield
        finally:
            self._of_all -= size
            left = self._bytes.pop(who) - size
            if left:
                self._bytes[who] = left

    def know(self, read: int, size: int) -> None:
        """Remember how large the answer to a read is; 0: it is not large.

        `read`: stands for who reads what.
        """
        self._known.pop(read, None)
        if size:
            self._known[read] = size
        if len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)

    def _refuse_beyond(self, who: str, size: int) -> None:
        if size and not self._has_room(who, size):
            held = self._bytes.get(who, 0)
            whose = "of other tenants" if not held else "of this one"
            raise Refusal(
                429,
                "TEN-4295",
                f"{held or self._of_all:,} bytes of answers {whose} are not taken yet",
                headers={"retry-after": str(_RETRY_SECONDS)},
            )

    def _has_room(self, who: str, size: int, *, times: int = 1) -> bool:
        """`times`: so many times the bytes are allowed."""
        held = self._bytes.get(who, 0)
        if held and held + size > self._most * times:
            return False
        most = self._most_of_all * times
        of_all = self._of_all + size
        if not self._of_all or of_all <= most:
            return True
        return of_all <= 2 * most and held + size <= most // len(self._bytes.keys() | {who})

    def __len__(self) -> int:
        """The number of tenants and addresses with large answers under way."""
        return len(self._bytes)


def who_takes(principal: Principal | None, source: str | None) -> str:
    """By what an answer counts: a tenant may have many keys, so it counts as a whole."""
    if principal is None:
        return f"address {client_network(source or '')}"
    return f"tenant {principal.tenant}"

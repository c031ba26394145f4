"""Which of the attempts that wait for the event loop is next: tenants take turns.

An attempt that suspends costs a round of the loop before the next one begins. In the order in which
they came, an attempt would wait for a round for each of a wide loop of another tenant.

Calls of some built-in tasks wait for a place of their tenant (`calls_of_tenant`). Each would be a
coroutine that waits, so all beyond that number are kept here as they are, until another has left.

One that is not to begin any more is discarded at once, wherever it waits: those before it may take
hours, and its input may be large.
"""

from __future__ import annotations

from collections import Counter, OrderedDict

from tenuto.tasks.attempt import Attempt

_Key = tuple[int, str]
"""An executor and a tenant."""
_Line = OrderedDict[Attempt, None]
"""Attempts, the first one first: each leaves at the same cost from wherever it is."""


class BeforeLoop:
    """Attempts that wait for the event loop; changed from the loop alone."""

    def __init__(self) -> None:
        self.count = 0
        """How many wait for the loop alone. Read for each attempt, so it is no property."""
        self._waiting: OrderedDict[str, _Line] = OrderedDict()
        """By tenant; the tenant whose turn it is comes first."""
        self._inside: Counter[_Key] = Counter()
        """Calls that wait here for the loop, or are in a coroutine."""
        self._kept: dict[_Key, _Line] = {}
        """Those that would only wait there."""

    @property
    def tenants(self) -> int:
        """How many tenants those are of that wait for the loop alone."""
        return len(self._waiting)

    def add(self, attempt: Attempt) -> None:
        self.count += 1
        tenant = attempt.facts.tenant
        queue = self._waiting.get(tenant)
        if queue is None:
            queue = self._waiting[tenant] = OrderedDict()
        queue[attempt] = None

    def add_call(self, attempt: Attempt) -> None:
        """Add an attempt of a built-in task."""
        assert attempt.executor is not None
        most = attempt.executor.calls_of_tenant
        if most is not None:
            key = _key(attempt)
            if self._inside[key] >= most:
                self._kept.setdefault(key, OrderedDict())[attempt] = None
                return
            self._inside[key] += 1
        self.add(attempt)

    def take(self) -> Attempt:
        """The next one; of a built-in task, `left` has to be called."""
        tenant, queue = self._waiting.popitem(last=False)
        attempt, _ = queue.popitem(last=False)
        self.count -= 1
        if queue:
            self._waiting[tenant] = queue
        return attempt

    def left(self, attempt: Attempt) -> None:
        """An attempt that was taken, or discarded, is over: another one that is kept may wait."""
        executor = attempt.executor
        if executor is None or executor.calls_of_tenant is None:
            return
        key = _key(attempt)
        kept = self._kept.get(key)
        while kept:
            following, _ = kept.popitem(last=False)
            if not kept:
                del self._kept[key]
            if not (following.is_asked_to_stop or following.is_settled):
                self.add(following)
                return
        self._inside[key] -= 1
        if not self._inside[key]:
            del self._inside[key]

    def discard(self, attempt: Attempt) -> None:
        """One that was not taken, if it is still here, is not to begin any more."""
        tenant = attempt.facts.tenant
        queue = self._waiting.get(tenant)
        if queue is not None and attempt in queue:
            del queue[attempt]
            self.count -= 1
            if not queue:
                del self._waiting[tenant]
            self.left(attempt)
            return
        key = _key(attempt)
        kept = self._kept.get(key)
        if kept is not None and attempt in kept:
            del kept[attempt]
            if not kept:
                del self._kept[key]

    def clear(self) -> None:
        """None of those that wait begins."""
        self._waiting.clear()
        self._kept.clear()
        self.count = 0


def _key(attempt: Attempt) -> _Key:
    return id(attempt.executor), attempt.facts.tenant

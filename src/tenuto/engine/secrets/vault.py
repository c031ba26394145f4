"""The secrets of all tenants as one process reads them; each value that it gives is remembered."""

from __future__ import annotations

from typing import Final

from tenuto.model.codes import CATALOGUE
from tenuto.model.errors import TenutoError
from tenuto.model.secret_place import about
from tenuto.ports import Clock, Seals
from tenuto.store.parts.secrets import SecretRow
from tenuto.store.protocol import Store
from tenuto.tasks.redactor import Redactor

_NO_KEYS: Final = "TEN-4120"
_ALL: Final = 1_000
"""Secrets that are read at once."""


class NoSeals:
    """A process without encryption keys: it stores no secret, and reads none."""

    def seal(self, plain: bytes, about: bytes) -> bytes:  # noqa: ARG002 - as all others have it
        """TenutoError: there are no keys."""
        raise TenutoError(
            "no encryption keys are configured", code=_NO_KEYS, advice=CATALOGUE[_NO_KEYS].advice
        )

    def open(self, sealed: bytes, about: bytes) -> bytes:
        """TenutoError: there are no keys."""
        return self.seal(sealed, about)


class NotGiven(LookupError):
    """A secret that does not exist, may not be sent there, or cannot be opened."""


class UnknownSecret(NotGiven):
    """There is no secret of this name."""


class NotAllowed(NotGiven):
    """It has destinations, and this is none of them."""


class Unreadable(NotGiven):
    """It was sealed with a key that this process does not have, or is damaged."""


class Vault:
    """Opens secrets, and keeps what it has opened out of all records."""

    def __init__(self, store: Store, clock: Clock, seals: Seals | None = None) -> None:
        """Without `seals` there are no keys."""
        self._store = store
        self.seals = seals or NoSeals()
        self.redactor = Redactor(clock.ticks)

    async def value(
        self, tenant: str, name: str, *, destination: str | None, seconds: float = 0.0
    ) -> str:
        """The value of a secret for a host or a data source; NotGiven, StoreUnavailable.

        `destination` None: for a task, or code. `seconds`: how long the attempt may run.
        """
        row = await self._row(tenant, name)
        if not _may_be_sent(row, destination):
            allowed = ", ".join(row.destinations or ())
            where = "the input of this step" if destination is None else destination
            said = f"the secret {name} may be sent to {allowed} only, and not to {where}"
            raise NotAllowed(said)
        value = self._opened(row)
        self.redactor.remember(tenant, name, value, seconds)
        return value

    async def looked_at(self, tenant: str, name: str) -> str:
        """The value of a secret, to see where it leads, and for nothing else; NotGiven."""
        return self._opened(await self._row(tenant, name))

    async def learn(self, tenant: str) -> None:
        """Keep all values of a tenant out of records: another process may have given them."""
        after = ""
        while True:
            rows = await self._store.secrets.page(tenant, after=after, limit=_ALL)
            for row in rows:
                try:
                    self.redactor.remember(tenant, row.name, self._opened(row))
                except Unreadable:
                    continue  # no process with these keys has given it
            if len(rows) < _ALL:
                return
            after = rows[-1].name

    async def _row(self, tenant: str, name: str) -> SecretRow:
        row = await self._store.seen_by(tenant).secrets.get(tenant, name)
        if row is None:
            raise UnknownSecret(f"there is no secret {name}; `tenuto secrets set {name}` stores it")
        return row

    def _opened(self, row: SecretRow) -> str:
        try:
            return self.seals.open(row.sealed, about(row.tenant, row.name)).decode()
        except TenutoError as error:
            raise Unreadable(f"the secret {row.name} cannot be read: {error.message}") from error


def _may_be_sent(row: SecretRow, destination: str | None) -> bool:
    if row.destinations is None:
        return True
    if destination is None:
        return False
    host, _, port = destination.rpartition(":")
    without_port = host if host and port.isdigit() else destination
    return {destination.lower(), without_port.lower()} & {*row.destinations} != set()

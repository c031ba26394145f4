"""Proves that a lease was granted, by the token that the worker was given with it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from tenuto.engine.engine import Engine
from tenuto.executions.tokens import KEPT_AS, Purpose, Tokens, key_of
from tenuto.model.errors import Conflict, NotFound, TenutoError
from tenuto.model.executions import ClaimedTask
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.parts.jobs import Lease

LEASE_OVER = "TEN-3012"


class LeaseProof:
    """Signs tokens and verifies them, with the secret that all processes of a store share."""

    def __init__(self, engine: Engine, purpose: Purpose) -> None:
        self._engine = engine
        self._purpose = purpose
        self._tokens: Tokens | None = None

    async def tokens(self) -> Tokens:
        """The tokens of the store; its secret is read once."""
        if self._tokens is None:
            ids = self._engine.ids
            proposed = "".join(ids.short() for _ in range(4)).encode()
            secret = await self._engine.store.access.keep_secret(KEPT_AS, proposed)
            self._tokens = Tokens(secret, self._purpose)
        return self._tokens

    async def leases(self, tenant: str, tasks: Iterable[ClaimedTask]) -> list[Lease]:
        """The leases of claimed tasks."""
        lease = partial(self.lease, tenant)
        found = [await lease(task.execution_id, task.lease_token) for task in tasks]
        return [each for each in found if each is not None]

    async def lease(self, tenant: str, execution_id: str, lease_token: str) -> Lease | None:
        """The lease that the token was given for; None where it is no token of this store."""
        key = key_of(execution_id)
        tokens = await self.tokens()
        return None if key is None else tokens.lease(tenant, key, lease_token)

    async def proven(self, tenant: str, execution_id: str, lease_token: str) -> Lease:
        """The lease that the token was given for; an error, see `refusal`, where there is none."""
        lease = await self.lease(tenant, execution_id, lease_token)
        if lease is None:
            raise await self.refusal(tenant, execution_id)
        return lease

    async def refusal(self, tenant: str, execution_id: str) -> TenutoError:
        """The error for an invalid token: NotFound where the execution is not the tenant's."""
        key = key_of(execution_id)
        if key is not None:
            # The instance's row is enough: a guess must not make the store read a log.
            asked = InstanceQuery(ids=(key.instance_id,), tenant=tenant, limit=1)
            if (await self._engine.store.seen_by(tenant).instances.page(asked)).items:
                return lease_over(execution_id)
        return NotFound(f"there is no execution {execution_id}")


def lease_over(execution_id: str, why: str = "") -> Conflict:
    """The error for a report or heartbeat under a lease that is over."""
    reason = f": {why}" if why else ""
    return Conflict(
        f"the lease on execution {execution_id} is over{reason}",
        code=LEASE_OVER,
        advice="Stop working on it, and claim again.",
    )

"""Puts a command to an instance of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenuto.cli.backends.place import ServerUrl
from tenuto.cli.backends.server import ServerReader, connected
from tenuto.cli.lookup import find_instance
from tenuto.model.inputs import (
    CancelAsked,
    CompensationRetryAsked,
    DecisionAsked,
    Input,
    PauseAsked,
    ResumeAsked,
    RetryAsked,
)
from tenuto.model.status import Status
from tenuto.store.protocol import InstanceRow

if TYPE_CHECKING:
    from tenuto.client import RemoteInstance


async def asked_there(url: ServerUrl, text: str, asked: Input) -> tuple[InstanceRow, Status]:
    """The instance that `text` names, and its status after what was asked."""
    async with connected(url) as client:
        row = await find_instance(ServerReader(url, client), text)
        return row, await _ask(client.at(row.id), asked)


async def _ask(instance: RemoteInstance, asked: Input) -> Status:
    match asked:
        case CancelAsked(reason=reason, should_compensate=should_compensate):
            return await instance.cancel(reason, should_compensate=should_compensate)
        case PauseAsked(reason=reason, until=until):
            return await instance.pause(reason, until)
        case ResumeAsked():
            return await instance.resume()
        case RetryAsked():
            return await instance.retry()
        case CompensationRetryAsked(step_id=step, iteration=iteration):
            return await instance.retry_compensation(step, iteration)
        case DecisionAsked():
            return await instance.decide(
                asked.node,
                asked.decision,
                by=asked.by,
                roles=asked.roles or None,
                form=asked.form,
                iteration=asked.iteration,
            )
        case _:
            raise NotImplementedError(type(asked).__name__)

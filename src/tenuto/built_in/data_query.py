"""The work of dataQuery nodes: a stored query, with the rendered `args` as its arguments."""

from __future__ import annotations

from functools import partial

from tenuto.built_in.protocol import Call, Failed
from tenuto.data.failures import QueryFailed
from tenuto.data.queries import QueryRunner
from tenuto.model.graph import DataQuery
from tenuto.model.json import JSON


class DataQueryExecutor:
    """Runs data queries."""

    queues = True
    calls_of_tenant = None

    def __init__(self, queries: QueryRunner) -> None:
        self.queries = queries
        """Also for those who try a query, or a data source."""

    async def run(self, call: Call) -> JSON:
        """The rows, each an object; Failed."""
        assert isinstance(call.config, DataQuery)
        try:
            ran = await self.queries.run(
                call.tenant,
                call.config.data_query_id,
                call.given,
                seconds=call.seconds,
                place=(call.instance_id, call.step_id, call.iteration, call.attempt),
                begin=partial(call.begin, 0.0),
            )
        except QueryFailed as error:
            raise Failed(error.failure) from None
        if ran.is_cached:
            call.log("info", "the rows are those of an earlier attempt, from the query's cache")
        return [*ran.rows]

    async def close(self) -> None:
        await self.queries.close()

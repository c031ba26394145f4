"""Instances are found by the values of variables that their workflow lists."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest

from tenuto.model.json import Object
from tests.api.conftest import WAIT, Caller, Reply, Serve

pytestmark = pytest.mark.asyncio

DOUBLED: Object = {
    "id": "doubled",
    "steps": [
        {
            "stepId": "twice",
            "type": "TASK",
            "taskId": "double",
            "input": {"number": "{{ctx.input.number}}"},
            "outputVariable": "sum",
        }
    ],
    "options": {"searchable": ["sum", "input.tags", "input.vip"]},
}


async def asked(call: Caller, wanted: object, more: str = "&workflowId=doubled") -> Reply:
    return await call.get(f"/instances?variables={quote(json.dumps(wanted))}{more}")


async def started(call: Caller, **input: object) -> str:
    view: Any = await call.start("doubled", input, "?wait=30")
    return str(view["instanceId"])


async def test_instances_are_found_by_what_their_variables_have(serve: Serve) -> None:
    async with serve() as call:
        await call.app.deploy(DOUBLED)
        two = await started(call, number=1, vip=True, tags=["a", "b"])
        four = await started(call, number=2, vip=1)
        for wanted, expected in (
            ({"sum": 4}, [four]),
            ({"sum": "4"}, []),
            ({"input.vip": True}, [two]),
            ({"input.vip": 1}, [four]),
            ({"input.tags": ["a", "b"], "sum": 2}, [two]),
            ({"input.tags": ["a"]}, []),
            ({"sum": 2, "input.vip": 1}, []),
        ):
            items = (await asked(call, wanted)).json["items"]
            assert [each["id"] for each in items] == expected, wanted


async def test_pages_go_on_where_the_one_before_ended(serve: Serve) -> None:
    async with serve() as call:
        await call.app.deploy(DOUBLED)
        ids = [await started(call, number=number) for number in (1, 1, 2, 2, 2, 1)]
        page = (await asked(call, {"sum": 2}, "&workflowId=doubled&limit=1")).json
        pages = [[each["id"] for each in page["items"]]]
        while page["nextCursor"] is not None:
            # New ones, and others that fit, change nothing of the pages that follow.
            await started(call, number=1)
            more = f"&workflowId=doubled&limit=1&cursor={page['nextCursor']}"
            page = (await asked(call, {"sum": 2}, more)).json
            pages.append([each["id"] for each in page["items"]])
        assert pages == [[ids[5]], [ids[1]], [ids[0]]]


async def test_a_tenant_is_a_filter_that_lets_nobody_see_another(serve: Serve) -> None:
    """Nothing is listed but what the tenant who asks has, whatever the filter says."""
    async with serve() as call:
        other = call.app.workspace("other", "eve")
        await call.app.deploy(DOUBLED)
        await other.deploy(DOUBLED)
        mine = await started(call, number=1)
        theirs = await other.start("doubled", {"number": 1})
        await theirs.result(30)
        for tenant, expected in (("default", [mine]), ("other", []), ("nobody", [])):
            for path in ("/instances?", f"/instances?ids={mine},{theirs.id}&"):
                reply = await call.get(f"{path}tenant={tenant}")
                assert [each["id"] for each in reply.json["items"]] == expected
            found = await asked(call, {"sum": 2}, f"&workflowId=doubled&tenant={tenant}")
            assert [each["id"] for each in found.json["items"]] == expected


async def test_what_is_not_listed_is_refused_with_what_to_do(serve: Serve) -> None:
    async with serve() as call:
        await call.app.deploy(DOUBLED)
        await call.app.deploy(WAIT)
        for wanted, more in (
            ({"input": 1, "sum": 1}, "&workflowId=doubled"),
            ({"sum": 1}, "&workflowId=wait"),
            ({"sum": 1}, ""),
        ):
            reply = await asked(call, wanted, more)
            assert (reply.status, reply.codes) == (422, {"TEN-2615"})
        assert (await asked(call, {"sum": 1}, "&workflowId=nothing")).status == 404
        deep = "[" * 40 + "]" * 40
        for text in ("[]", "{", "7", "%FF", f'{{"sum":{deep}}}'):
            reply = await call.get(f"/instances?workflowId=doubled&variables={text}")
            assert (reply.status, reply.codes) == (422, {"TEN-2031"}), text

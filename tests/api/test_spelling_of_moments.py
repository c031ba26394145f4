"""One spelling of moments, in whatever is answered."""

from __future__ import annotations

import re

import pytest

from tenuto.api.registry import OPERATIONS
from tests.api.conftest import served
from tests.api.examples import example_of, furnished
from tests.api.test_access_matrix import ask, bearing

LIKE_ONE = re.compile(r'"(\d{4}-\d\d-\d\d[T ][^"]*)"')
SPELLED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
READS = [
    each
    for each in OPERATIONS
    if each.method == "GET" and each.response_media == "application/json" and not each.is_raw
]
APPROVAL = {
    "id": "late",
    "nodes": [
        {"id": "s", "type": "start", "config": {}},
        {
            "id": "ask",
            "type": "approval",
            "config": {
                "assignees": {"roles": ["operator"]},
                "deadline": "P3D",
                "reminders": ["P1D"],
                "escalate": {"after": "P2D", "assignees": {"roles": ["admin"]}},
            },
        },
        {"id": "wait", "type": "delay", "config": {"duration": "P1D"}},
    ],
    "edges": [
        {"upstreamNodeID": "s", "downstreamNodeID": "ask"},
        {"upstreamNodeID": "s", "downstreamNodeID": "wait"},
    ],
}


@pytest.mark.asyncio
async def test_moments_have_one_spelling_in_every_answer() -> None:
    """Moments in every answer, payload and export have one spelling: `2026-11-16T20:31:13.070Z`,
    three digits, sortable as text.
    """
    seen: dict[str, str] = {}
    async with served() as call:
        things = await furnished(call.app, "default")
        headers = bearing(things.admin)
        saved = await call("PUT", "/workflows/late", APPROVAL, headers=headers)
        assert saved.status == 201, saved.text
        late = (await call("POST", "/workflows/late/start", {}, headers=headers)).json["instanceId"]
        await call("POST", f"/instances/{late}/pause", {}, headers=headers)
        await call("POST", f"/instances/{things.ids['instances']}/cancel", {}, headers=headers)
        for operation in READS:
            answer = await ask(call, operation, example_of(operation, things), headers)
            assert answer.status < 500
            seen[operation.name] = answer.text
        parts = ("", "/history", "/waits", "/explain", "/context", "/graph", "/snapshot")
        for part in parts:
            shown = await call("GET", f"/instances/{late}{part}", headers=headers)
            seen[part] = shown.text
    moments = [(name, each) for name, text in seen.items() for each in LIKE_ONE.findall(text)]
    assert len(moments) > 50
    assert [each for each in moments if not SPELLED.fullmatch(each[1])] == []

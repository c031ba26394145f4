"""Events reach waits: those that are open, and those that open later."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tenuto import Conflict, InvalidInput
from tenuto.events import fits
from tenuto.model.json import JSON, Object
from tests.core.drawing import draw, start, wait
from tests.semantics.office import Office, office

GATED = draw("a>w", w=wait())
"""A wait that opens once `a` has ended."""


async def taken(run: Office, document: Object, **published: JSON) -> JSON:
    """The payload that a gated wait takes of what was published before it opened."""
    ref = await run.start(document)
    await run.begun("a")
    for id, payload in published.items():
        await run.app.publish("paid", payload, id=id)
    run.finish("a")
    output = await ref.result(60)
    assert isinstance(output, dict)
    return output["eventId"]


@pytest.mark.asyncio
async def test_an_event_wakes_every_wait_that_matches() -> None:
    """Counts in the answer are of waits; a duplicate answers the counts of the first."""
    async with office() as run:
        two_waits = draw("s>u s>v", s=start(), u=wait(), v=wait("*"))
        refs = [await run.start(two_waits), await run.app.start("w")]
        for ref in refs:
            await run.until(ref, "v", "WAITING")
        published = await run.app.publish("paid", {"n": 1}, id="e1")
        assert (published.resumed, published.duplicate) == (4, False)
        for ref in refs:
            await ref.result(60)
        again = await run.app.publish("paid", {"n": 1}, id="e1")
        assert (again.resumed, again.duplicate) == (4, True)


@pytest.mark.asyncio
async def test_a_wait_takes_the_oldest_event_since_the_instance_was_created() -> None:
    async with office() as run:
        await run.app.publish("paid", None, id="before")
        assert await taken(run, GATED, e1={"n": 1}, e2={"n": 2}) == "e1"


@pytest.mark.asyncio
async def test_an_event_from_before_the_instance_is_taken_within_the_look_back() -> None:
    async with office() as run:
        await run.app.publish("paid", None, id="before")
        assert await taken(run, draw("a>w", w=wait(lookback="PT1H")), e1=1) == "before"


@pytest.mark.asyncio
async def test_a_second_wait_takes_the_next_event() -> None:
    async with office() as run:
        ref = await run.start(draw("a>w w>v", w=wait(outputVariable="w"), v=wait()))
        await run.begun("a")
        for id in ("e1", "e2"):
            await run.app.publish("paid", None, id=id)
        run.finish("a")
        output = await ref.result(60)
        assert isinstance(output, dict)
        assert output["eventId"] == "e2"


@pytest.mark.asyncio
async def test_look_back_can_be_turned_off() -> None:
    async with office() as run:
        ref = await run.start(draw("a>w", w=wait(lookback="PT0S")))
        await run.begun("a")
        await run.app.publish("paid", None, id="early")
        run.finish("a")
        await run.until(ref, "w", "WAITING")
        await run.app.publish("paid", None, id="late")
        output = await ref.result(60)
        assert isinstance(output, dict)
        assert output["eventId"] == "late"


@pytest.mark.asyncio
async def test_the_time_of_receipt_counts_and_not_the_timestamp() -> None:
    """The time an event was received counts, not its `timestamp`."""
    async with office() as run:
        long_ago = datetime.now(UTC) - timedelta(days=900)
        ref = await run.start(draw("w", w=wait()))
        published = await run.app.publish("paid", {"n": 1}, timestamp=long_ago)
        assert published.resumed == 1
        output = await ref.result(60)
        assert isinstance(output, dict)
        assert str(output["timestamp"]).startswith(f"{long_ago.year}-")


@pytest.mark.asyncio
async def test_the_same_id_with_other_content_is_a_conflict() -> None:
    """The same id with other content: 409."""
    async with office() as run:
        await run.app.publish("paid", {"n": 1}, id="e1")
        with pytest.raises(Conflict) as refused:
            await run.app.publish("paid", {"n": 2}, id="e1")
        assert refused.value.code == "TEN-3008"


@pytest.mark.asyncio
async def test_a_correlation_id_filters_only_where_a_wait_names_it() -> None:
    """`correlationId` filters only where a wait names it."""
    async with office() as run:
        document = draw("u v", u=wait(correlationId="{{ctx.input}}"), v=wait())
        ref = await run.start(document, "c-1")
        assert (await run.app.publish("paid", correlation_id="c-2")).resumed == 1
        await run.until(ref, "v", "COMPLETED")
        assert (await run.app.publish("paid", correlation_id="c-1")).resumed == 1
        await ref.result(60)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "pattern", ["workflow.started", "workflow.x", "", "a..b", "a.*", ".", "x."]
)
async def test_names_of_events_that_cannot_be_published(pattern: str) -> None:
    """`workflow.*` cannot be published from outside; a chain of lifecycle-triggered starts is
    cut at 16.
    """
    async with office() as run:
        with pytest.raises(InvalidInput) as refused:
            await run.app.publish(pattern)
        assert refused.value.code == "TEN-2015"


@pytest.mark.parametrize(
    ("pattern", "name", "does"),
    [
        ("**", "a", True),
        ("**", "a.b.c", True),
        ("a.**", "a", False),
        ("a.**", "a.b", True),
        ("a.**", "a.b.c.d", True),
        ("a.**.d", "a.d", False),
        ("a.**.d", "a.b.c.d", True),
        ("**.d", "d", False),
        ("a.*", "a.b", True),
        ("a.*", "a.b.c", False),
        ("*.b", "a.b", True),
        ("a.b", "a.b", True),
        ("a.b", "a.B", False),
    ],
)
def test_two_stars_are_one_or_more_words(pattern: str, name: str, does: bool) -> None:
    """`**` is one or more words."""
    assert fits(pattern, name) is does

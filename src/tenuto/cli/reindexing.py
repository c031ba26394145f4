"""`tenuto reindex`: have instances found by the values that they have, whoever wrote them."""

from __future__ import annotations

from tenuto.cli import exits
from tenuto.cli.running import engine
from tenuto.cli.stores import described, refuse_memory, require_there
from tenuto.cli.terminal import show, show_json, talk
from tenuto.engine.upkeep.reindexer import Reindexer


async def reindex(url: str, workflow: str | None, *, is_json: bool) -> int:
    """Say how many instances were indexed again."""
    refuse_memory(url)
    await require_there(url)
    done = 0
    async with engine(url, is_brief=True, is_guest=True) as app:
        ours = app.engine
        reindexer = Reindexer(store=ours.store, plans=ours.plans, index_again=ours.index_again)
        with talk().status("indexing …") as status:
            async for done in reindexer.run(workflow):
                status.update(f"indexing … {done:,} instances")
    if is_json:
        show_json({"indexed": done})
    else:
        several = "1 instance" if done == 1 else f"{done:,} instances"
        show(f"{several} indexed by the values that they have, in {described(url)}")
    return exits.DONE

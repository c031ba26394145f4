"""A role that may not do what is needed is told who may, and what to grant."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tenuto.model.errors import StoreUnavailable
from tenuto.store.postgres import PostgresStore
from tenuto.store.postgres.migrations import MIGRATIONS
from tenuto.store.postgres.rights import Roles, as_owner
from tests.store.postgres.conftest import Opener, refusal, run
from tests.store.postgres.test_half_schemas import migrated
from tests.store.situations import NOON, begin, event, mail, turn

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def humble(bare_url: str) -> AsyncIterator[str]:
    """The URL of a role that may come in and nothing else."""
    name = f"humble_{bare_url.rpartition('_')[2]}"
    await run(bare_url, f"DROP ROLE IF EXISTS {name}; CREATE ROLE {name} LOGIN")
    yield bare_url.replace("://tenuto@", f"://{name}@")
    await run(bare_url, f"DROP OWNED BY {name}; DROP ROLE {name}")


async def test_who_may_not_create_is_told_what_to_grant(humble: str) -> None:
    refused = await refusal(PostgresStore(humble))
    assert refused.code == "TEN-4004"
    assert "GRANT CREATE ON DATABASE" in refused.advice
    assert refused.__cause__ is not refused


async def test_who_may_not_enter_the_schema_is_told_what_its_owner_has_to_grant(
    bare_url: str, humble: str, opened: Opener
) -> None:
    """ "a database without rights"."""
    await PostgresStore(bare_url).migrate()
    assert (await refusal(PostgresStore.reader(humble))).code == "TEN-4004"
    refused = await refusal(PostgresStore(humble))
    assert refused.code == "TEN-4004"
    assert "which belongs to tenuto" in refused.message
    _, _, grants = refused.advice.partition("As the role tenuto run: ")
    await run(bare_url, grants.rstrip("."))
    store = await opened(humble)
    done = await store.turns.commit(turn("t1", begin("i1"), process_id="p1", events=(event("e1"),)))
    assert len(done.writes) == len(done.events) == 1
    await store.mailbox.send([mail("m2", "i1")])
    assert len(await store.mailbox.claim(10)) == 1
    await store.members.claim_orphans(10)
    await store.close(NOON, clean=True)


async def test_who_may_not_call_functions_is_told_what_to_grant(
    bare_url: str, humble: str, opened: Opener
) -> None:
    await PostgresStore(bare_url).migrate()
    role = humble.partition("://")[2].partition("@")[0]
    await run(
        bare_url,
        "REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA tenuto FROM PUBLIC;"
        f" GRANT USAGE ON SCHEMA tenuto TO {role};"
        f" GRANT ALL ON ALL TABLES IN SCHEMA tenuto TO {role}",
    )
    refused = await refusal(PostgresStore(humble))
    assert refused.code == "TEN-4004"
    assert "permission denied for function" in refused.message
    _, _, grants = refused.advice.partition("and run as that role: ")
    await run(bare_url, grants.rstrip("."))
    store = await opened(humble)
    assert len((await store.turns.commit(turn("t1", begin("i1"), process_id="p1"))).writes) == 1


async def test_what_is_granted_holds_for_what_later_versions_add(
    bare_url: str, humble: str
) -> None:
    await PostgresStore(bare_url).migrate()
    refused = await refusal(PostgresStore(humble))
    _, _, grants = refused.advice.partition("As the role tenuto run: ")
    await run(
        bare_url,
        f"{grants.rstrip('.')}; CREATE TABLE tenuto.later (number int);"
        " CREATE FUNCTION tenuto.later() RETURNS int LANGUAGE sql AS 'SELECT 1';"
        " REVOKE EXECUTE ON FUNCTION tenuto.later FROM PUBLIC",
    )
    await run(humble, "INSERT INTO tenuto.later VALUES (tenuto.later())")


async def test_a_role_is_named_as_sql_names_it() -> None:
    advice = as_owner(Roles(owner="Ada", user="user", is_owner=False))
    assert 'the role "Ada"; "user" may not' in advice


async def test_who_may_not_make_tables_in_a_schema_is_told_so(
    bare_url: str, humble: str, opened: Opener
) -> None:
    await run(bare_url, "CREATE SCHEMA tenuto")
    refused = await refusal(PostgresStore(humble))
    assert refused.code == "TEN-4004"
    _, _, advised = refused.advice.partition("As the role tenuto run: ")
    await run(bare_url, advised.partition("; or")[0])
    await opened(humble)


async def test_an_old_schema_names_the_role_that_may_migrate_it(bare_url: str, humble: str) -> None:
    before = MIGRATIONS[-2].version
    await migrated(bare_url, before)
    role = humble.partition("://")[2].partition("@")[0]
    await run(
        bare_url,
        f"GRANT USAGE ON SCHEMA tenuto TO {role};"
        f" GRANT ALL ON ALL TABLES IN SCHEMA tenuto TO {role}",
    )
    for store in (PostgresStore(humble), PostgresStore.reader(humble)):
        refused = await refusal(store)
        assert refused.code == "TEN-4005"
        assert f"has an older schema ({before}" in refused.message
        assert "Run `tenuto migrate` as the owner of its tables, the role tenuto" in refused.advice


async def test_who_may_only_read_looks_and_does_not_work(
    bare_url: str, humble: str, opened: Opener
) -> None:
    await PostgresStore(bare_url).migrate()
    role = humble.partition("://")[2].partition("@")[0]
    await run(
        bare_url,
        f"GRANT USAGE ON SCHEMA tenuto TO {role};"
        f" GRANT SELECT ON ALL TABLES IN SCHEMA tenuto TO {role}",
    )
    reader = await opened(humble, "cli", make=PostgresStore.reader)
    assert await reader.definitions.ids("default") == []
    with pytest.raises(StoreUnavailable):
        await reader.mailbox.send([mail("m1", "i1")])
    await run(
        bare_url,
        f"GRANT INSERT ON tenuto.mailbox TO {role};"
        f" GRANT USAGE ON SEQUENCE tenuto.mailbox_number_seq TO {role}",
    )
    await reader.mailbox.send([mail("m1", "i1")])
    refused = await refusal(PostgresStore(humble))
    assert refused.code == "TEN-4004"
    assert "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA tenuto" in refused.advice

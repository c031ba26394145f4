"""`tenuto run --server`: deploy and start at a server, or go on watching, to the end."""

from __future__ import annotations

from tenuto.cli.backends.place import ServerUrl
from tenuto.cli.backends.server import ServerReader, connected
from tenuto.cli.deploying import saved
from tenuto.cli.local_run import Wish
from tenuto.cli.lookup import find_instance
from tenuto.cli.sources import read_source
from tenuto.cli.starting import watched


async def run_there(url: ServerUrl, wish: Wish) -> int:
    """The tasks run where they are registered: in the service or in its workers."""
    async with connected(url) as client:
        if wish.instance is not None:
            id = (await find_instance(ServerReader(url, client), wish.instance)).id
        else:
            assert wish.file is not None
            source = read_source(wish.file)
            definition = source.checked()
            version = await saved(client, source)
            started = await client.start(
                definition.id,
                wish.input,
                key=wish.key,
                correlation_id=wish.correlation_id,
                version=version,
            )
            id = started.id
    return await watched(url, id, timeout=wish.timeout, is_json=wish.is_json)

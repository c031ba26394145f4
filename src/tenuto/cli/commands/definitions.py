"""`tenuto validate` and `deploy`, and their options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.options import JsonOutput, Output, Reason, Store, perform, perform_on

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend


def validate(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", help="Definitions: .json or .yaml files, or FILE.py[:NAME]."
        ),
    ],
    *,
    output: Output = "table",
) -> None:
    """Find everything that is wrong with definitions.

    tenuto validate order.json

    tenuto validate flows.py
    """

    async def work() -> int:
        from tenuto.cli import exits
        from tenuto.cli.code import code_checked
        from tenuto.cli.sources import read_all, refuse
        from tenuto.cli.task_warnings import tasks_around, with_task_warnings
        from tenuto.cli.views.definition import show_valid, unreadable_json, validation_json
        from tenuto.cli.views.terminal import show_json
        from tenuto.model.errors import InvalidDefinition

        try:
            sources = await code_checked(read_all(files))
        except InvalidDefinition as error:
            if output != "json":
                raise
            show_json(unreadable_json(error.problems))
            return exits.USAGE
        sources = [
            with_task_warnings(each, tasks_around(each, may_import=True)) for each in sources
        ]
        is_valid = all(source.definition is not None for source in sources)
        if output == "json":
            show_json(validation_json(sources))
            return exits.DONE if is_valid else exits.USAGE
        if not is_valid:
            refuse((), sources)
        for source in sources:
            show_valid(source)
        return exits.DONE

    perform(work, output)


def schema(*, output: JsonOutput = "json") -> None:
    """Print the JSON Schema of definitions, with which an editor completes and checks them.

    tenuto schema > workflow.schema.json
    """

    async def work() -> int:
        from tenuto.cli import exits
        from tenuto.cli.views.terminal import show_json
        from tenuto.definition.json_schema import definition_schema

        show_json(definition_schema())
        return exits.DONE

    perform(work, output)


def deploy(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Definitions: .json, .yaml, or FILE.py[:NAME]; schedules, calendars, data sources"
            " and data queries too.",
        ),
    ],
    *,
    reason: Reason = None,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Save definitions, to be started by their ids; also schedules, calendars and data sources.

    The same content again makes no new version; instances that run keep theirs.

    tenuto deploy order.json --server http://127.0.0.1:8484
    """

    async def work(backend: Backend) -> int:
        from tenuto.cli import exits
        from tenuto.cli.code import code_checked
        from tenuto.cli.records import AFTER_WORKFLOWS, BEFORE_WORKFLOWS, in_order, split
        from tenuto.cli.saved_definitions import deployed_in
        from tenuto.cli.sources import read_all, refuse
        from tenuto.cli.task_warnings import (
            tasks_around,
            tasks_of,
            with_secret_warnings,
            with_task_warnings,
        )
        from tenuto.cli.views.definition import remarks_json, show_remarks
        from tenuto.cli.views.terminal import show, show_json, without_log

        paths, records = split(files)
        sources = await code_checked(read_all(paths))
        # None is saved where one of them has errors, and is not what is saved already.
        faulty = [
            each
            for each in sources
            if each.definition is None and not await each.is_saved(backend.space)
        ]
        if faulty:
            refuse((), faulty)
        ids = [source.id for source in sources]
        # Warnings are shown with their places instead.
        with without_log("tenuto.definitions"):
            async with backend.kept_open():
                space = backend.space
                before = in_order(records, BEFORE_WORKFLOWS)
                after = in_order(records, AFTER_WORKFLOWS)
                others = [(each, await each.saved_in(space)) for each in before]
                deployed = [await deployed_in(space, source) for source in sources]
                others += [(each, await each.saved_in(space)) for each in after]
        versions = [version for version, _ in deployed]
        sources = [source for _, source in deployed]
        known = await tasks_of(backend.space)
        typed = {id: schema for id, schema in known.items() if schema is not None}
        sources = [with_task_warnings(each, known | tasks_around(each) | typed) for each in sources]
        sources = [await with_secret_warnings(each, backend.space) for each in sources]
        saved = list(zip(ids, versions, sources, strict=True))
        if output == "json":
            items = [
                {
                    "id": id,
                    "version": version,
                    "problems": remarks_json(source),
                }
                for id, version, source in saved
            ]
            items += [
                {"id": id, "version": version, "kind": record.kind, "problems": []}
                for record, (id, version) in others
            ]
            show_json({"items": items, "nextCursor": None})
        else:
            for id, version, source in saved:
                show_remarks(source, "is saved")
                show(f"✓ {id}@{version}")
            for record, (id, version) in others:
                show(f"✓ {record.kind} {id}@{version}")
        return exits.DONE

    perform_on(store, work, output, reason=reason)

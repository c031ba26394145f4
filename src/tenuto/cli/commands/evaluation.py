"""`tenuto eval`, and its options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tenuto.cli import completion
from tenuto.cli.backends.place import STORE
from tenuto.cli.commands.options import Output, Reveal, Store, perform, perform_on

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend
    from tenuto.model.json import Object


def eval_(
    text: Annotated[
        str,
        typer.Argument(
            metavar="EXPRESSION|TEMPLATE", help="An expression; with {{…}} in it a template."
        ),
    ],
    *,
    instance: Annotated[
        str | None,
        typer.Option(
            "--instance",
            metavar="ID",
            help="Over the values of this instance as it is now.",
            autocompletion=completion.ids,
        ),
    ] = None,
    context: Annotated[
        str | None,
        typer.Option(
            "--context",
            metavar="JSON|@FILE|-",
            help="Over these values: an object with ctx, steps, workflow, event, or ctx itself.",
        ),
    ] = None,
    reveal: Reveal = False,
    store: Store = STORE,
    output: Output = "table",
) -> None:
    """Evaluate an expression or a template as the engine does.

    It sees what a step outside of loops would see; without --instance and --context there are no
    values. What is wrong with the text has the codes of `tenuto validate`. With -o json the value
    has its type, where undefined is no null.

    tenuto eval 'ctx.input.amount * 2' --instance @last

    tenuto eval 'Order {{ctx.input.id}}' --context '{"input": {"id": 7}}'
    """
    if instance is not None and context is not None:
        raise typer.BadParameter("give --instance or --context, not both")

    async def over_given() -> int:
        from tenuto.cli.evaluation import given_scope, show_value

        return show_value(text, given_scope(context), is_json=output == "json")

    async def over_instance(backend: Backend) -> int:
        from tenuto.cli.evaluation import show_value
        from tenuto.cli.lookup import find_instance
        from tenuto.cli.views.masking import masked_object
        from tenuto.core.scope import plain_scope
        from tenuto.model.ids import NodeKey

        assert instance is not None
        id = (await find_instance(backend.space, instance)).id
        if reveal:
            await backend.reveal("get_instance", id)
        held = await backend.held(id)
        outside = next(name for name, each in held.plan.nodes.items() if each.loop is None)
        roots = ("ctx", "steps", "workflow")
        scope: Object = plain_scope(held.plan, held.state, NodeKey(outside), roots)
        return show_value(text, masked_object(scope), is_json=output == "json")

    if instance is None:
        perform(over_given, output)
    perform_on(store, over_instance, output, reveals=reveal)

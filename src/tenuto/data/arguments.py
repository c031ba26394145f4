"""Arguments of a query: checked against its parameters, all problems at once."""

from __future__ import annotations

from collections.abc import Mapping

from tenuto.data.named_parameters import Statement
from tenuto.data.source import DataQuery
from tenuto.definition.schemas import query_problems
from tenuto.model.errors import Problem
from tenuto.model.json import JSON, Object, kind_of


def schema_of(query: DataQuery, statement: Statement) -> Object:
    """The schema of the arguments of a query.

    Without a schema of its own each parameter of the statement is needed. With one that lists none
    as required, all are. Names that are no parameters are refused.
    """
    own = query.parameters if isinstance(query.parameters, dict) else {}
    properties = own.get("properties")
    known = dict(properties) if isinstance(properties, dict) else {}
    every: dict[str, JSON] = {name: known.get(name, True) for name in statement.names}
    # A property that the statement has no place for would be given for nothing.
    return {
        **own,
        "type": "object",
        "properties": every,
        "required": own.get("required", list(statement.names)),
        "additionalProperties": False,
    }


def argument_problems(query: DataQuery, statement: Statement, args: JSON) -> tuple[Problem, ...]:
    """Missing, additional and wrong arguments."""
    if not isinstance(args, dict):
        problem = Problem(
            code="TEN-2779",
            path="$.args",
            message=f"expected an object of arguments, found {kind_of(args)}",
            advice='Write for example `{"sku": "A-1"}`.',
        )
        return (problem,)
    return query_problems(schema_of(query, statement), args)


def bound(statement: Statement, args: Mapping[str, JSON]) -> dict[str, JSON]:
    """A value for each parameter; null for one that may be left out, and is."""
    return {name: args.get(name) for name in statement.names}

"""Search terms of a query: the values that its workflow lists as searchable."""

from __future__ import annotations

from tenuto.engine.definitions.plans import Plans
from tenuto.model.encrypted import is_encrypted
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.json import Object, json_problem
from tenuto.model.search_terms import LARGEST, MOST_DEPTH, SearchTerm, term_of

NOT_SEARCHABLE = "TEN-2615"
WRONG_VALUE = "TEN-2031"


async def terms_for(
    plans: Plans, tenant: str, workflow: str | None, wanted: Object
) -> tuple[SearchTerm, ...]:
    """The terms of instances that have all these values; InvalidInput, NotFound."""
    if workflow is None:
        problem = Problem(
            code=NOT_SEARCHABLE,
            path="$.variables",
            message="which variables can be searched by depends on the workflow",
            advice="Name it: `workflowId`, in Python `workflow`, in a terminal `--workflow`.",
        )
        raise InvalidInput("the query is not valid", [problem])
    definition = (await plans.get(tenant, workflow)).plan.definition
    terms: list[SearchTerm] = []
    problems: list[Problem] = []
    for name, value in wanted.items():
        if is_encrypted(definition.options.encrypt, name):
            problems.append(
                Problem(
                    code=NOT_SEARCHABLE,
                    path=f"$.variables.{name}",
                    message=f"{workflow} stores {name} encrypted",
                    advice="Search by a value that `options.encrypt` does not name.",
                )
            )
            continue
        if name not in definition.options.searchable:
            problems.append(
                Problem(
                    code=NOT_SEARCHABLE,
                    path=f"$.variables.{name}",
                    message=f"{workflow} does not list {name} as searchable",
                    advice="List it in the `options.searchable` of the workflow.",
                )
            )
            continue
        misfit = json_problem(value)
        term = term_of(name, value) if misfit is None else None
        if term is not None:
            terms.append(term)
            continue
        bounds = f"it is larger than {LARGEST // 1024} KB, or nested more than {MOST_DEPTH} deep"
        path, what = misfit or ("", bounds)
        problems.append(
            Problem(
                code=WRONG_VALUE,
                path=f"$.variables.{name}{path}",
                message=what,
                advice="Look for text, a number, true, false, null, or an array or object of them.",
            )
        )
    if problems:
        raise InvalidInput("the query is not valid", problems)
    return tuple(terms)

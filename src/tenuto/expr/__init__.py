"""The expression language and its templates: a closed, pure, bounded subset of JavaScript.

`compile_expression` and `compile_template` check a text once; what they return runs any number of
times over a scope. `split_condition` prepares a condition that waits for an event. Values are JSON,
`UNDEFINED` and `Lazy`; nothing in an expression can reach anything else.
"""

from __future__ import annotations

from tenuto.expr.condition import SplitCondition, Term, split_condition
from tenuto.expr.constants import is_fixed
from tenuto.expr.errors import ExpressionError, ExpressionSyntaxError
from tenuto.expr.expression import Expression, compile_expression
from tenuto.expr.frame import CountedScope, Steps
from tenuto.expr.index_text import LOOSE, canonical, event_term_values
from tenuto.expr.near_miss import Miss
from tenuto.expr.paths import is_rooted_path, look_up, parse_path
from tenuto.expr.references import Reference, references
from tenuto.expr.syntax import ALL_ROOTS
from tenuto.expr.template import (
    Rendered,
    Template,
    compile_template,
    template_expressions,
    template_problems,
)
from tenuto.expr.values import UNDEFINED, Lazy, Undefined, Value

__all__ = [
    "ALL_ROOTS",
    "LOOSE",
    "UNDEFINED",
    "CountedScope",
    "Expression",
    "ExpressionError",
    "ExpressionSyntaxError",
    "Lazy",
    "Miss",
    "Reference",
    "Rendered",
    "SplitCondition",
    "Steps",
    "Template",
    "Term",
    "Undefined",
    "Value",
    "canonical",
    "compile_expression",
    "compile_template",
    "event_term_values",
    "is_fixed",
    "is_rooted_path",
    "look_up",
    "parse_path",
    "references",
    "split_condition",
    "template_expressions",
    "template_problems",
]

"""Advice on code that needs a future value now: what to write instead."""

from __future__ import annotations

import ast
from typing import NamedTuple

from tenuto.python_form.future import Misuse
from tenuto.python_form.rewrites import Names, as_template, as_text, with_operators
from tenuto.python_form.usage import Usage

_LONGEST = 100


class Advice(NamedTuple):
    """The problem of a use of a future value, and its remedy."""

    code: str
    needs: str
    """The subject of the sentence `… needs a value now`."""
    instead: str


_PLAIN = {
    Misuse.DECIDED: Advice(
        "TEN-1104", "deciding", "Decide with `with when(…):`, or decide in a task."
    ),
    Misuse.SEARCHED: Advice(
        "TEN-1104",
        "`in`",
        "Write the test as text, `when(\"ctx.order.tags.includes('vip')\")`, or look in a task.",
    ),
    Misuse.REPEATED: Advice("TEN-1105", "going through it", "Go through it in a task."),
    Misuse.MEASURED: Advice(
        "TEN-1105",
        "measuring it",
        "Measure it in text, `{{ctx.order.items.length}}`, or in a task.",
    ),
    Misuse.CONVERTED: Advice(
        "TEN-1106", "a number", "Compute with the value itself, or convert it in a task."
    ),
    Misuse.WRITTEN: Advice(
        "TEN-1106",
        "text",
        'Write it as a template, "Order {{ctx.paid.id}}", or make the text in a task.',
    ),
    Misuse.HASHED: Advice(
        "TEN-1106", "a key", "Use a key that is known now, or build the object in a task."
    ),
    Misuse.CALLED: Advice(
        "TEN-1106",
        "a method",
        'Read properties with `paid["id"]`; write methods as text, "{{ctx.paid.name.trim()}}", '
        "or call them in a task.",
    ),
    Misuse.CHANGED: Advice(
        "TEN-1106", "changing it", "Give a new value to the next step, or change it in a task."
    ),
}
_WORDS_OF_STEPS = frozenset(
    {"after()", "after_any()", "named()", "on_error()", "map()", "undo()", "options()"}
)


def advice_on(misuse: Misuse, usage: Usage | None, names: Names) -> Advice:
    """The advice, in the words of the source if they are known.

    `names` maps the variables in scope to their values, so that text can name steps.
    """
    plain = _PLAIN[misuse]
    if usage is None or misuse is Misuse.CHANGED:
        return plain
    told = plain._replace(needs=_called(usage.word))
    match usage.word:
        case "in":
            instead = _as_value(usage.node, names, is_test=usage.is_test)
            return told._replace(instead=instead or told.instead)
        case "**" if (instead := _as_value(usage.node, names)) is not None:
            return told._replace(code="TEN-1105", instead=instead)
        case "*" | "**" | "for" | "unpacking":
            return told._replace(code="TEN-1105", instead=_on_taking_apart(usage))
        case "%" | "an f-string":
            return told._replace(instead=_as_value(usage.node, names) or told.instead)
        case "get()" if misuse is Misuse.CALLED:
            return told._replace(instead=_on_getting(usage.node, names) or told.instead)
        case "len()":
            return told._replace(instead=_as_value(usage.node, names) or told.instead)
        case word if word.endswith("()"):
            return told._replace(instead=_on_calling(misuse, usage) or told.instead)
        case _ if misuse in {Misuse.DECIDED, Misuse.SEARCHED}:
            return told._replace(instead=_on_deciding(usage, names) or told.instead)
        case _:
            return told


def _called(word: str) -> str:
    return word if word.startswith("a") and " " in word else f"`{word}`".replace(" in a list`", "`")


def _on_deciding(usage: Usage, names: Names) -> str | None:
    node = usage.node
    match usage.word:
        case "if":
            test = _as_test(node, names)
            return f"Write `with when({test}):` and `with otherwise():`, or decide in a task."
        case "elif":
            return f"Write `with otherwise({_as_test(node, names)}):`, or decide in a task."
        case "while":
            return (
                "Write `with repeat_while(lambda last: …, at_most=20):`, with a test of what the "
                "round before gave, which is null at first."
            )
        case "assert":
            return "Check it in a task that raises TaskError, or write `terminate` in a `when`."
        case "match":
            return "Write `with when(… == …):` and `with otherwise(… == …):`, or decide in a task."
        case "if in a list":
            return "Filter in a task: pass it the list, and use the list that it returns."
        case "and" | "or" | "not" | "a chained comparison":
            operators = with_operators(node, names) if isinstance(node, ast.expr) else None
            if operators is not None:
                return f"Write `{_short(operators)}`."
            return _as_value(node, names, is_test=usage.is_test)
        case "if … else":
            return _as_value(node, names) or (
                "Write `with when(…):` and `with otherwise():`, and take `one_of` of their steps."
            )
        case _:
            return None


def _as_test(node: ast.AST | None, names: Names) -> str:
    """A test as `when` takes it."""
    if not isinstance(node, ast.expr):
        return "…"
    found = with_operators(node, names)
    if found is None:
        text = as_text(node, names)
        found = "…" if text is None else f'"{text}"'
    return _short(found)


def _as_value(node: ast.AST | None, names: Names, *, is_test: bool = False) -> str | None:
    """The advice to write a value as text."""
    if not isinstance(node, ast.expr):
        return None
    text = as_text(node, names) if is_test else as_template(node, names)
    return None if text is None else f'Write it as text, `"{text}"`, or do it in a task.'


def _on_taking_apart(usage: Usage) -> str:
    match usage.word, usage.node:
        case "for", ast.For(iter=each) as loop:
            task = _task_for_each(loop)
            item = _of(loop.target)
            block = f"`with for_each({_of(each)}) as {item}:`"
            if task is None or not _is_only_call(loop):
                return f"Write {block}, or put its body into a task and call that for each."
            return f"Call the task for each item: `{task}.map({_of(each)})`, or write {block}."
        case "for", ast.comprehension(iter=each):
            return (
                f"Call a task for each item, `task.map({_of(each)})`, or give a task the list as "
                "it is."
            )
        case "unpacking", ast.Assign(value=value, targets=[ast.Tuple() | ast.List() as target, *_]):
            parts = [f"`{_of(value)}[{number}]`" for number in range(len(target.elts))]
            return f"Name its parts: {', '.join(parts)}."
        case "*", ast.expr() as value:
            return (
                f"Name its parts, `{_of(value)}[0]`, `{_of(value)}[1]`, or give it to a task as "
                "it is."
            )
        case "**", _:
            return "Name its parts, or put the object together in a task."
        case _:
            return "Name its parts, `pair[0]`, `pair[1]`, or take it apart in a task."


def _task_for_each(loop: ast.For) -> str | None:
    """The function that the body calls with the item."""
    item = ast.unparse(loop.target)
    for node in ast.walk(loop):
        match node:
            case ast.Call(func=ast.Name(id=name), args=[ast.Name(id=given)]) if given == item:
                return name
            case _:
                pass
    return None


def _is_only_call(loop: ast.For) -> bool:
    """Whether the body is one call."""
    match loop.body:
        case [ast.Expr(value=ast.Call())]:
            return True
        case _:
            return False


def _on_getting(node: ast.AST | None, names: Names) -> str | None:
    match node:
        case ast.Call(func=ast.Attribute(value=owner), args=[ast.Constant(value=key)]):
            return f"Write `{_of(owner)}[{key!r}]`."
        case _:
            return _as_value(node, names)


def _on_calling(misuse: Misuse, usage: Usage) -> str | None:
    if misuse is Misuse.CALLED and usage.word in _WORDS_OF_STEPS:
        match usage.node:
            case ast.Call(func=ast.Attribute(value=ast.Call(func=task, args=args), attr=word)):
                given = ", ".join(_of(each) for each in args)
                return f"It stands before the call: `{_of(task)}.{word}(…)({given})`."
            case _:
                return "It stands before the call of a task: `charge.after(held)(order)`."
    is_function = isinstance(usage.node, ast.Call) and isinstance(usage.node.func, ast.Name)
    if usage.word == "print()":
        return "Print it in a task, when it is there; `tenuto show INSTANCE` shows every value."
    if misuse in {Misuse.DECIDED, Misuse.REPEATED} or (misuse is Misuse.CALLED and is_function):
        return "Give it to a task as it is, and do this there."
    return None


def _of(node: ast.AST) -> str:
    return _short(ast.unparse(node))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"

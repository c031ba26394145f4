"""Draws a definition as a Mermaid flowchart, which Markdown viewers show as a picture."""

from __future__ import annotations

import re

from tenuto.definition.nodes import BY_CONFIG
from tenuto.model.graph import (
    DEFAULT,
    Approval,
    Condition,
    Config,
    DataQuery,
    Definition,
    Delay,
    Edge,
    End,
    EventWait,
    Http,
    JavaScript,
    Loop,
    Node,
    Start,
    SubWorkflow,
    Task,
    Terminate,
)
from tenuto.model.json import JSON

_LONGEST_LINE = 40
"""The most characters of code that a box shows."""


def to_mermaid(definition: Definition) -> str:
    """The text of the flowchart, top down."""
    keys = {node.id: f"n{number}" for number, node in enumerate(definition.graph.nodes, start=1)}
    lines = ["flowchart TD"]
    lines += [f"    {keys[node.id]}{_box(node)}" for node in definition.graph.nodes]
    lines += [f"    {_arrow(edge, keys)}" for edge in definition.graph.edges]
    return "\n".join(lines)


def what_it_does(node: Node) -> str:
    """A node's type, and its most distinctive setting."""
    tag = BY_CONFIG[type(node.config)].tag
    match node.config:
        case Task(task_id=name) | SubWorkflow(workflow_id=name):
            return f"{tag} {name}"
        case EventWait(event_pattern=str() as pattern):
            return f"{tag} {pattern}"
        case Http(method=method, url=url):
            return f"{tag} {method} {url}"
        case DataQuery(data_query_id=name):
            return f"{tag} {name}"
        case JavaScript(code=code):
            return f"{tag} {_first_line(code)}"
        case Approval(assignees=people):
            named = [name for kind in ("users", "roles") for name in _texts(people.get(kind))]
            return f"{tag} {', '.join(named)}"
        case Condition(branches=[only]):
            return f"{tag} {only.when}"
        case Loop(while_=str() as test):
            return f"{tag} while {test}"
        case Loop(source=str() as source):
            return f"{tag} over {source}"
        case _:
            return tag


def _first_line(code: str) -> str:
    line = next((each.strip() for each in code.splitlines() if each.strip()), "")
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…"


def _texts(value: JSON) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _box(node: Node) -> str:
    title = node.name or node.id
    text = f"{_escaped(title)}<br/>{_escaped(what_it_does(node))}"
    opening, closing = _shape(node.config)
    return f'{opening}"{text}"{closing}'


def _shape(config: Config) -> tuple[str, str]:
    match config:
        case Start() | End() | Terminate():
            return "([", "])"
        case Condition():
            return "{", "}"
        case EventWait() | Delay() | Approval():
            return "{{", "}}"
        case Loop() | SubWorkflow():
            return "[[", "]]"
        case _:
            return "[", "]"


def _arrow(edge: Edge, keys: dict[str, str]) -> str:
    label = "" if edge.handle == DEFAULT else f'|"{_escaped(edge.handle)}"|'
    return f"{keys[edge.source]} -->{label} {keys[edge.target]}"


def _escaped(text: str) -> str:
    """Text escaped for Mermaid, which writes entities with `#`."""
    return re.sub(r"""["<>&#{}|;\\`\n]""", lambda found: f"#{ord(found[0])};", text)

"""Writes the client's operations and its blocking twin: `python -m tests.client.generate`.

`client/operations.py` has a typed method for each operation of the API, from the same registry as
routes and OpenAPI. `client/sync.py` has the methods of `Client` and its parts without an event
loop. A test holds that both are as they would be written now.
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import types
from collections.abc import Iterator
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, UNSET, Struct, UnsetType

from tenuto.api.operation import API, Operation
from tenuto.api.registry import OPERATIONS
from tenuto.client.audit import RemoteAudit
from tenuto.client.bulk import RemoteBulk
from tenuto.client.client import Client
from tenuto.client.dead_letters import RemoteDeadLetters
from tenuto.client.instance import RemoteInstance
from tenuto.client.keys import RemoteKeys
from tenuto.client.listeners import RemoteSubscriptions, RemoteWebhooks
from tenuto.client.task_definitions import RemoteTaskDefinitions
from tenuto.client.test_runs import RemoteTestRuns
from tenuto.model.edited import EditedInput
from tenuto.model.task_definition import TaskDefinition

CLIENT = Path(__file__).parents[2] / "src" / "tenuto" / "client"

ONCE = frozenset(
    {
        *("pause_instance", "resume_instance", "retry_instance"),
        *("add_webhook", "remove_webhook", "add_subscription", "remove_subscription"),
        *("retry_dead_letter", "discard_dead_letter", "remove_dead_letter"),
        *("create_key", "add_task", "start_test_run", "publish_in_test_run", "stop_test_run"),
        *("claim_executions", "task_callback", "event_callback", "add_event_callback"),
    }
)
"""Operations that are not sent again where it is not known whether the first one was done."""
OVERLAPPING = frozenset({"start_batch", "publish_events", "shape_widget", "validate_workflow"})
"""Operations that may be under way twice: they only read, or their items have keys."""
RESULTS = {
    "BatchAnswer": "BatchResult",
    "BulkView": "BulkOperation",
    "EventAnswer": "EventAnswer",
    "Heartbeat": "Heartbeat",
    "InstanceItem": "InstanceItem",
    "RunStarted": "TestRun",
    "SavedWorkflow": "SavedWorkflow",
    "StartAnswer": "StartResult",
    "StatusAnswer": "StatusAnswer",
    "Subscription": "Subscription",
    "TaskDetails": "DeclaredTask",
    "TaskView": "DeclaredTask",
    "Webhook": "Webhook",
    "WorkflowView": "DefinitionVersion",
}
"""Types of the API and those of the client for them; every other one is a JSON object."""
GIVEN = {TaskDefinition: "TaskDefinition", EditedInput: "EditedInput"}
"""Structs that are given as they are."""
HEADERS = {"Idempotency-Key": "key", "If-Match": "if_match", "Last-Event-ID": "last_event_id"}

_PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")
_WIDEST = 92
_HEAD = '"""{says}; made by `python -m tests.client.generate`."""\n\n'


class Parameter(NamedTuple):
    """A parameter of a method, and the name of its value in a request."""

    name: str
    sent: str
    kind: str
    default: str | None


# -- the operations


def operations_module() -> str:
    """The source of `client/operations.py`."""
    methods = "\n".join(_method(each) for each in OPERATIONS)
    return _formatted(
        _HEAD.format(says="Every operation of the API as a typed method")
        + "# ruff: noqa: A002, ANN401, PLR0913 - the names and fields of the API\n\n"
        + _IMPORTS
        + "class Operations(OperationsBase):\n"
        + '    """Every operation of the API, by its name there."""\n\n'
        + methods
    )


_IMPORTS = """from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Literal, cast

from msgspec import UNSET

from tenuto.client.connection import Socket, part
from tenuto.client.operations_base import OperationsBase, null
from tenuto.client.shapes import (
    BatchResult, EventAnswer, InstanceItem, StartResult, StatusAnswer
)
from tenuto.model.edited import EditedInput
from tenuto.model.executions import Heartbeat
from tenuto.model.json import Object
from tenuto.model.task_definition import TaskDefinition
from tenuto.workspace.values import (
    BulkOperation, DeclaredTask, DefinitionVersion, Page, SavedWorkflow, Subscription, TestRun,
    Webhook
)


"""


def _method(operation: Operation) -> str:
    path = [
        Parameter(_snake(name), name, "str", None) for name in _PARAMETER.findall(operation.path)
    ]
    query = [] if operation.query is None else list(map(_optional, _fields(operation.query)))
    whole, body = _body(operation)
    headers = [
        Parameter(HEADERS[name], name.lower(), "str | None", "None")
        for name, _ in operation.headers
        if name in HEADERS
    ]
    named = sorted([*body, *query, *headers], key=lambda each: each.default is not None)
    signature = ", ".join(
        [
            "self",
            *(f"{each.name}: {each.kind}" for each in [*path, *whole]),
            *(["*"] if named else []),
            *(f"{each.name}: {each.kind}{_default(each)}" for each in named),
        ]
    )
    prefix, call = _call(operation, query, [*whole, *body], headers)
    path_in_api = operation.path.removeprefix(API)
    url = _PARAMETER.sub(lambda it: "{part(" + _snake(it[1]) + ")}", path_in_api)
    place = f'f"{url}"' if "{" in url else f'"{url}"'
    return (
        f"    {prefix} {operation.name}({signature}) -> {_result(operation)}:\n"
        f"        {_docstring(operation.summary)}\n"
        f"        {call.replace('PLACE', place)}\n"
    )


def _docstring(summary: str) -> str:
    text = f'"""{summary}"""'
    return text if len(text) <= _WIDEST else f"{text}  # noqa: E501 - the summary of the operation"


def _call(
    operation: Operation, query: list[Parameter], body: list[Parameter], headers: list[Parameter]
) -> tuple[str, str]:
    """How the method begins, and what it does."""
    result = _result(operation)
    if [each.name for each in query] == ["limit", "cursor"]:
        return "async def", f"return await self._page({result}, PLACE, limit, cursor)"
    arguments = ["PLACE"]
    if not operation.path.startswith(API):
        arguments.append("is_of_api=False")
    if query:
        arguments.append(f"query={_mapping(query)}")
    if headers:
        arguments.append(f"headers={_mapping(headers)}")
    if operation.method == "WEBSOCKET":
        return "def", f"return self._socket({', '.join(arguments)})"
    if operation.response_media == "text/event-stream":
        return "def", f"return self._lines({', '.join(arguments)})"
    if operation.request is not None:
        is_whole = len(body) == 1 and not body[0].sent
        arguments.append("body=body" if is_whole else f"fields={_mapping(body)}")
    arguments += _repeating(operation, headers)
    if any(each.name == "wait" for each in query):
        arguments.append("wait=wait or 0.0")
    if any(each.name == "wait" for each in body):
        arguments.append("wait=wait")
    return "async def", _asking(result, f'"{operation.method}", {", ".join(arguments)}')


def _asking(result: str, arguments: str) -> str:
    if result == "None":
        return f"await self._do({arguments})"
    if result == "str":
        return f"return await self._text({arguments})"
    given = result.removesuffix(" | None")
    ask = "_ask" if given == result else "_ask_if_accepted"
    gives = f'cast("type[{given}]", {given})' if " | " in given else given
    return f"return await self.{ask}({gives}, {arguments})"


def _repeating(operation: Operation, headers: list[Parameter]) -> list[str]:
    """Whether the request may be sent again, and be under way twice."""
    if operation.name in ONCE:
        return ["is_repeatable=False"]
    if any(each.name == "key" for each in headers):
        return ["is_repeatable=key is not None", "may_overlap=True"]
    return ["may_overlap=True"] if operation.name in OVERLAPPING else []


def _body(operation: Operation) -> tuple[list[Parameter], list[Parameter]]:
    """The body as one parameter, or as one for each field."""
    kind = operation.request
    if kind is None:
        return [], []
    if isinstance(kind, type) and issubclass(kind, Struct) and kind not in GIVEN:
        return [], list(_fields(kind))
    return [Parameter("body", "", _kind(kind), None)], []


def _fields(kind: type[Struct]) -> Iterator[Parameter]:
    for field in msgspec.structs.fields(kind):
        default = None
        if field.default is not NODEFAULT:
            default = "UNSET" if field.default is UNSET else repr(field.default)
        elif field.default_factory is not NODEFAULT:
            default = repr(field.default_factory())
        yield Parameter(field.name, field.encode_name, _kind(field.type), default)


def _optional(parameter: Parameter) -> Parameter:
    """A query parameter: what is left out has the server's default."""
    if parameter.default in (None, "None"):
        return parameter
    return parameter._replace(kind=f"{parameter.kind} | None", default="None")


def _mapping(parameters: list[Parameter]) -> str:
    return "{" + ", ".join(f'"{each.sent}": {_value(each)}' for each in parameters) + "}"


def _value(parameter: Parameter) -> str:
    """None leaves a field out, but where it is a value like any other."""
    is_any = parameter.kind == "Any" and parameter.default != "None"
    return f"null({parameter.name})" if is_any else parameter.name


def _default(parameter: Parameter) -> str:
    return "" if parameter.default is None else f" = {parameter.default}"


def _kind(kind: Any) -> str:  # noqa: ANN401 - one for each form of a type
    """A type as the client's methods spell it."""
    origin, inside = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _kind(inside[0])
    if origin in (Union, types.UnionType):
        found = [_kind(each) for each in inside if each not in (UnsetType, type(None))]
        return " | ".join([*dict.fromkeys(found), *(["None"] if type(None) in inside else [])])
    if origin is Literal:
        return f"Literal[{', '.join(repr(each) for each in inside)}]".replace("'", '"')
    if origin in (list, tuple):
        return f"Sequence[{_kind(inside[0])}]"
    if origin is dict or kind is dict:
        return "Mapping[str, Any]"
    if kind in GIVEN:
        return GIVEN[kind]
    if kind is datetime or kind in (str, int, float, bool):
        return str(kind.__name__)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "str"
    if isinstance(kind, type) and issubclass(kind, Struct):
        return "Mapping[str, Any]"
    return "Any"


def _result(operation: Operation) -> str:
    if operation.method == "WEBSOCKET":
        return "AbstractAsyncContextManager[Socket]"
    if operation.response_media == "text/event-stream":
        return "AsyncGenerator[str, None]"
    if operation.response is None:
        return "None"
    result = _shape(operation.response)
    return f"{result} | None" if 204 in operation.other_statuses else result


def _shape(kind: Any) -> str:  # noqa: ANN401
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return " | ".join(_shape(each) for each in inside)
    if origin is not None and getattr(origin, "__name__", "") == "Page":
        return f"Page[{_shape(inside[0])}]"
    if origin is list:
        return f"list[{_shape(inside[0])}]"
    if kind is str:
        return "str"
    return RESULTS.get(getattr(kind, "__name__", ""), "Object")


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


# -- the blocking twin


class Face(NamedTuple):
    """A class of the client, and the name of the one without an event loop."""

    behind: type
    name: str


PARTS = {
    "webhooks": Face(RemoteWebhooks, "SyncWebhooks"),
    "subscriptions": Face(RemoteSubscriptions, "SyncSubscriptions"),
    "dead_letters": Face(RemoteDeadLetters, "SyncDeadLetters"),
    "task_definitions": Face(RemoteTaskDefinitions, "SyncTaskDefinitions"),
    "bulk": Face(RemoteBulk, "SyncBulk"),
    "test_runs": Face(RemoteTestRuns, "SyncTestRuns"),
    "keys": Face(RemoteKeys, "SyncKeys"),
    "audit": Face(RemoteAudit, "SyncAudit"),
}


def sync_module() -> str:
    """The source of `client/sync.py`."""
    imports = "".join(
        f"from {each.behind.__module__} import {each.behind.__name__}\n" for each in PARTS.values()
    )
    parts = "".join(
        f"        self.{name} = {each.name}(self._loop, client.{name})\n"
        f'        """{_first_line(each.behind)}"""\n'
        for name, each in PARTS.items()
    )
    return _formatted(
        _HEAD.format(says="The client for programs without an event loop")
        + _SYNC_IMPORTS
        + imports
        + '\n__all__ = ["SyncClient", "SyncInstance"]\n'
        + _face(Face(RemoteInstance, "SyncInstance"), "InstanceFace")
        + "".join(_face(each, f"Face[{each.behind.__name__}]") for each in PARTS.values())
        + _OPERATIONS_FACE
        + "".join(f"    {each}\n" for each in _operations_of())
        + _face(Face(Client, "SyncClient"), "ClientFace", _SYNC_CLIENT + parts)
    )


_SYNC_IMPORTS = """from __future__ import annotations

from collections.abc import Sequence

from tenuto.client.blocking import (
    ClientFace, Face, InstanceFace, giving, giving_many, iterating, waited
)
from tenuto.client.client import Client
from tenuto.client.connection import NEXT_AFTER, PATIENCE
from tenuto.client.instance import RemoteInstance
from tenuto.client.operations import Operations
"""

_OPERATIONS_FACE = '''

class SyncOperations(Face[Operations]):
    """Every operation of the API, by its name there."""

'''

_SYNC_CLIENT = """
    def __init__(
        self,
        url: str | Sequence[str],
        key: str | None = None,
        *,
        tenant: str | None = None,
        patience: float = PATIENCE,
        next_after: float = NEXT_AFTER,
    ) -> None:
        client = Client(url, key, tenant=tenant, patience=patience, next_after=next_after)
        super().__init__(client, SyncInstance)
        self.operations = SyncOperations(self._loop, client.operations)
        \"\"\"Every operation of the API, by its name there.\"\"\"
"""


def _face(face: Face, base: str, head: str = "") -> str:
    says = _first_line(face.behind)
    if face.behind is Client:
        says = "`Client` for programs without an event loop: `with SyncClient(url) as client:`."
    lines = [f"    {line}" for line in methods_of(face.behind)]
    return f'\n\nclass {face.name}({base}):\n    """{says}"""\n{head}\n' + "\n".join(lines) + "\n"


def _operations_of() -> Iterator[str]:
    """A line for each operation; a socket has none."""
    for each in OPERATIONS:
        if each.method != "WEBSOCKET":
            wrapped = "iterating" if each.response_media == "text/event-stream" else "waited"
            yield f"{each.name} = {wrapped}(Operations.{each.name})"


def methods_of(behind: type) -> Iterator[str]:
    """A line for each method of a class of the client that is waited for."""
    for name, method in inspect.getmembers(behind, inspect.isfunction):
        if name.startswith("_") or name == "close":
            continue
        result = str(inspect.signature(method).return_annotation)
        wrapped = "waited"
        if result.startswith(("AsyncGenerator", "AsyncIterator")):
            wrapped = "iterating"
        elif "RemoteInstance | TenutoError" in result:
            wrapped = "giving_many"
        elif result == RemoteInstance.__name__:
            if not inspect.iscoroutinefunction(method):
                continue
            wrapped = "giving"
        elif not inspect.iscoroutinefunction(method):
            continue
        yield f"{name} = {wrapped}({behind.__name__}.{name})"


def _first_line(behind: type) -> str:
    return (inspect.getdoc(behind) or "").partition("\n")[0]


def _formatted(source: str) -> str:
    for arguments in (["check", "--fix", "--quiet", "--select", "I,F401"], ["format"]):
        command = [sys.executable, "-m", "ruff", *arguments, "--stdin-filename", "src/made.py", "-"]
        done = subprocess.run(command, input=source, capture_output=True, text=True, check=True)
        source = done.stdout
    return source


if __name__ == "__main__":
    (CLIENT / "operations.py").write_text(operations_module(), encoding="utf-8")
    (CLIENT / "sync.py").write_text(sync_module(), encoding="utf-8")

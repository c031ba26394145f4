"""The policies of tasks, one immutable value for each tenant, at hand for every decision.

What a step says for itself comes first, then what its tenant has declared of its task, then what
the function behind it says; that of a worker is registered with the declaration. A declaration that
changes makes another value, for whatever is decided after this process has learned of it: at once
where it was made, elsewhere with the next heartbeat.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import reduce
from operator import xor
from typing import Generic, NamedTuple, Protocol, TypeVar
from weakref import WeakValueDictionary

import msgspec
from msgspec.structs import replace

from tenuto.definition import compile_definition
from tenuto.definition.lone_task import workflow_of
from tenuto.definition.task_values import InputCheck, OutputCheck, check_of_code
from tenuto.model.durations import epoch_ms
from tenuto.model.errors import TenutoError
from tenuto.model.graph import Task
from tenuto.model.json import Object
from tenuto.model.policy import NO_POLICY, Check, Policies, TaskPolicy
from tenuto.model.task_definition import NO_LIMITS, TaskDefinition, TaskLimits
from tenuto.model.working_time import BusinessDuration
from tenuto.store.parts.tasks import TaskRow, TasksMark, mark_of
from tenuto.store.protocol import Store

log = logging.getLogger("tenuto.engine")

_PAGE = 1_000
_decode = msgspec.json.Decoder(TaskDefinition).decode
Made = TypeVar("Made")


class Functions(Protocol):
    """The tasks of this process."""

    @property
    def revision(self) -> int:
        """Another number whenever a task was added."""

    def policies(self) -> Mapping[str, TaskPolicy]:
        """The policies of the functions, as they are now."""


class DeclaredTasks:
    """The declared tasks of all tenants, as this process knows them."""

    def __init__(self, store: Store, functions: Functions, *, fails_unknown: bool = False) -> None:
        """`fails_unknown`: attempts of tasks without a function fail, and wait for no worker."""
        self._store = store
        self._fails_unknown = fails_unknown
        self._functions = functions
        self._rows: dict[str, Mapping[str, TaskRow]] = {}
        """By tenant and id; a tenant's are replaced as a whole."""
        self._mark = TasksMark()
        self._revision = functions.revision
        self._undeclared = _of_functions(functions)
        """The policies of every tenant that has declared nothing."""
        self._declared: dict[str, Policies] = {}
        self._made: dict[str, _OfTenant] = {}
        """What was made of the declarations of each tenant."""
        self._sizes: dict[str, int] = {}
        """The bytes of the declarations of each tenant."""
        self._adding: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.changed: Callable[[], None] = lambda: None
        """Called when a tenant has declared other tasks."""

    @property
    def has_limits(self) -> bool:
        """Whether a task of any tenant has limits."""
        return bool(self.of("").limited) or any(each.limited for each in self._declared.values())

    def of(self, tenant: str) -> Policies:
        """The policies of a tenant's tasks, as they are now."""
        if self._functions.revision != self._revision:
            self._read_functions()
        return self._declared.get(tenant, self._undeclared)

    def row(self, tenant: str, id: str) -> TaskRow | None:
        """A declared task, as this process knows it."""
        return self._rows.get(tenant, {}).get(id)

    def input_schema(self, tenant: str, id: str) -> Object | None:
        """The input schema of a task, declared or of workers, as this process knows it."""
        row = self.row(tenant, id)
        with suppress(msgspec.MsgspecError):
            return None if row is None else with_registered(_decode(row.document)).input_schema
        return None

    def number_of(self, tenant: str) -> int:
        """How many tasks a tenant has declared."""
        return len(self._rows.get(tenant, ()))

    def adding_of(self, tenant: str) -> asyncio.Lock:
        """Held while what a tenant has declared is counted and added to: its quotas hold."""
        return self._adding.setdefault(tenant, asyncio.Lock())

    def bytes_of(self, tenant: str) -> int:
        """The bytes of the declarations of a tenant, with their schemas."""
        return self._sizes.get(tenant, 0)

    def used_bytes(self) -> Mapping[str, int]:
        """The same of each tenant that has declared some."""
        return self._sizes

    async def read(self) -> None:
        """Read them all."""
        rows: list[TaskRow] = []
        after = ("", "")
        while page := await self._store.tasks.every(after=after, limit=_PAGE):
            rows += page
            after = (page[-1].tenant, page[-1].id)
            if len(page) < _PAGE:
                break
        found: dict[str, dict[str, TaskRow]] = {}
        for row in rows:
            found.setdefault(row.tenant, {})[row.id] = row
        for tenant in self._rows.keys() | found.keys():
            if self._rows.get(tenant, {}) != found.get(tenant, {}):
                here = found.get(tenant, {})
                self._swap(tenant, here, reduce(xor, map(_digest, here.values()), 0))
        self._mark = mark_of(rows)

    async def refresh(self, mark: TasksMark | None) -> None:
        """Read them again where they are not those that this process knows."""
        if mark is not None and mark != self._mark:
            await self.read()

    def put(self, row: TaskRow) -> None:
        """This process has declared a task."""
        rows = self._rows.get(row.tenant, {})
        changed = _digest(row) ^ (_digest(rows[row.id]) if row.id in rows else 0)
        digest = self._digest_of(row.tenant) ^ changed
        self._swap(row.tenant, {**rows, row.id: row}, digest, only=row.id)

    def remove(self, tenant: str, id: str) -> None:
        """This process has forgotten a task."""
        rows = self._rows.get(tenant, {})
        if id in rows:
            left = {each: rows[each] for each in rows if each != id}
            self._swap(tenant, left, self._digest_of(tenant) ^ _digest(rows[id]), only=id)

    def _digest_of(self, tenant: str) -> int:
        """The digest of all declarations of a tenant: each put or removal changes it alone."""
        declared = self._declared.get(tenant)
        return 0 if declared is None else int(declared.version, 16)

    def _swap(
        self, tenant: str, rows: Mapping[str, TaskRow], digest: int, *, only: str | None = None
    ) -> None:
        """`only`: the one that is new, other or gone; a tenant may have ten thousand."""
        if rows:
            before = self._rows.get(tenant, {})
            self._rows[tenant] = rows
            self._declared[tenant] = self._policies(tenant, rows, digest, only)
            if only is None:
                self._sizes[tenant] = sum(map(_size, rows.values()))
            else:
                grown = _size(rows.get(only)) - _size(before.get(only))
                self._sizes[tenant] = self.bytes_of(tenant) + grown
        else:
            self._rows.pop(tenant, None)
            self._sizes.pop(tenant, None)
            self._made.pop(tenant, None)
            self._declared.pop(tenant, None)
        self.changed()

    def _policies(
        self, tenant: str, rows: Mapping[str, TaskRow], digest: int, only: str | None
    ) -> Policies:
        functions = self._undeclared
        made = self._made.setdefault(tenant, _OfTenant(_OfRows(_limits), _OfRows(_policy)))
        before = self._declared.get(tenant)
        if only is None or before is None:
            limited, ids = dict(functions.limited), list(rows)
        else:
            limited, ids = dict(before.limited), [only]
        made.limits.forget(rows, only)
        made.policies.forget(rows, only)
        for id in ids:
            limits = functions.limited.get(id, NO_LIMITS)
            if id in rows and (id in functions.tasks or not self._fails_unknown):
                limits = made.limits.of(rows[id]).over(limits)
            if limits:
                limited[id] = limits
            else:
                limited.pop(id, None)
        return Policies(
            tasks=_Declared(rows, functions.tasks, made.policies),
            limited=limited,
            version=f"{digest:012x}",
        )

    def _read_functions(self) -> None:
        self._revision = self._functions.revision
        self._undeclared = _of_functions(self._functions)
        for tenant, rows in self._rows.items():
            digest = self._digest_of(tenant)
            self._declared[tenant] = self._policies(tenant, rows, digest, None)


def _size(row: TaskRow | None) -> int:
    return 0 if row is None else len(row.document)


def tag_of(row: TaskRow) -> str:
    """A mark of one version of a declaration, also of one made anew under its id."""
    content = b"%d %s" % (epoch_ms(row.created_at), row.document)
    return f"{row.version}-{hashlib.sha256(content).hexdigest()[:12]}"


def _digest(row: TaskRow) -> int:
    tag = f"{row.id} {tag_of(row)}".encode()
    return int.from_bytes(hashlib.sha256(tag).digest()[:6])


def _of_functions(functions: Functions) -> Policies:
    tasks = functions.policies()
    limited = {id: each.limits for id, each in tasks.items() if each.limits is not None}
    return Policies(tasks=tasks, limited=limited)


class _OfRows(Generic[Made]):
    """What was made of declarations: only of those in force, since each may have a large schema."""

    def __init__(self, make: Callable[[TaskRow], Made]) -> None:
        self._make = make
        self._made: dict[str, tuple[TaskRow, Made]] = {}

    def forget(self, rows: Mapping[str, TaskRow], only: str | None) -> None:
        """Others than these rows are in force; `only`: but for one it is those of before."""
        for id in list(self._made) if only is None else [only]:
            if id in self._made and self._made[id][0] != rows.get(id):
                del self._made[id]

    def of(self, row: TaskRow) -> Made:
        """What is made of a declaration, once as long as it is in force."""
        known = self._made.get(row.id)
        if known is None or known[0] != row:
            known = self._made[row.id] = (row, self._make(row))
        return known[1]


class _OfTenant(NamedTuple):
    """What was made of the declarations of a tenant."""

    limits: _OfRows[TaskLimits]
    policies: _OfRows[TaskPolicy]


class _Declared(Mapping[str, TaskPolicy]):
    """Declarations before functions; a declaration is compiled when it is first asked for."""

    def __init__(
        self,
        rows: Mapping[str, TaskRow],
        functions: Mapping[str, TaskPolicy],
        compiled: _OfRows[TaskPolicy],
    ) -> None:
        self._rows = rows
        self._compiled = compiled
        self._functions = functions
        self._found: dict[str, TaskPolicy] = {}

    def __getitem__(self, task_id: str) -> TaskPolicy:
        found = self._found.get(task_id)
        if found is None:
            row = self._rows.get(task_id)
            if row is None:
                return self._functions[task_id]
            found = _merged(self._compiled.of(row), self._functions.get(task_id, NO_POLICY))
            self._found[task_id] = found
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows.keys() | self._functions.keys())

    def __len__(self) -> int:
        return len(self._rows.keys() | self._functions.keys())


def _merged(declared: TaskPolicy, of_function: TaskPolicy) -> TaskPolicy:
    return replace(
        declared,
        retry=declared.retry or of_function.retry,
        timeout=declared.timeout or of_function.timeout,
        heartbeat_timeout=declared.heartbeat_timeout or of_function.heartbeat_timeout,
        limits=(declared.limits or NO_LIMITS).over(of_function.limits or NO_LIMITS) or None,
    )


def _limits(row: TaskRow) -> TaskLimits:
    with suppress(msgspec.MsgspecError):
        return limits_of(_decode(row.document))
    return NO_LIMITS


def limits_of(task: TaskDefinition) -> TaskLimits:
    """The limits of a declared task, with those in the code of workers."""
    code = task.registered[0].limits if task.registered else None
    return task.limits.over(code or NO_LIMITS)


def _policy(row: TaskRow) -> TaskPolicy:
    version = tag_of(row)
    try:
        task = _decode(row.document)
        [node] = compile_definition(workflow_of(with_registered(task)), is_saved=True).graph.nodes
    except (msgspec.MsgspecError, TenutoError) as error:
        log.warning("task=%s: its declaration cannot be read: %s", row.id, error)
        return TaskPolicy(version=version)
    assert isinstance(node.config, Task)
    assert not isinstance(node.timeout, BusinessDuration)  # a declaration names no calendar there
    return TaskPolicy(
        retry=node.retry,
        timeout=node.timeout,
        heartbeat_timeout=node.config.heartbeat_timeout,
        check_input=_input_check(task),
        check_output=None if task.output_schema is None else OutputCheck(task.output_schema),
        limits=limits_of(task) or None,
        version=version,
    )


def _input_check(task: TaskDefinition) -> Check | None:
    """The check by the declaration, else by the code of workers."""
    if task.input_schema is not None:
        return InputCheck(task.input_schema)
    return check_of_code(with_registered(task).input_schema)


def with_registered(task: TaskDefinition) -> TaskDefinition:
    """A declaration, with what the newest code of workers sets where it sets nothing."""
    if not task.registered:
        return task
    code = task.registered[0]
    return replace(
        task,
        retry=code.retry if task.retry is None else task.retry,
        timeout=code.timeout if task.timeout is None else task.timeout,
        heartbeat_timeout=code.heartbeat_timeout
        if task.heartbeat_timeout is None
        else task.heartbeat_timeout,
        input_schema=code.input_schema if task.input_schema is None else task.input_schema,
        limits=limits_of(task),
    )

"""`javascript`, `http` and `query`: steps whose work Tenuto does itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import EllipsisType
from typing import Any, Literal, Self

from msgspec.structs import replace

from tenuto.python_form.json_values import Code
from tenuto.python_form.step_options import StepOptions
from tenuto.tasks.retry import Length, Retry
from tenuto.tasks.step_call import set_ones


class BuiltInStep(StepOptions):
    """A step whose work Tenuto does itself; its options stand before the call, as for tasks."""

    def options(  # noqa: PLR0913 - one for each thing that can be said
        self,
        *,
        retry: Retry | None = None,
        timeout: Length | None = None,
        calendar: str | None = None,
        sla: Mapping[str, str] | None = None,
        mutex: object = None,
        when: object = None,
        cancels: object = None,
        completes: object = None,
        fail_workflow: bool = False,
        title: str | None = None,
        description: str | None = None,
    ) -> Self:
        """Set options of the step; they are those of a task."""
        given = {
            "retry": retry,
            "timeout": timeout,
            "calendar": calendar,
            "sla": sla,
            "mutex": mutex,
            "when": when,
            "cancels": cancels,
            "completes": completes,
            "fail_workflow": fail_workflow or None,
            "title": title,
            "description": description,
        }
        settings: Mapping[str, object] = {**self._said.settings, **set_ones(given)}
        return self._with(replace(self._said, settings=settings))

    def _step(self, kind: str, base: str, about: str, config: dict[str, object]) -> Any:  # noqa: ANN401 - of no known type
        trace = self._used(self._word)
        given = {
            name: value if isinstance(value, Code) else trace.traceable(value, f"`{name}`")
            for name, value in config.items()
        }
        step = trace.record(kind, base, given, has_output=True)
        trace.prepare(step, self._said)
        return trace.value_of(step, about)


class JavaScriptStep(BuiltInStep):
    """Runs JavaScript code in a sandbox: `javascript("return input.price * 2", input=order)`."""

    _word = "javascript"

    def __call__(
        self,
        code: str,
        /,
        *,
        input: object = ...,
        memory_limit: int | None = None,
        allow_hosts: Sequence[str] = (),
    ) -> Any:  # noqa: ANN401 - what the code returns
        """The result of code, the body of an async function of `(ctx, input, steps)`.

        Without `input` it gets that of the workflow. It begins after the steps that it names as
        `ctx.NAME` and `steps.NAME`. `memory_limit` is in megabytes; `fetch` may call the hosts in
        `allow_hosts`. An attempt may take 30 seconds, unless `options(timeout=…)` says more.
        """
        config: dict[str, object] = {"code": Code(code)}
        if not isinstance(input, EllipsisType):
            config["input"] = input
        if memory_limit is not None:
            config["memoryLimit"] = memory_limit
        if allow_hosts:
            config["allowHosts"] = list(allow_hosts)
        return self._step("javascript", "javascript", "the result of JavaScript code", config)


class HttpStep(BuiltInStep):
    """Sends a request: `http("https://api.example.org/orders", method="POST", body=order)`."""

    _word = "http"

    def __call__(  # noqa: PLR0913 - one for each field of a request
        self,
        url: object,
        /,
        *,
        method: object = "GET",
        headers: object = None,
        query: object = None,
        body: object = None,
        body_type: Literal["json", "form", "text"] | None = None,
        auth: Mapping[str, object] | None = None,
        success_codes: Sequence[int] = (),
        response_type: Literal["json", "text", "none"] | None = None,
        max_bytes: int | None = None,
        retry_on: Sequence[int] | None = None,
    ) -> Any:  # noqa: ANN401 - what the service answers
        """The response to a request: `{status, headers, body}`.

        Statuses other than `success_codes` (200 to 299) are failures. `auth` is
        `{"type": "bearer", "value": "{{secrets.TOKEN}}"}`, or of the type `basic` or `header`.
        """
        given = {
            "method": None if isinstance(method, str) and method == "GET" else method,
            "headers": headers,
            "query": query,
            "body": body,
            "bodyType": body_type,
            "auth": None if auth is None else dict(auth),
            "successCodes": list(success_codes) or None,
            "responseType": response_type,
            "maxBytes": max_bytes,
            "retryOn": None if retry_on is None else list(retry_on),
        }
        config: dict[str, object] = {"url": url, **set_ones(given)}
        return self._step("http", "http", "the response to a request", config)


class QueryStep(BuiltInStep):
    """Runs a stored query: `query("stock", sku=order["sku"])`."""

    _word = "query"

    def __call__(self, id: str, args: object = None, /, **named: object) -> Any:  # noqa: ANN401 - its rows
        """The rows of a stored query, each an object; the arguments are bound as parameters.

        They are given by name, or all together as one object.
        """
        config: dict[str, object] = {"dataQueryID": id}
        if args is not None:
            config["args"] = args
        elif named:
            config["args"] = named
        return self._step("dataQuery", id, f"the rows of query `{id}`", config)


javascript = JavaScriptStep()
"""Runs JavaScript code as a step."""
http = HttpStep()
"""Sends a request as a step."""
query = QueryStep()
"""Runs a stored query as a step."""

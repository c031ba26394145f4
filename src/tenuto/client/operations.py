"""Every operation of the API as a typed method; made by `python -m tests.client.generate`."""

# ruff: noqa: A002, ANN401, PLR0913 - the names and fields of the API

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Literal, cast

from msgspec import UNSET

from tenuto.client.connection import Socket, part
from tenuto.client.operations_base import OperationsBase, null
from tenuto.client.shapes import BatchResult, EventAnswer, InstanceItem, StartResult, StatusAnswer
from tenuto.model.edited import EditedInput
from tenuto.model.executions import Heartbeat
from tenuto.model.json import Object
from tenuto.model.task_definition import TaskDefinition
from tenuto.workspace.values import (
    BulkOperation,
    DeclaredTask,
    DefinitionVersion,
    Page,
    SavedWorkflow,
    Subscription,
    TestRun,
    Webhook,
)


class Operations(OperationsBase):
    """Every operation of the API, by its name there."""

    async def save_workflow(self, body: Any) -> SavedWorkflow:
        """Save a definition; unchanged content makes no new version."""
        return await self._ask(SavedWorkflow, "POST", "/workflows", body=body)

    async def put_workflow(
        self, id: str, body: Any, *, if_match: str | None = None
    ) -> SavedWorkflow:
        """Save a new version of a definition; with If-Match only after the version it names."""
        return await self._ask(
            SavedWorkflow,
            "PUT",
            f"/workflows/{part(id)}",
            headers={"if-match": if_match},
            body=body,
        )

    async def validate_workflow(self, body: Any) -> Object:
        """Validate a definition without saving or running it."""
        return await self._ask(Object, "POST", "/workflows/validate", body=body, may_overlap=True)

    async def list_workflows(
        self, *, limit: int | None = None, cursor: str | None = None
    ) -> Page[Object]:
        """List definitions, each with its newest version."""
        return await self._page(Page[Object], "/workflows", limit, cursor)

    async def get_workflow(self, id: str, *, version: int | None = None) -> DefinitionVersion:
        """Get a definition: its newest version, or another."""
        return await self._ask(
            DefinitionVersion, "GET", f"/workflows/{part(id)}", query={"version": version}
        )

    async def list_versions(
        self, id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Page[Object]:
        """List the versions of a definition, newest first."""
        return await self._page(Page[Object], f"/workflows/{part(id)}/versions", limit, cursor)

    async def remove_workflow(self, id: str, *, force: bool | None = None) -> BulkOperation | None:
        """Remove a definition and its triggers; with force its instances are cancelled."""
        return await self._ask_if_accepted(
            BulkOperation, "DELETE", f"/workflows/{part(id)}", query={"force": force}
        )

    async def start_test_run(self, body: Mapping[str, Any]) -> TestRun:
        """Start a test run of an unsaved definition, with mocks; it is in no list."""
        return await self._ask(TestRun, "POST", "/workflows/test", body=body, is_repeatable=False)

    async def publish_in_test_run(self, id: str, body: Any) -> EventAnswer | list[EventAnswer]:
        """Publish an event, or up to 1,000, to one test run only."""
        return await self._ask(
            cast("type[EventAnswer | list[EventAnswer]]", EventAnswer | list[EventAnswer]),
            "POST",
            f"/workflows/test/{part(id)}/events",
            body=body,
            is_repeatable=False,
        )

    async def stop_test_run(self, id: str) -> None:
        """Stop a test run and erase it; only the audit line remains."""
        await self._do("DELETE", f"/workflows/test/{part(id)}", is_repeatable=False)

    async def start_workflow(
        self,
        id: str,
        *,
        input: Any = None,
        correlation_id: str | None = None,
        priority: int | None = None,
        deadline: datetime | None = None,
        instance_id: str | None = None,
        version: int | None = None,
        wait: float | None = None,
        key: str | None = None,
    ) -> StartResult:
        """Start an instance; a repeat with the same Idempotency-Key gets the first one."""
        return await self._ask(
            StartResult,
            "POST",
            f"/workflows/{part(id)}/start",
            query={"wait": wait},
            headers={"idempotency-key": key},
            fields={
                "input": input,
                "correlationId": correlation_id,
                "priority": priority,
                "deadline": deadline,
                "instanceId": instance_id,
                "version": version,
            },
            is_repeatable=key is not None,
            may_overlap=True,
            wait=wait or 0.0,
        )

    async def start_batch(self, *, items: Sequence[Mapping[str, Any]]) -> BatchResult:
        """Start up to 1,000 instances; a result each."""
        return await self._ask(
            BatchResult, "POST", "/instances/batch", fields={"items": items}, may_overlap=True
        )

    async def list_instances(
        self,
        *,
        status: str | None = None,
        workflow_id: str | None = None,
        correlation_id: str | None = None,
        current_step: str | None = None,
        ids: str | None = None,
        created_from: datetime | None = None,
        created_before: datetime | None = None,
        tenant: str | None = None,
        variables: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[InstanceItem]:
        """List instances, newest first."""
        return await self._ask(
            Page[InstanceItem],
            "GET",
            "/instances",
            query={
                "status": status,
                "workflowId": workflow_id,
                "correlationId": correlation_id,
                "currentStep": current_step,
                "ids": ids,
                "createdFrom": created_from,
                "createdBefore": created_before,
                "tenant": tenant,
                "variables": variables,
                "limit": limit,
                "cursor": cursor,
            },
        )

    async def get_instance(self, id: str, *, wait: float | None = None) -> Object:
        """Get an instance: its status, state, output and errors."""
        return await self._ask(
            Object, "GET", f"/instances/{part(id)}", query={"wait": wait}, wait=wait or 0.0
        )

    async def get_history(
        self,
        id: str,
        *,
        after: int | None = None,
        cursor: int | None = None,
        order: Literal["asc", "desc"] | None = None,
        limit: int | None = None,
    ) -> Page[Object]:
        """List the entries of an instance's log."""
        return await self._ask(
            Page[Object],
            "GET",
            f"/instances/{part(id)}/history",
            query={"after": after, "cursor": cursor, "order": order, "limit": limit},
        )

    async def get_context(self, id: str) -> Object:
        """Get the context of an instance's expressions."""
        return await self._ask(Object, "GET", f"/instances/{part(id)}/context")

    async def get_variable(self, id: str, path: str) -> Object:
        """Get one value of an instance's context, such as `reservation.items[0].id`."""
        return await self._ask(Object, "GET", f"/instances/{part(id)}/variables/{part(path)}")

    async def get_graph(self, id: str) -> Object:
        """Get an instance's workflow as a graph, with its progress."""
        return await self._ask(Object, "GET", f"/instances/{part(id)}/graph")

    async def get_waits(self, id: str) -> Object:
        """List the open waits of an instance, and their near misses."""
        return await self._ask(Object, "GET", f"/instances/{part(id)}/waits")

    async def get_undo_plan(self, id: str, *, reason: str | None = None) -> Object:
        """Get the compensations that cancelling an instance now would run."""
        return await self._ask(
            Object, "GET", f"/instances/{part(id)}/undo-plan", query={"reason": reason}
        )

    async def explain_instance(self, id: str) -> Object:
        """Explain why an instance does not progress, as a tree of causes."""
        return await self._ask(Object, "GET", f"/instances/{part(id)}/explain")

    async def shape_widget(
        self,
        id: str,
        *,
        widget_type: Literal["table", "chart", "number", "text"],
        widget_config: Any,
    ) -> Object:
        """Shape a value of an instance for a table, a chart, a number or a text."""
        return await self._ask(
            Object,
            "POST",
            f"/instances/{part(id)}/widget",
            fields={"widgetType": widget_type, "widgetConfig": null(widget_config)},
            may_overlap=True,
        )

    async def cancel_instance(
        self,
        id: str,
        *,
        reason: str | None = None,
        requested_by: str | None = None,
        should_compensate: bool = True,
    ) -> StatusAnswer:
        """Cancel an instance and compensate its steps; a repeat is accepted."""
        return await self._ask(
            StatusAnswer,
            "POST",
            f"/instances/{part(id)}/cancel",
            fields={
                "reason": reason,
                "requestedBy": requested_by,
                "shouldCompensate": should_compensate,
            },
        )

    async def pause_instance(
        self, id: str, *, reason: str | None = None, until: datetime | None = None
    ) -> StatusAnswer:
        """Pause an instance: nothing new is dispatched until it is resumed."""
        return await self._ask(
            StatusAnswer,
            "POST",
            f"/instances/{part(id)}/pause",
            fields={"reason": reason, "until": until},
            is_repeatable=False,
        )

    async def resume_instance(self, id: str) -> StatusAnswer:
        """Resume a paused instance."""
        return await self._ask(
            StatusAnswer, "POST", f"/instances/{part(id)}/resume", fields={}, is_repeatable=False
        )

    async def retry_instance(
        self,
        id: str,
        *,
        compensation: str | None = None,
        iteration: str = "",
        input: Any = UNSET,
        edited: EditedInput | None = None,
    ) -> StatusAnswer:
        """Retry a failed instance: its failed steps run again."""
        return await self._ask(
            StatusAnswer,
            "POST",
            f"/instances/{part(id)}/retry",
            fields={
                "compensation": compensation,
                "iteration": iteration,
                "input": null(input),
                "edited": edited,
            },
            is_repeatable=False,
        )

    async def rerun_instance(
        self,
        id: str,
        *,
        from_step: str | None = None,
        input: Any = UNSET,
        version: int | None = None,
        key: str | None = None,
    ) -> StatusAnswer:
        """Start a new instance from a step of an earlier one; outputs of earlier steps are kept."""
        return await self._ask(
            StatusAnswer,
            "POST",
            f"/instances/{part(id)}/rerun",
            headers={"idempotency-key": key},
            fields={"fromStep": from_step, "input": null(input), "version": version},
            is_repeatable=key is not None,
            may_overlap=True,
        )

    async def decide_on_step(
        self,
        id: str,
        step_id: str,
        *,
        decision: Literal["approved", "rejected"],
        form: Any = None,
        iteration: str = "",
        by: str | None = None,
        roles: Sequence[str] | None = None,
    ) -> StatusAnswer:
        """Decide on an approval."""
        return await self._ask(
            StatusAnswer,
            "POST",
            f"/instances/{part(id)}/steps/{part(step_id)}/decision",
            fields={
                "decision": decision,
                "form": form,
                "iteration": iteration,
                "by": by,
                "roles": roles,
            },
        )

    async def start_bulk(
        self,
        *,
        action: Literal["cancel", "pause", "resume", "retry"],
        filter: Mapping[str, Any],
        reason: str | None = None,
        should_compensate: bool = True,
        dry_run: bool = False,
        key: str | None = None,
    ) -> BulkOperation:
        """Cancel, pause, resume or retry all instances that a filter matches, with progress."""
        return await self._ask(
            BulkOperation,
            "POST",
            "/instances/bulk",
            headers={"idempotency-key": key},
            fields={
                "action": action,
                "filter": filter,
                "reason": reason,
                "shouldCompensate": should_compensate,
                "dryRun": dry_run,
            },
            is_repeatable=key is not None,
            may_overlap=True,
        )

    async def start_bulk_of_dead_letters(
        self,
        *,
        action: Literal["retry", "discard"],
        filter: Mapping[str, Any],
        dry_run: bool = False,
        key: str | None = None,
    ) -> BulkOperation:
        """Retry or discard all dead letters that a filter matches, with progress."""
        return await self._ask(
            BulkOperation,
            "POST",
            "/dead-letters/bulk",
            headers={"idempotency-key": key},
            fields={"action": action, "filter": filter, "dryRun": dry_run},
            is_repeatable=key is not None,
            may_overlap=True,
        )

    async def list_bulks(
        self, *, limit: int | None = None, cursor: str | None = None
    ) -> Page[BulkOperation]:
        """List bulk operations, newest first."""
        return await self._page(Page[BulkOperation], "/instances/bulk", limit, cursor)

    async def get_bulk(self, id: str) -> BulkOperation:
        """Get a bulk operation and its progress."""
        return await self._ask(BulkOperation, "GET", f"/instances/bulk/{part(id)}")

    async def cancel_bulk(self, id: str) -> BulkOperation:
        """Cancel a bulk operation; records that are done stay done."""
        return await self._ask(BulkOperation, "DELETE", f"/instances/bulk/{part(id)}")

    def watch_instances(self) -> AbstractAsyncContextManager[Socket]:
        """Watch instances: join and leave them, and get their live updates."""
        return self._socket("/ws", is_of_api=False)

    def stream_instance(
        self,
        id: str,
        *,
        since: int | None = None,
        until_end: bool | None = None,
        last_event_id: str | None = None,
    ) -> AsyncGenerator[str, None]:
        """Live updates of an instance, as server-sent events; their ids are seqs."""
        return self._lines(
            f"/instances/{part(id)}/stream",
            query={"since": since, "untilEnd": until_end},
            headers={"last-event-id": last_event_id},
        )

    async def publish_events(
        self, body: Any, *, dry_run: bool | None = None
    ) -> EventAnswer | list[EventAnswer]:
        """Publish an event, or up to 1,000; in Tenuto's own form or as CloudEvents."""
        return await self._ask(
            cast("type[EventAnswer | list[EventAnswer]]", EventAnswer | list[EventAnswer]),
            "POST",
            "/events",
            query={"dryRun": dry_run},
            body=body,
            may_overlap=True,
        )

    async def list_events(
        self,
        *,
        pattern: str | None = None,
        since: datetime | None = None,
        order: Literal["asc", "desc"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[Object]:
        """List events of the inbox."""
        return await self._ask(
            Page[Object],
            "GET",
            "/events",
            query={
                "pattern": pattern,
                "since": since,
                "order": order,
                "limit": limit,
                "cursor": cursor,
            },
        )

    async def get_event(self, id: str) -> Object:
        """Get an event: the instances that it woke, cancelled and started, and its near misses."""
        return await self._ask(Object, "GET", f"/events/{part(id)}")

    async def add_webhook(
        self,
        *,
        url: str,
        patterns: Sequence[str],
        secret: str | None = None,
        description: str | None = None,
    ) -> Webhook:
        """Create a webhook, which is notified of events from now on; its secret is shown this once."""  # noqa: E501 - the summary of the operation
        return await self._ask(
            Webhook,
            "POST",
            "/webhooks",
            fields={"url": url, "patterns": patterns, "secret": secret, "description": description},
            is_repeatable=False,
        )

    async def list_webhooks(
        self, *, limit: int | None = None, cursor: str | None = None
    ) -> Page[Webhook]:
        """List webhooks, with the state of their deliveries."""
        return await self._page(Page[Webhook], "/webhooks", limit, cursor)

    async def get_webhook(self, id: str) -> Webhook:
        """Get a webhook, with the state of its deliveries."""
        return await self._ask(Webhook, "GET", f"/webhooks/{part(id)}")

    async def put_webhook(
        self,
        id: str,
        *,
        url: str,
        patterns: Sequence[str],
        secret: str | None = None,
        description: str | None = None,
    ) -> Webhook:
        """Change the address or events of a webhook; without a secret the secret stays."""
        return await self._ask(
            Webhook,
            "PUT",
            f"/webhooks/{part(id)}",
            fields={"url": url, "patterns": patterns, "secret": secret, "description": description},
        )

    async def remove_webhook(self, id: str) -> None:
        """Remove a webhook; its undelivered notifications are dropped."""
        await self._do("DELETE", f"/webhooks/{part(id)}", is_repeatable=False)

    async def enable_webhook(self, id: str) -> Webhook:
        """Enable a webhook that was disabled after failing for days."""
        return await self._ask(Webhook, "POST", f"/webhooks/{part(id)}/enable")

    async def add_subscription(
        self,
        *,
        subscriber_id: str,
        callback_url: str,
        patterns: Sequence[str],
        filter: str | None = None,
        correlation_id: str | None = None,
        expiration_time: datetime | None = None,
        secret: str | None = None,
    ) -> Subscription:
        """Create a subscription, which notifies an address of events until it expires."""
        return await self._ask(
            Subscription,
            "POST",
            "/subscriptions",
            fields={
                "subscriberId": subscriber_id,
                "callbackUrl": callback_url,
                "patterns": patterns,
                "filter": filter,
                "correlationId": correlation_id,
                "expirationTime": expiration_time,
                "secret": secret,
            },
            is_repeatable=False,
        )

    async def list_subscriptions(
        self, *, limit: int | None = None, cursor: str | None = None
    ) -> Page[Subscription]:
        """List subscriptions, with the state of their deliveries."""
        return await self._page(Page[Subscription], "/subscriptions", limit, cursor)

    async def get_subscription(self, id: str) -> Subscription:
        """Get a subscription, with the state of its deliveries."""
        return await self._ask(Subscription, "GET", f"/subscriptions/{part(id)}")

    async def remove_subscription(self, id: str) -> None:
        """Remove a subscription; its undelivered notifications are dropped."""
        await self._do("DELETE", f"/subscriptions/{part(id)}", is_repeatable=False)

    async def enable_subscription(self, id: str) -> Subscription:
        """Enable a subscription that was disabled after failing for days."""
        return await self._ask(Subscription, "POST", f"/subscriptions/{part(id)}/enable")

    async def add_task(self, body: TaskDefinition) -> DeclaredTask:
        """Declare a task that workers claim, or that is pushed to an address."""
        return await self._ask(DeclaredTask, "POST", "/tasks", body=body, is_repeatable=False)

    async def list_tasks(
        self, *, limit: int | None = None, cursor: str | None = None
    ) -> Page[DeclaredTask]:
        """List declared tasks."""
        return await self._page(Page[DeclaredTask], "/tasks", limit, cursor)

    async def get_task(self, task_id: str) -> DeclaredTask:
        """Get a declared task, with the state of the address that it is pushed to."""
        return await self._ask(DeclaredTask, "GET", f"/tasks/{part(task_id)}")

    async def put_task(
        self, task_id: str, body: TaskDefinition, *, if_match: str | None = None
    ) -> DeclaredTask:
        """Declare or change a task; with If-Match only the version that it names."""
        return await self._ask(
            DeclaredTask,
            "PUT",
            f"/tasks/{part(task_id)}",
            headers={"if-match": if_match},
            body=body,
        )

    async def remove_task(self, task_id: str) -> None:
        """Remove the declaration of a task; its waiting attempts stay, for workers."""
        await self._do("DELETE", f"/tasks/{part(task_id)}")

    async def execute_task(
        self,
        task_id: str,
        *,
        input: Any = None,
        correlation_id: str | None = None,
        priority: int | None = None,
        deadline: datetime | None = None,
        instance_id: str | None = None,
        version: int | None = None,
        wait: float | None = None,
        key: str | None = None,
    ) -> StartResult:
        """Run a task on its own: an instance of a workflow of one step."""
        return await self._ask(
            StartResult,
            "POST",
            f"/tasks/{part(task_id)}/execute",
            query={"wait": wait},
            headers={"idempotency-key": key},
            fields={
                "input": input,
                "correlationId": correlation_id,
                "priority": priority,
                "deadline": deadline,
                "instanceId": instance_id,
                "version": version,
            },
            is_repeatable=key is not None,
            may_overlap=True,
            wait=wait or 0.0,
        )

    async def claim_executions(
        self,
        *,
        worker_id: str,
        task_ids: Sequence[str] | None = None,
        max: int = 1,
        wait: float = 0,
        lease: float = 30,
        request_id: str | None = None,
        previous_outputs: bool = False,
    ) -> Object:
        """Claim tasks; waits for the first, as long as the claim says."""
        return await self._ask(
            Object,
            "POST",
            "/executions/claim",
            fields={
                "workerId": worker_id,
                "taskIds": task_ids,
                "max": max,
                "wait": wait,
                "lease": lease,
                "requestId": request_id,
                "previousOutputs": previous_outputs,
            },
            is_repeatable=False,
            wait=wait,
        )

    async def report_executions(self, *, results: Sequence[Mapping[str, Any]]) -> list[Object]:
        """Report the outcomes of up to 1,000 attempts; a result each, in their order."""
        return await self._ask(
            list[Object], "POST", "/executions/report", fields={"results": results}
        )

    async def release_executions(self, *, tasks: Sequence[Mapping[str, Any]]) -> list[Object]:
        """Release up to 1,000 tasks, which counts neither as a failure nor as a loss."""
        return await self._ask(list[Object], "POST", "/executions/release", fields={"tasks": tasks})

    async def heartbeat_execution(
        self, execution_id: str, *, lease_token: str, details: Any = None
    ) -> Heartbeat:
        """Send a heartbeat of a task, which extends its lease."""
        return await self._ask(
            Heartbeat,
            "POST",
            f"/executions/{part(execution_id)}/heartbeat",
            fields={"leaseToken": lease_token, "details": details},
        )

    async def complete_execution(
        self,
        execution_id: str,
        *,
        lease_token: str,
        output: Any = None,
        next_handle: str | None = None,
    ) -> Object:
        """Report that an attempt has succeeded; a repeated report changes nothing."""
        return await self._ask(
            Object,
            "POST",
            f"/executions/{part(execution_id)}/complete",
            fields={"leaseToken": lease_token, "output": output, "nextHandle": next_handle},
        )

    async def fail_execution(
        self, execution_id: str, *, lease_token: str, error: Mapping[str, Any]
    ) -> Object:
        """Report that an attempt has failed; code CANCELLED confirms a cancellation."""
        return await self._ask(
            Object,
            "POST",
            f"/executions/{part(execution_id)}/fail",
            fields={"leaseToken": lease_token, "error": error},
        )

    async def task_callback(
        self,
        *,
        status: Literal["COMPLETED", "FAILED", "TIMEOUT"],
        token: str,
        output: Any = UNSET,
        next_handle: str | None = None,
        error: Mapping[str, Any] | None = None,
        instance_id: str | None = None,
        step_id: str | None = None,
        execution_id: str | None = None,
        execution_time: float | None = None,
    ) -> None:
        """Report the outcome of a pushed task that was accepted with 202."""
        await self._do(
            "POST",
            "/internal/tasks/callback",
            query={"token": token},
            fields={
                "status": status,
                "output": null(output),
                "nextHandle": next_handle,
                "error": error,
                "instanceId": instance_id,
                "stepId": step_id,
                "executionId": execution_id,
                "executionTime": execution_time,
            },
            is_repeatable=False,
        )

    async def add_event_callback(
        self,
        *,
        subscriber_id: str,
        patterns: Sequence[str],
        expiration_time: datetime | None = None,
        instance_id: str | None = None,
    ) -> Object:
        """Create a URL that an outside service may post events to, until it expires."""
        return await self._ask(
            Object,
            "POST",
            "/events/callbacks",
            fields={
                "subscriberId": subscriber_id,
                "patterns": patterns,
                "expirationTime": expiration_time,
                "instanceId": instance_id,
            },
            is_repeatable=False,
        )

    async def event_callback(
        self,
        *,
        event_id: str,
        pattern: str,
        subscriber_id: str,
        token: str,
        timestamp: datetime | None = None,
        payload: Any = None,
        correlation_id: str | None = None,
        subscription_id: str | None = None,
    ) -> None:
        """Hand in an event of an outside service."""
        await self._do(
            "POST",
            "/internal/events/callback",
            query={"token": token},
            fields={
                "eventId": event_id,
                "pattern": pattern,
                "timestamp": timestamp,
                "payload": payload,
                "correlationId": correlation_id,
                "subscriberId": subscriber_id,
                "subscriptionId": subscription_id,
            },
            is_repeatable=False,
        )

    async def list_dead_letters(
        self, *, limit: int | None = None, cursor: str | None = None
    ) -> Page[Object]:
        """List dead letters, newest first."""
        return await self._page(Page[Object], "/dead-letters", limit, cursor)

    async def get_dead_letter(self, id: str) -> Object:
        """Get a dead letter, and the entries that led to it."""
        return await self._ask(Object, "GET", f"/dead-letters/{part(id)}")

    async def retry_dead_letter(self, id: str, *, input: Any = UNSET) -> StatusAnswer:
        """Retry a dead letter: the instance goes on where it failed."""
        return await self._ask(
            StatusAnswer,
            "POST",
            f"/dead-letters/{part(id)}/retry",
            fields={"input": null(input)},
            is_repeatable=False,
        )

    async def remove_dead_letter(self, id: str) -> None:
        """Discard a dead letter; the instance stays as it is."""
        await self._do("DELETE", f"/dead-letters/{part(id)}", is_repeatable=False)

    async def discard_dead_letter(self, id: str) -> None:
        """Discard a dead letter; the instance stays as it is."""
        await self._do("POST", f"/dead-letters/{part(id)}/discard", fields={}, is_repeatable=False)

    async def create_key(
        self,
        *,
        name: str,
        role: str,
        scopes: Sequence[str] | None = None,
        expires_at: datetime | None = None,
        tenant: str | None = None,
    ) -> Object:
        """Create an API key, which is shown this once; from then on a credential is needed."""
        return await self._ask(
            Object,
            "POST",
            "/keys",
            fields={
                "name": name,
                "role": role,
                "scopes": scopes,
                "expiresAt": expires_at,
                "tenant": tenant,
            },
            is_repeatable=False,
        )

    async def list_keys(
        self, *, limit: int | None = None, cursor: str | None = None
    ) -> Page[Object]:
        """List the keys of the tenant, oldest first, including expired and revoked ones."""
        return await self._page(Page[Object], "/keys", limit, cursor)

    async def revoke_key(self, id: str) -> None:
        """Revoke a key, in every process within a second."""
        await self._do("DELETE", f"/keys/{part(id)}")

    async def list_audit(
        self,
        *,
        actor: str | None = None,
        action: str | None = None,
        target: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[Object]:
        """List changes and refusals, newest first."""
        return await self._ask(
            Page[Object],
            "GET",
            "/audit",
            query={
                "actor": actor,
                "action": action,
                "target": target,
                "since": since,
                "until": until,
                "limit": limit,
                "cursor": cursor,
            },
        )

    async def export_audit(self) -> str:
        """Export the whole log, oldest first, as lines of JSON with their hashes."""
        return await self._text("GET", "/audit/export")

    async def verify_audit(self, *, known: str | None = None) -> Object:
        """Verify the hash chain of the log, and that a noted line is unchanged."""
        return await self._ask(Object, "GET", "/audit/verify", query={"known": known})

    async def get_stats(self, *, hours: int | None = None) -> Object:
        """Get statistics: instances by status and workflow, the last hour, queue lengths."""
        return await self._ask(Object, "GET", "/stats", query={"hours": hours})

    async def health(self) -> Object:
        """Whether the process is alive."""
        return await self._ask(Object, "GET", "/health", is_of_api=False)

    async def ready(self) -> Object:
        """Whether the service is ready: the engine runs, and its store answers."""
        return await self._ask(Object, "GET", "/health/ready", is_of_api=False)

    async def metrics(self) -> str:
        """The metrics of this process, in the text format of Prometheus."""
        return await self._text("GET", "/metrics", is_of_api=False)

    async def openapi(self) -> Object:
        """The OpenAPI 3.1 document of the service."""
        return await self._ask(Object, "GET", "/openapi.json", is_of_api=False)

    async def docs(self) -> str:
        """A page with all operations."""
        return await self._text("GET", "/docs", is_of_api=False)

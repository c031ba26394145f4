"""The client for programs without an event loop; made by `python -m tests.client.generate`."""

from __future__ import annotations

from collections.abc import Sequence

from tenuto.client.audit import RemoteAudit
from tenuto.client.blocking import (
    ClientFace,
    Face,
    InstanceFace,
    giving,
    giving_many,
    iterating,
    waited,
)
from tenuto.client.bulk import RemoteBulk
from tenuto.client.client import Client
from tenuto.client.connection import NEXT_AFTER, PATIENCE
from tenuto.client.dead_letters import RemoteDeadLetters
from tenuto.client.instance import RemoteInstance
from tenuto.client.keys import RemoteKeys
from tenuto.client.listeners import RemoteSubscriptions, RemoteWebhooks
from tenuto.client.operations import Operations
from tenuto.client.task_definitions import RemoteTaskDefinitions
from tenuto.client.test_runs import RemoteTestRuns

__all__ = ["SyncClient", "SyncInstance"]


class SyncInstance(InstanceFace):
    """One instance, by its id, with the methods of `InstanceRef`."""

    cancel = waited(RemoteInstance.cancel)
    changes = iterating(RemoteInstance.changes)
    context = waited(RemoteInstance.context)
    decide = waited(RemoteInstance.decide)
    details = waited(RemoteInstance.details)
    explain = waited(RemoteInstance.explain)
    history = waited(RemoteInstance.history)
    pause = waited(RemoteInstance.pause)
    rerun = giving(RemoteInstance.rerun)
    result = waited(RemoteInstance.result)
    resume = waited(RemoteInstance.resume)
    retry = waited(RemoteInstance.retry)
    retry_compensation = waited(RemoteInstance.retry_compensation)
    state = waited(RemoteInstance.state)
    status = waited(RemoteInstance.status)
    undo_plan = waited(RemoteInstance.undo_plan)
    waits = waited(RemoteInstance.waits)
    widget = waited(RemoteInstance.widget)


class SyncWebhooks(Face[RemoteWebhooks]):
    """Addresses that are notified of events."""

    add = waited(RemoteWebhooks.add)
    change = waited(RemoteWebhooks.change)
    enable = waited(RemoteWebhooks.enable)
    get = waited(RemoteWebhooks.get)
    list = waited(RemoteWebhooks.list)
    remove = waited(RemoteWebhooks.remove)


class SyncSubscriptions(Face[RemoteSubscriptions]):
    """Addresses that are notified of events until they expire."""

    add = waited(RemoteSubscriptions.add)
    enable = waited(RemoteSubscriptions.enable)
    get = waited(RemoteSubscriptions.get)
    list = waited(RemoteSubscriptions.list)
    remove = waited(RemoteSubscriptions.remove)


class SyncDeadLetters(Face[RemoteDeadLetters]):
    """Tasks whose failure nothing handled, poison tasks, and late results."""

    discard = waited(RemoteDeadLetters.discard)
    get = waited(RemoteDeadLetters.get)
    list = waited(RemoteDeadLetters.list)
    retry = waited(RemoteDeadLetters.retry)


class SyncTaskDefinitions(Face[RemoteTaskDefinitions]):
    """Tasks that the tenant has declared."""

    add = waited(RemoteTaskDefinitions.add)
    execute = giving(RemoteTaskDefinitions.execute)
    get = waited(RemoteTaskDefinitions.get)
    list = waited(RemoteTaskDefinitions.list)
    put = waited(RemoteTaskDefinitions.put)
    remove = waited(RemoteTaskDefinitions.remove)


class SyncBulk(Face[RemoteBulk]):
    """Actions over many instances or dead letters: durable, with progress."""

    cancel = waited(RemoteBulk.cancel)
    get = waited(RemoteBulk.get)
    list = waited(RemoteBulk.list)
    start = waited(RemoteBulk.start)
    start_on_dead_letters = waited(RemoteBulk.start_on_dead_letters)


class SyncTestRuns(Face[RemoteTestRuns]):
    """Runs of definitions that are not saved; no list shows them."""

    publish = waited(RemoteTestRuns.publish)
    start = waited(RemoteTestRuns.start)
    stop = waited(RemoteTestRuns.stop)


class SyncKeys(Face[RemoteKeys]):
    """The API keys of the tenant."""

    create = waited(RemoteKeys.create)
    list = waited(RemoteKeys.list)
    revoke = waited(RemoteKeys.revoke)


class SyncAudit(Face[RemoteAudit]):
    """The audit log of the tenant."""

    export = iterating(RemoteAudit.export)
    page = waited(RemoteAudit.page)
    verify = waited(RemoteAudit.verify)


class SyncOperations(Face[Operations]):
    """Every operation of the API, by its name there."""

    save_workflow = waited(Operations.save_workflow)
    put_workflow = waited(Operations.put_workflow)
    validate_workflow = waited(Operations.validate_workflow)
    list_workflows = waited(Operations.list_workflows)
    get_workflow = waited(Operations.get_workflow)
    list_versions = waited(Operations.list_versions)
    remove_workflow = waited(Operations.remove_workflow)
    start_test_run = waited(Operations.start_test_run)
    publish_in_test_run = waited(Operations.publish_in_test_run)
    stop_test_run = waited(Operations.stop_test_run)
    start_workflow = waited(Operations.start_workflow)
    start_batch = waited(Operations.start_batch)
    list_instances = waited(Operations.list_instances)
    get_instance = waited(Operations.get_instance)
    get_history = waited(Operations.get_history)
    get_context = waited(Operations.get_context)
    get_variable = waited(Operations.get_variable)
    get_graph = waited(Operations.get_graph)
    get_waits = waited(Operations.get_waits)
    get_undo_plan = waited(Operations.get_undo_plan)
    explain_instance = waited(Operations.explain_instance)
    shape_widget = waited(Operations.shape_widget)
    cancel_instance = waited(Operations.cancel_instance)
    pause_instance = waited(Operations.pause_instance)
    resume_instance = waited(Operations.resume_instance)
    retry_instance = waited(Operations.retry_instance)
    rerun_instance = waited(Operations.rerun_instance)
    decide_on_step = waited(Operations.decide_on_step)
    start_bulk = waited(Operations.start_bulk)
    start_bulk_of_dead_letters = waited(Operations.start_bulk_of_dead_letters)
    list_bulks = waited(Operations.list_bulks)
    get_bulk = waited(Operations.get_bulk)
    cancel_bulk = waited(Operations.cancel_bulk)
    stream_instance = iterating(Operations.stream_instance)
    publish_events = waited(Operations.publish_events)
    list_events = waited(Operations.list_events)
    get_event = waited(Operations.get_event)
    add_webhook = waited(Operations.add_webhook)
    list_webhooks = waited(Operations.list_webhooks)
    get_webhook = waited(Operations.get_webhook)
    put_webhook = waited(Operations.put_webhook)
    remove_webhook = waited(Operations.remove_webhook)
    enable_webhook = waited(Operations.enable_webhook)
    add_subscription = waited(Operations.add_subscription)
    list_subscriptions = waited(Operations.list_subscriptions)
    get_subscription = waited(Operations.get_subscription)
    remove_subscription = waited(Operations.remove_subscription)
    enable_subscription = waited(Operations.enable_subscription)
    add_task = waited(Operations.add_task)
    list_tasks = waited(Operations.list_tasks)
    get_task = waited(Operations.get_task)
    put_task = waited(Operations.put_task)
    remove_task = waited(Operations.remove_task)
    execute_task = waited(Operations.execute_task)
    claim_executions = waited(Operations.claim_executions)
    report_executions = waited(Operations.report_executions)
    release_executions = waited(Operations.release_executions)
    heartbeat_execution = waited(Operations.heartbeat_execution)
    complete_execution = waited(Operations.complete_execution)
    fail_execution = waited(Operations.fail_execution)
    task_callback = waited(Operations.task_callback)
    add_event_callback = waited(Operations.add_event_callback)
    event_callback = waited(Operations.event_callback)
    list_dead_letters = waited(Operations.list_dead_letters)
    get_dead_letter = waited(Operations.get_dead_letter)
    retry_dead_letter = waited(Operations.retry_dead_letter)
    remove_dead_letter = waited(Operations.remove_dead_letter)
    discard_dead_letter = waited(Operations.discard_dead_letter)
    create_key = waited(Operations.create_key)
    list_keys = waited(Operations.list_keys)
    revoke_key = waited(Operations.revoke_key)
    list_audit = waited(Operations.list_audit)
    export_audit = waited(Operations.export_audit)
    verify_audit = waited(Operations.verify_audit)
    get_stats = waited(Operations.get_stats)
    health = waited(Operations.health)
    ready = waited(Operations.ready)
    metrics = waited(Operations.metrics)
    openapi = waited(Operations.openapi)
    docs = waited(Operations.docs)


class SyncClient(ClientFace):
    """`Client` for programs without an event loop: `with SyncClient(url) as client:`."""

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
        """Every operation of the API, by its name there."""
        self.webhooks = SyncWebhooks(self._loop, client.webhooks)
        """Addresses that are notified of events."""
        self.subscriptions = SyncSubscriptions(self._loop, client.subscriptions)
        """Addresses that are notified of events until they expire."""
        self.dead_letters = SyncDeadLetters(self._loop, client.dead_letters)
        """Tasks whose failure nothing handled, poison tasks, and late results."""
        self.task_definitions = SyncTaskDefinitions(self._loop, client.task_definitions)
        """Tasks that the tenant has declared."""
        self.bulk = SyncBulk(self._loop, client.bulk)
        """Actions over many instances or dead letters: durable, with progress."""
        self.test_runs = SyncTestRuns(self._loop, client.test_runs)
        """Runs of definitions that are not saved; no list shows them."""
        self.keys = SyncKeys(self._loop, client.keys)
        """The API keys of the tenant."""
        self.audit = SyncAudit(self._loop, client.audit)
        """The audit log of the tenant."""

    definition = waited(Client.definition)
    definition_ids = waited(Client.definition_ids)
    deploy = waited(Client.deploy)
    event = waited(Client.event)
    events = waited(Client.events)
    instance = giving(Client.instance)
    instances = waited(Client.instances)
    page = waited(Client.page)
    publish = waited(Client.publish)
    publish_all = waited(Client.publish_all)
    remove_definition = waited(Client.remove_definition)
    save = waited(Client.save)
    start = giving(Client.start)
    start_many = giving_many(Client.start_many)
    stats = waited(Client.stats)

"""The catalogue of TEN-codes: what each refusal means and what to do about it.

Codes are for ever: a fault keeps its number, a number is never used for another fault.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from tenuto.model.failure import (
    CANCELLED,
    INVALID_INPUT,
    NOT_AVAILABLE,
    TOO_LARGE,
    UNKNOWN_TASK,
    UNKNOWN_WORKFLOW,
)


class Code(Struct, frozen=True):
    """One kind of refusal."""

    title: str
    explanation: str
    advice: str
    reason: str | None = None
    """The code that the same fault has where it comes up while an instance runs."""


_DOCUMENTS = {
    "TEN-1000": Code(
        "Invalid definition",
        "The definition has problems; each is listed with its own code and place.",
        "Correct the listed problems.",
    ),
    "TEN-1001": Code(
        "Not JSON",
        "The text is not well-formed JSON, so nothing in it could be read.",
        "Correct the text at the named line and column.",
    ),
    "TEN-1002": Code(
        "Key given twice",
        "An object has the same key twice. Programs disagree on which one counts, so neither does.",
        "Keep one of the two.",
    ),
    "TEN-1003": Code(
        "Value that JSON cannot carry",
        "NaN, infinities, malformed UTF-8, the character NUL and lone surrogates cannot be stored "
        "and given back unchanged.",
        "Replace the value.",
    ),
    "TEN-1004": Code(
        "Definition too large",
        "A definition may have 20,000 nodes and 16 MB.",
        "Split it into several workflows that start each other.",
    ),
    "TEN-1005": Code(
        "Nested too deeply",
        "Objects and arrays may be nested 100 deep.",
        "Flatten the value.",
    ),
    "TEN-1006": Code(
        "Neither steps nor nodes",
        "A definition is an object that has either `steps`, or `nodes` and `edges`.",
        "Write the workflow as `steps`, or as `nodes` and `edges`.",
    ),
}

_VALUES = {
    "TEN-1010": Code(
        "Wrong type of value",
        "The place holds another type of JSON value than it needs.",
        "Write a value of the expected type.",
    ),
    "TEN-1011": Code(
        "Something is missing",
        "A field that is always needed is not there.",
        "Add the field.",
    ),
    "TEN-1012": Code(
        "Unknown field",
        "The object has a field that means nothing there; usually it is misspelled.",
        "Correct its name, or remove it.",
    ),
    "TEN-1013": Code(
        "Not one of the choices",
        "The field takes only the listed values.",
        "Choose one of the listed values.",
    ),
    "TEN-1014": Code(
        "Number out of bounds",
        "The number is smaller or larger than it can be.",
        "Choose a number within the bounds.",
    ),
    "TEN-1015": Code(
        "Not a length of time",
        "A length of time is ISO 8601 text (`PT30S`, `P3D`) or a number of milliseconds. Where it "
        "bounds an attempt, months and years have no fixed length and are refused.",
        "Write for example `PT30S`, `P3D` or 30000.",
    ),
    "TEN-1016": Code(
        "Not a timestamp",
        "A timestamp names its time zone, as in `2026-11-15T20:12:14Z`.",
        "Write for example `2026-11-15T20:12:14Z`, or a template in `{{…}}`.",
    ),
    "TEN-1017": Code(
        "Empty",
        "The text or list needs at least one character or item.",
        "Fill it in, or remove the field.",
    ),
    "TEN-1018": Code(
        "Fields that do not go together",
        "Of some fields exactly one is needed, and some mean nothing beside others.",
        "Keep the one you mean.",
    ),
    "TEN-1019": Code(
        "Said twice",
        "The same thing is given in two places or two spellings.",
        "Keep one of the two.",
    ),
}

_NAMES = {
    "TEN-1020": Code(
        "Not usable as an id",
        "Ids of nodes, steps, branches and arms are up to 64 letters, digits, `_` and `-`, and "
        "begin with a letter or `_`. The id of a definition may also hold `.` and `:` and "
        "begin with a digit, up to 128 characters.",
        "Use letters, digits, `_` and `-`, beginning with a letter.",
    ),
    "TEN-1021": Code(
        "Id used twice",
        "Two steps, nodes, branches or arms have the same id; the second one is reported.",
        "Rename one of them.",
    ),
    "TEN-1022": Code(
        "Unknown type",
        "There is no node type of this name.",
        "Use one of the listed types.",
    ),
    "TEN-1023": Code(
        "Not usable as a variable",
        "`input`, `output`, `item`, `index`, `last` and names that begin with `__` have a meaning "
        "of their own in the context.",
        "Choose another name.",
    ),
    "TEN-1024": Code(
        "Reserved handle name",
        "Branches, arms and declared handles cannot be named like a handle that already has a "
        "meaning (`default`, `error`, `timeout`, `loop`, `done`, `else`, `approved`, `rejected`, "
        "`when_1`, `onError_1`, …).",
        "Choose another id.",
    ),
    "TEN-1025": Code(
        "Too long to be looked up by",
        "The id of a task and the pattern of events have up to 255 characters, so that every store "
        "can index them.",
        "Choose a shorter one.",
    ),
}

_EXPRESSIONS = {
    "TEN-1030": Code(
        "Not an expression",
        "The text is not an expression of the documented set.",
        "Correct it at the named position.",
    ),
    "TEN-1031": Code(
        "Not a template",
        "What stands between `{{` and `}}` is not an expression of the documented set.",
        "Correct it at the named position; a literal `{{` is written `\\{{`.",
    ),
    "TEN-1032": Code(
        "Nothing of that name here",
        "`event` exists in the conditions and mappings of events, `item` and `index` inside a "
        "loop, `secrets` in the inputs of task, http, dataQuery and javascript nodes.",
        "Use what exists at this place.",
    ),
    "TEN-1033": Code(
        "Not a path",
        "A mapping's value is a path into the event's payload (`a.b[0]`) or a template in `{{…}}`.",
        "Write for example `customer.id`.",
    ),
    "TEN-1034": Code(
        "Not an event pattern",
        "A pattern is words separated by dots; in a subscription `*` stands for one word and `**` "
        "for one or more.",
        "Write for example `payment.received` or `payment.*`.",
    ),
    "TEN-1038": Code(
        "Reserved event name",
        "Events called `workflow.…` tell what becomes of workflows and come from Tenuto itself; an "
        "`emit` step cannot publish one.",
        "Choose another first word.",
    ),
    "TEN-1035": Code(
        "Condition that cannot be indexed",
        "A wait's condition without an equality between a property of the event and a value of the "
        "instance is tried for every event of the pattern and every instance that waits for it.",
        "Add a term such as `event.payload.orderId === workflow.input.orderId`.",
    ),
    "TEN-1039": Code(
        "Looks back very far",
        "A wait looks back at events when it opens. Those that are kept no longer "
        "(`Settings.inbox_retention`) it does not find; and the further it looks, the more of them "
        "it reads, each time.",
        "Look back no further than an event can be early, or keep events for longer.",
    ),
}

_FLOW = {
    "TEN-1040": Code(
        "Unknown target",
        "A transition, edge or dependency names a step that is not there.",
        "Name a step of this definition.",
    ),
    "TEN-1041": Code(
        "Unreachable",
        "No path leads from the start to this step, so it would never run.",
        "Lead a transition to it, or remove it.",
    ),
    "TEN-1042": Code(
        "Cycle",
        "The steps lead back to where they began. A graph is acyclic; repetition is a loop node.",
        "Remove one of the transitions of the cycle, or use a loop.",
    ),
    "TEN-1043": Code(
        "Edge given twice",
        "The same handle leads to the same target twice.",
        "Keep one of the two.",
    ),
    "TEN-1044": Code(
        "The node has no such handle",
        "An edge leaves by a handle that nodes of this type never answer with.",
        "Use one of the node's handles; a task declares its own in `handles`.",
    ),
    "TEN-1045": Code(
        "Wrong start",
        "A workflow has one start, nothing leads into it, and in the steps form it comes first.",
        "Keep one start node that nothing leads to.",
    ),
    "TEN-1046": Code(
        "Failing and handling at once",
        "`errorHandling: fail_workflow` fails the workflow; an error target handles the error.",
        "Remove the error target, or `fail_workflow`.",
    ),
    "TEN-1047": Code(
        "Join wants more than there is",
        "`atLeast` is larger than the number of incoming edges.",
        "Lower `atLeast`, or lead more edges to the node.",
    ),
    "TEN-1048": Code(
        "Join that can never fire",
        "Fewer edges than the join needs can be taken together: of several exclusive handles of "
        "one node only one is ever taken.",
        "Lower `atLeast`, or use `joinMode: all`.",
    ),
    "TEN-1049": Code(
        "Cannot be cancelled from here",
        "`cancels` names a node that is not there, the node itself, or one in a loop's body from "
        "outside of it.",
        "Name other nodes of this definition.",
    ),
    "TEN-1050": Code(
        "Edge across a loop's boundary",
        "The body of a loop is everything reachable from its handle `loop`; no other edge leads "
        "into it and none leads out of it. An edge back to the loop node ends the iteration.",
        "Lead the body back to its loop node, and go on from handle `done`.",
    ),
    "TEN-1051": Code(
        "End inside a loop",
        "`end` collects the output of the workflow and cannot stand in the body of a loop.",
        "Move it behind handle `done`, or use `terminate`.",
    ),
    "TEN-1052": Code(
        "Not in the dependency form",
        "Where steps have `dependsOn`, every dependency is required: transitions other than "
        "`error` and `onError`, and types that answer with handles of their own, have no place.",
        "Write the whole list with `transitions` instead of `dependsOn`.",
    ),
    "TEN-1053": Code(
        "Has no effect",
        "The setting means nothing together with the others of this node.",
        "Remove it.",
    ),
    "TEN-1054": Code(
        "Loops too deep inside one another",
        "Up to 16 loops may stand inside one another: what happens in one is looked up by the "
        "numbers of all iterations around it.",
        "Make the inner loops a workflow of their own, and start it with a subWorkflow node.",
    ),
}

_SURROUNDINGS = {
    "TEN-1060": Code(
        "Not a JSON Schema",
        "The schema itself does not follow the JSON Schema specification.",
        "Correct the schema.",
    ),
    "TEN-1061": Code(
        "Schema that lies elsewhere",
        "A schema refers to another document. Nothing is fetched when definitions are read.",
        "Put the schema under `$defs` and refer to `#/$defs/...`.",
    ),
    "TEN-1062": Code(
        "Compensation that fits no step",
        "A compensation step undoes one existing step, and a step has at most one.",
        "Name a step of this definition that nothing else compensates.",
    ),
    "TEN-1070": Code(
        "Cannot be written as steps",
        "The steps form begins with one step; this graph begins with several nodes.",
        "Keep the graph form, or begin with one start node.",
    ),
}

_WORKFLOW_FUNCTIONS = {
    "TEN-1101": Code(
        "Not a workflow function",
        "A workflow function is a plain function with named parameters. It is called once, with "
        "stand-ins for values that will exist later, and describes the workflow by what it calls.",
        "Write `def`, without `async`, `yield`, `*args` and `**kwargs`.",
    ),
    "TEN-1102": Code(
        "The description failed",
        "The function raised an exception while it described its workflow. Often something was "
        "done with a value that exists only when the workflow runs.",
        "Correct the named line, or move it into a task.",
    ),
    "TEN-1103": Code(
        "Writes outside itself",
        "The function sets a global or outer variable. It is called when the workflow is "
        "described and never when it runs, so nothing can be kept there between steps.",
        "Pass values from step to step, or keep state in a task.",
    ),
    "TEN-1104": Code(
        "Decided too early",
        "`if`, `while`, `and`, `or`, `not`, `in` and comparisons in a chain need a value now, and "
        "this one exists only when the workflow runs.",
        "Write `with when(…):` and `with otherwise():`, `&`, `|` and `~`, or decide in a task.",
    ),
    "TEN-1105": Code(
        "Gone through too early",
        "`for`, `len()`, unpacking and the like need a list now, and this one exists only when the "
        "workflow runs.",
        "Call a task for each item, `pack.map(items)`, or give the list to a task as it is.",
    ),
    "TEN-1106": Code(
        "Converted too early",
        "Text, numbers, keys, methods and changes need a value now, and this one exists only when "
        "the workflow runs.",
        "Write a template as text, `{{ctx.paid.id}}`, or convert the value in a task.",
    ),
    "TEN-1107": Code(
        "Only one of two values",
        "A variable is given another value in a block that is decided when the workflow runs. The "
        "function is called once and enters every block, so that behind them the variable holds "
        "the last value, whichever block runs.",
        "Give the values different names, and use `one_of(first, second)`.",
    ),
    "TEN-1108": Code(
        "Value of another workflow",
        "The value belongs to a workflow that is described already, and is not there in this one.",
        "Pass it as input, or make the other workflow a step with `child`.",
    ),
    "TEN-1109": Code(
        "Cannot be written down",
        "A definition holds JSON and the values of steps. Something else was passed, returned or "
        "decided on.",
        "Pass JSON, a dataclass or a model, or the result of a task.",
    ),
    "TEN-1110": Code(
        "Called with the wrong arguments",
        "The arguments do not fit the parameters of the task or workflow; the context is not "
        "passed, it is added when the task runs.",
        "Correct the call.",
    ),
    "TEN-1111": Code(
        "Two tasks of one name",
        "A definition names tasks, and this name means two functions.",
        "Give one of them another name.",
    ),
    "TEN-1112": Code(
        "Parameter that JSON cannot become",
        "A task gets JSON, converted to what its annotations ask for. Nothing can be converted to "
        "this type.",
        "Annotate it with a JSON type, a dataclass or a model.",
    ),
    "TEN-1113": Code(
        "Out of place",
        "`when`, `otherwise`, `sleep` and their like mean something only in a workflow function, "
        "each at certain places.",
        "Move it to where it means something.",
    ),
    "TEN-1114": Code(
        "Name that a step cannot have",
        "The name given with `.named` is taken by another step, or has letters that an id cannot "
        "have.",
        "Choose another name.",
    ),
    "TEN-1115": Code(
        "Names a later step",
        "Text in a step names one that can only begin when this one has ended.",
        "Move the step behind the one that it names.",
    ),
    "TEN-1116": Code(
        "Inside a loop",
        "A step in the body of a loop happens once for each round and has no one value outside.",
        "Use the results of the loop, which are a list.",
    ),
    "TEN-1117": Code(
        "Function that is not a task",
        "A plain function was called with a value that exists only when the workflow runs, and "
        "needs it now.",
        "Put @task above the function.",
    ),
    "TEN-1118": Code(
        "No such workflow",
        "The Python file holds no workflow function, none of this name, or several.",
        "Name one: `file.py:name`.",
    ),
    "TEN-1119": Code(
        "Leaves a block",
        "`return`, `break`, `continue` or `raise` stands in the block of `when`, `otherwise` or "
        "`repeat_while`. The function is called once and enters every block, so it would end "
        "there whatever will be decided.",
        "Return the result of either side with `one_of` behind the blocks, or use `terminate`.",
    ),
    "TEN-1120": Code(
        "Steps inside a try",
        "`try` stands around steps. They run, and fail, when the workflow does, and not while the "
        "function describes them.",
        "Say what happens then with `.on_error`.",
    ),
    "TEN-1121": Code(
        "Operator of another meaning",
        "Operators on future values become expressions, which are JavaScript's. With this operand "
        "the operator would do something else than in Python.",
        "Write the expression as text, or compute it in a task.",
    ),
    "TEN-1122": Code(
        "Not guarded",
        "A block of `when` waits, sleeps or ends the workflow, and a step behind the block depends "
        "on nothing in it. It runs at once, beside the block: only steps in the same block come "
        "after what stands before them there.",
        "Put the step into the block and into `with otherwise():`, or use `.after_any`.",
    ),
    "TEN-1123": Code(
        "Cannot undo this step",
        "What undoes a step is one task, which gets what the step gave. This one asks for what is "
        "not in it, or is something else than the call of one task.",
        "Take what the step gives, or write `.undo(by=lambda given: release(…))` for the step.",
    ),
}

_PYTHON = {
    "TEN-1801": Code(
        "Task name taken",
        "Two functions are registered as tasks under one name.",
        "Give one of them another name.",
    ),
    "TEN-1802": Code(
        "Task declared wrongly",
        "A task, or its retry policy, has an option that cannot be used.",
        "Correct the option that the message names.",
    ),
    "TEN-1803": Code(
        "Tasks cannot be loaded",
        "The Python file or module that holds the tasks fails when it is imported.",
        "Correct the file at the named line.",
    ),
}

_NOT_YET = "The definition is valid; this version of Tenuto does not run this part of it yet."
_WITHOUT = "Remove it, or wait for a version that runs it."
_NOT_AVAILABLE = {
    code: Code(f"Not available yet: {what}", _NOT_YET, _WITHOUT, NOT_AVAILABLE)
    for code, what in {
        "TEN-1900": "something of this definition",
        "TEN-1903": "javascript nodes",
        "TEN-1904": "dataQuery nodes",
        "TEN-1905": "http nodes",
        "TEN-1909": "mutex",
        "TEN-1910": "calendars",
        "TEN-1914": "options.concurrency",
        "TEN-1915": "options.encrypt",
        "TEN-1916": "secrets",
    }.items()
}

_REQUESTS = {
    "TEN-2000": Code(
        "Invalid input",
        "The input does not fit; each problem is listed with its own place.",
        "Correct the listed problems.",
    ),
    "TEN-2002": Code(
        "Unknown workflow",
        "There is no definition of this id, or not in this version.",
        "Deploy it first, or correct the id.",
        UNKNOWN_WORKFLOW,
    ),
    "TEN-2003": Code(
        "Unknown task",
        "A `taskId` is neither registered in this process nor declared.",
        "Register the task, or correct the `taskId`.",
        UNKNOWN_TASK,
    ),
    "TEN-2004": Code(
        "Not JSON",
        "The text is not well-formed JSON, or holds something that JSON cannot carry: NaN, "
        "infinities, duplicate keys, malformed UTF-8, NUL, lone surrogates.",
        "Correct the text at the named place.",
    ),
    "TEN-2005": Code(
        "Too large",
        "A value is larger than the limit that the message names.",
        "Store large data elsewhere and pass a reference, or raise the limit.",
        TOO_LARGE,
    ),
    "TEN-2006": Code(
        "Not the name of an event",
        "An event's name is words separated by dots; names that begin with `workflow.` belong to "
        "Tenuto itself.",
        "Write for example `payment.received`.",
    ),
    "TEN-2007": Code(
        "Moment that cannot be kept",
        "A moment names its time zone, so that it means the same everywhere, and in UTC it is in "
        "the years 1 to 9999.",
        "Pass an aware datetime, or a timestamp such as `2026-11-15T20:12:14Z`.",
    ),
    "TEN-2008": Code(
        "Not the id of an instance",
        "The id of an instance is a UUID; on the command line its beginning is enough, as long as "
        "it means one instance.",
        "Write the id as `tenuto list` shows it.",
    ),
    "TEN-2009": Code(
        "Not a cursor",
        "A list is continued with the cursor that the page before gave, unchanged.",
        "Pass that cursor, or begin the list again.",
    ),
    "TEN-2010": Code(
        "Not a step to rerun from",
        "The workflow has no such step, it is inside a loop, or what the rerun takes over leads "
        "past it.",
        "Name a step of the workflow that is in no loop, or leave it out to rerun everything.",
    ),
    "TEN-2011": Code(
        "Outcome does not fit the version",
        "A step whose outcome the rerun would take over is another one in that version.",
        "Rerun from that step or one before it, or by the version that the instance had.",
    ),
    "TEN-2012": Code(
        "Too long to be looked up by",
        "A key, a correlation id, an event's id and its name have up to 255 characters, so that "
        "every store can index them.",
        "Choose a shorter one, or a hash of the longer one.",
    ),
    "TEN-2013": Code(
        "An id that belongs to an instance",
        "Ids that begin with a UUID and a colon are those of events that instances publish and of "
        "what Tenuto tells of them: whoever took one first would keep the other from being stored.",
        "Give the event another id, or leave it out.",
    ),
    "TEN-2014": Code(
        "Not an id that people can tell from others",
        "The id of an event and its correlation id have no control characters, and no white space "
        "at their ends. Ids that begin with `cloudevent ` are made of the source and id of a "
        "CloudEvent.",
        "Take out what cannot be seen, or give the event another id.",
    ),
    "TEN-2020": Code(
        "Not an event",
        "An event is an object with `pattern` and, where it has them, `payload`, `id`, "
        "`correlationId` and `timestamp`; several are an array of up to 1,000.",
        'Send for example `{"pattern": "payment.received", "payload": {"orderId": 7}}`.',
    ),
    "TEN-2021": Code(
        "Not a CloudEvent",
        "An object with `specversion` is read as a CloudEvent 1.0: it has `id`, `source` and "
        "`type`, and where it has them `data` or `data_base64`, `time` and `correlationid`.",
        "Correct the named attribute, or send the event in Tenuto's own form.",
    ),
    "TEN-2031": Code(
        "Not what the operation takes",
        "The body or the query has a field that nobody would read, lacks one, or has one of "
        "another type; each problem is listed with its place.",
        "Correct the listed problems; `/openapi.json` says what each operation takes.",
    ),
    "TEN-2032": Code(
        "Not the right type of body",
        "The body does not say that it is JSON in UTF-8, so that nothing in it is read.",
        "Send the header `content-type: application/json`.",
    ),
    "TEN-2033": Code(
        "Nothing there",
        "The service has nothing at this path.",
        "`/docs` lists what can be asked for.",
    ),
    "TEN-2034": Code(
        "Not with this method",
        "There is something at this path, but it is asked for with another method.",
        "Use one of those that the header `Allow` names.",
    ),
    "TEN-2035": Code(
        "Came too slowly",
        "The headers or the body of the request did not come in time; nothing was done, and the "
        "connection is closed.",
        "Send the whole request at once; send large things in several requests.",
    ),
    "TEN-2101": Code(
        "Input does not fit the schema",
        "The definition's `inputSchema` refuses the input.",
        "Correct the input, or the `inputSchema`.",
        INVALID_INPUT,
    ),
    "TEN-2110": Code(
        "Form does not fit the schema",
        "The `formSchema` of the approval refuses the form that came with the decision.",
        "Correct the form, or the `formSchema`.",
    ),
    "TEN-2111": Code(
        "Not a decision",
        "Somebody decides `approved` or `rejected`, and says who they are.",
        "Write one of the two words, and the name of the person.",
    ),
    "TEN-2112": Code(
        "Input does not fit the task",
        "The `inputSchema` that is declared of the task refuses what the step gives it.",
        "Correct the step's `input`, or the `inputSchema` of the task.",
    ),
    "TEN-2113": Code(
        "Output does not fit the task",
        "The `outputSchema` that is declared of the task refuses what it gave.",
        "Correct the task, or its `outputSchema`.",
    ),
    "TEN-2201": Code(
        "Stub for no task",
        "A test stubs, or asks about, a task that does not exist: it would never be called.",
        "Correct the name; declare a task that only workers have with `@engine.task`.",
    ),
    "TEN-2202": Code(
        "The engine of the test has crashed",
        "A crash that the test asked for has happened, and nothing runs until it is recovered.",
        "Call `engine.recover()` first.",
    ),
    "TEN-2203": Code(
        "No network in a test",
        "A task of a test tried to reach the network or to start a process; on a virtual clock "
        "nothing waits for either.",
        "Stub the task.",
    ),
    "TEN-2204": Code(
        "The crash never came",
        "A test asked for a crash at a durable write or in a task that was not reached.",
        "Ask for an earlier one; `engine.writes` counts the durable writes.",
    ),
    "TEN-2205": Code(
        "Nothing to compare with",
        "Without any fault the workflow does not end, or already breaks the invariant.",
        "Correct that first: pass the events that it waits for, and stub what it calls.",
    ),
    "TEN-2206": Code(
        "Test cannot be written like this",
        "An argument of the test kit means nothing.",
        "Write one of the values that the message names.",
    ),
    "TEN-2301": Code(
        "URL that events cannot be sent to",
        "Events are sent by HTTP to a host that the URL names plainly: no user or password in it, "
        "no fragment, no white space.",
        "Write it as https://HOST/PATH.",
    ),
    "TEN-2302": Code(
        "Address of no public network",
        "The URL leads to this machine or to a private network, where whoever may name URLs could "
        "reach what is not theirs. The same is asked again when something is sent, of the address "
        "that the host's name has then.",
        "Name a public address; or allow private ones, if everybody who may name URLs may reach "
        "them: Settings(private_webhooks=True), --allow-private.",
    ),
    "TEN-2303": Code(
        "Not a pattern of events",
        "Patterns are words with dots between them, `*` for one word, `**` for one or more; at "
        "least one is needed, and at most 100.",
        "Write patterns such as workflow.completed, workflow.node.* or order.**.",
    ),
    "TEN-2304": Code(
        "Not a secret",
        "Requests are signed as Standard Webhooks has it, with a secret of 24 to 64 bytes that is "
        "written as whsec_ and base64.",
        "Leave it out, and one is made.",
    ),
    "TEN-2305": Code(
        "Filter that cannot be read",
        "A filter is an expression that can name `event` and nothing else.",
        "Write it as `event.payload.orderId === 'o-7'`.",
    ),
    "TEN-2306": Code(
        "No moment at which a subscription could end",
        "It names its time zone and is not over yet.",
        "Write a moment that is to come, such as 2030-01-31T12:00:00Z.",
    ),
    "TEN-2401": Code(
        "Key that cannot be made",
        "A key has a name, one of the roles viewer, operator, editor and admin, perhaps scopes "
        "that there are, and perhaps a moment to come at which it expires.",
        "Correct what the message names.",
    ),
    "TEN-2402": Code(
        "Question about the audit log that cannot be read",
        "Lines are asked for by moments that name their time zone, and compared with a number and "
        "a hash, as `tenuto audit verify` says them.",
        "Write 2030-01-31T12:00:00Z, or NUMBER:HASH.",
    ),
    "TEN-2501": Code(
        "Widget that cannot be shown",
        "A widget is a table, a chart, a number or a text, and its config says which value it "
        "shows: `path` from the names of the context, and what its type takes beside that.",
        "Correct the fields that are named: a table takes `columns` and `limit`, a chart `x`, `y` "
        "and `limit`, a number `format`, a text `format` and `limit`.",
    ),
    "TEN-2620": Code(
        "Not the address of a server",
        "A server is named by an address such as http://127.0.0.1:8484 or https://HOST/PATH.",
        "Correct the address, or leave it out to work on a store.",
    ),
    "TEN-2601": Code(
        "Worker without tasks",
        "A worker runs the tasks of the modules that it is given, and there are none in them.",
        "Write functions with @task there, or name the module that has them.",
    ),
    "TEN-2602": Code(
        "Not the address of a service",
        "A service is named by a URL that begins with http:// or https://.",
        "Name it as it says itself when it starts: http://127.0.0.1:8484.",
    ),
    "TEN-2603": Code(
        "Task that cannot be declared",
        "A task has an id and a kind, `pull` or `push`; one that is pushed has the address that it "
        "is sent to.",
        "Correct the fields that are named.",
    ),
    "TEN-2604": Code(
        "Task that nobody is known to do",
        "No function of this process has this name, and nobody has declared such a task; it waits "
        "until a worker asks for it.",
        "Start a worker that has it, declare it, or correct the `taskId`.",
    ),
    "TEN-2630": Code(
        "Not a length of time",
        "How long instances are kept is a length of time such as P90D.",
        "Write ISO 8601: P90D is ninety days, PT12H twelve hours.",
    ),
    "TEN-2631": Code(
        "Unknown setting",
        "A file, a variable or --set names a setting that does not exist, or is no TOML.",
        "Correct the name: `tenuto config show` lists them all.",
    ),
    "TEN-2632": Code(
        "Wrong value of a setting",
        "The value is not what the setting takes, or one is missing that another asks for.",
        "Correct the value where it is said to stand.",
    ),
    "TEN-2640": Code(
        "Wrong usage",
        "The command was called with an option, an argument or a value that it does not have.",
        "`tenuto COMMAND --help` says what it takes.",
    ),
}

_INSTANCES = {
    "TEN-2605": Code(
        "Which credential a worker shows",
        "A worker shows one credential: an API key, a token in a file, or one that a command "
        "prints.",
        "Name one of --api-key, --token-file and --token-command, and no variable of another.",
    ),
    "TEN-2610": Code(
        "A message that a socket cannot read",
        "What was said on the socket is no message that it knows; the socket stays open.",
        'Say `{"event": "workflow_run_join", "runId": "…", "since": 0}`, `workflow_run_leave` with '
        "a `runId`, or `ping`.",
    ),
    "TEN-2611": Code(
        "Too many instances on one socket",
        "A socket can watch a hundred instances.",
        "Leave those that nobody looks at, or open another socket.",
    ),
    "TEN-2612": Code(
        "Not watched here",
        "The socket does not watch the instance that it was told to leave.",
        "Nothing is to be done: it is not told of that instance.",
    ),
    "TEN-2613": Code(
        "Mocks that do not fit",
        "A mock of a test run names no step that is run, or has not one of `output` and `error`.",
        "Mock steps that run a task, a request, a query, a script or a workflow; or compensations.",
    ),
    "TEN-2614": Code(
        "A filter that says nothing",
        "An action over many things needs a filter: without one it would be done to everything.",
        "Say at least one thing: a status, a workflow, ids.",
    ),
    "TEN-2615": Code(
        "Not a searchable variable",
        "Instances are found by the values of those variables that their workflow lists.",
        "Name the workflow, and list the variable in its `options.searchable`.",
    ),
    "TEN-3001": Code(
        "Not found",
        "There is no such instance, step or definition.",
        "Check the id; `tenuto list` shows what there is.",
    ),
    "TEN-3002": Code(
        "Not in this status",
        "The instance's status does not allow this command.",
        "Look at its status with `tenuto show`.",
    ),
    "TEN-3003": Code(
        "Stale report",
        "The attempt was given to somebody else, or has ended; the report changed nothing.",
        "Drop the result, and claim again.",
    ),
    "TEN-3004": Code(
        "Key used for something else",
        "The same key or id was used before with other content.",
        "Use a new key for new content.",
    ),
    "TEN-3005": Code(
        "Late result",
        "The instance had ended when the result came; it is kept as a dead letter.",
        "Look at the dead letter, and decide whether the effect has to be undone.",
    ),
    "TEN-3006": Code(
        "Not due yet",
        "A timer was reported before its time; nothing changed, and it will be reported again.",
        "Nothing; if it goes on, check the clocks.",
    ),
    "TEN-3007": Code(
        "Event taken by another wait",
        "Two waits of one instance looked for the same earlier event; one of them took it.",
        "Nothing; the other wait stays open.",
    ),
    "TEN-3008": Code(
        "Event id used for something else",
        "An event with this id was published before with other content.",
        "Give each event an id of its own; repeat one only unchanged.",
    ),
    "TEN-3009": Code(
        "Cannot be retried",
        "The instance failed, but not so that it could go on: a terminate step ended it, it was "
        "being cancelled, or its deadline has passed.",
        "Make a new instance of it with a rerun.",
    ),
    "TEN-3010": Code(
        "Not the newest version",
        "Somebody has saved a newer version of the definition than the one that was changed.",
        "Look at the newest version, and make your change to that one.",
    ),
    "TEN-3011": Code(
        "Workflow with running instances",
        "A definition is not removed while instances of it have not ended.",
        "Wait for them, or cancel them with force.",
    ),
    "TEN-3012": Code(
        "Lease is over",
        "The task was claimed, and its lease has lapsed, was granted to somebody else, or the "
        "attempt has ended: nothing that is done under it counts.",
        "Stop working on it, and claim again.",
    ),
    "TEN-3020": Code(
        "No such approval",
        "The workflow has no approval step of this name, or it is in a loop and the iteration is "
        "missing.",
        "`tenuto show` lists the approvals that are open, and in which iterations.",
    ),
    "TEN-3021": Code(
        "Not open for a decision",
        "The approval was decided before, its time is over, it was called off, or the instance has "
        "not come to it.",
        "`tenuto show` says what became of it.",
    ),
    "TEN-3030": Code(
        "Cancellation trigger that does not hold",
        "The event fitted when it came, but the trigger's condition is not true in the instance's "
        "context as it is by now; nothing changed.",
        "Nothing; publish another event, or cancel the instance.",
    ),
    "TEN-3040": Code(
        "No such dead letter",
        "Nothing is kept under this id: it was tried again, or discarded.",
        "List those that there are: `tenuto dead-letters list`.",
    ),
    "TEN-3041": Code(
        "Cannot be tried again",
        "A result that came too late is there to be looked at; there is nothing to try again.",
        "Look at what it did, undo that by hand if need be, and discard the letter.",
    ),
    "TEN-3050": Code(
        "No name for a tenant",
        "A tenant's name has 1 to 63 letters, digits, dots, dashes and underscores, and begins "
        "with a letter or digit.",
        "Call the tenant otherwise.",
    ),
    "TEN-3060": Code(
        "Not a token for this callback",
        "A callback has in its URL the token that was sent along with the task; this is none.",
        "Post to the `callbackUrl` as it was received.",
    ),
    "TEN-3061": Code(
        "Task declared before",
        "There is a declared task of this id.",
        "Change it with PUT, or choose another id.",
    ),
    "TEN-3062": Code(
        "Task was changed",
        "The task has another version than the one that the change was made to.",
        "Read it again, and change that.",
    ),
    "TEN-3063": Code(
        "No such task",
        "Nobody has declared a task of this id.",
        "List those that there are, or declare it.",
    ),
    "TEN-3064": Code(
        "Not a token for events",
        "An event is handed in with the token of a URL that was made for that; this is none, or it "
        "has expired.",
        "Post to the `callbackUrl` as it was given, and have another made before it expires.",
    ),
    "TEN-3065": Code(
        "Over, with its instance",
        "The URL was made for one instance, which has ended or is not there any more: nothing is "
        "taken through it.",
        "Stop posting; have another URL made for another instance.",
    ),
    "TEN-3070": Code(
        "No such test run",
        "There is no test run under this id: it was stopped, or erased after an hour.",
        "Start another: `POST /api/v1/workflows/test`.",
    ),
    "TEN-3071": Code(
        "Not with a test run",
        "A test run is stopped and started anew; it is not run again from a step.",
        "Start another: `POST /api/v1/workflows/test`.",
    ),
    "TEN-3072": Code(
        "No such bulk operation",
        "There is no bulk operation under this id.",
        "List those that there are: `GET /api/v1/instances/bulk`.",
    ),
    "TEN-3073": Code(
        "The key of a bulk operation was used for something else",
        "A bulk operation with this `Idempotency-Key` was asked for with other content.",
        "Use another key, or look at the first: `GET /api/v1/instances/bulk/{id}`.",
    ),
    "TEN-3100": Code(
        "The workflow failed",
        "The instance ended FAILED; its last error says where and why.",
        "Look at the error, correct its cause, then retry the instance.",
    ),
    "TEN-3101": Code(
        "The workflow was cancelled",
        "The instance ended CANCELLED; its cancellation says who asked and why.",
        "Start it again with a rerun if it should go on.",
        CANCELLED,
    ),
    "TEN-3301": Code(
        "No such webhook or subscription",
        "Nothing is told of events under this id.",
        "List those that there are: `tenuto webhooks list`, `tenuto subscriptions list`.",
    ),
}

_STORE = {
    "TEN-4000": Code(
        "Internal error",
        "Tenuto broke a promise of its own.",
        "Please report it with the message and the log.",
    ),
    "TEN-4001": Code(
        "Store unavailable",
        "The store cannot be reached or written; nothing was accepted.",
        "Check the database; processes at work go on when it is back.",
    ),
    "TEN-4002": Code(
        "Store in use",
        "Another process has the store locked.",
        "Stop the other process, or use a store of its own for each.",
    ),
    "TEN-4003": Code(
        "Store full",
        "There is no room left to write; nothing was accepted.",
        "Make room on the disk.",
    ),
    "TEN-4004": Code(
        "Not allowed on this store",
        "The store may not be written, or not by this process: the file, the server or the role's "
        "rights do not allow it, or it was opened for reading or as a guest.",
        "Give the process access: to the file and its folder, or to the schema; or ask a process "
        "that has it.",
    ),
    "TEN-4005": Code(
        "Schema of another version",
        "A newer Tenuto has migrated the store past what this one can use; or it is older, or not "
        "made yet, and whoever opens it only reads or may not change it.",
        "Update Tenuto where the store is newer; otherwise run `tenuto migrate`, as the role that "
        "owns the tables.",
    ),
    "TEN-4006": Code(
        "Not a Tenuto database",
        "What is there is a database of something else, damaged or half migrated, or no database "
        "at all; the message names what is there or missing.",
        "Name another file or schema, run what the message says, or restore a backup.",
    ),
    "TEN-4007": Code(
        "Verification found a difference",
        "Folding the log of an instance gives another state than the stored one.",
        "Keep a copy of the store, and report it with the message.",
    ),
    "TEN-4008": Code(
        "Database not reached",
        "The URL cannot be read, or no server answers there; nothing was accepted.",
        "Start the server, or correct the URL; processes at work go on when it answers.",
    ),
    "TEN-4009": Code(
        "Database refuses",
        "The server answers, but has no such user, password or database, or is not fit for use.",
        "Do what the message says, in the URL or on the server.",
    ),
    "TEN-4010": Code(
        "Too many connections",
        "The database server takes no more connections; nothing was accepted.",
        "Raise max_connections, or close other programs; processes at work go on by themselves.",
    ),
    "TEN-4011": Code(
        "Database busy",
        "Others hold what is needed for too long; nothing was accepted.",
        "Look for long transactions on the server; processes at work go on by themselves.",
    ),
    "TEN-4012": Code(
        "No connection free",
        "All shared connections were busy for too long.",
        "Look for slow statements on the server, or give the store more connections.",
    ),
    "TEN-4013": Code(
        "Hints are not heard",
        "The store is behind a pooler, which passes no notifications on; work is found by looking.",
        "Name the server itself for listening.",
    ),
    "TEN-4014": Code(
        "Rhythm that cannot be kept",
        "Processes that share a store would be taken for dead while they live, or never be found "
        "dead: how often they say that they live, and how long they may be silent, do not fit.",
        "Let `dead_after` be three times as long as `beat_every`, or longer.",
    ),
    "TEN-4015": Code(
        "Stored, and not seen done",
        "A command or an event is stored, and what came of it was not seen: the processes at work "
        "have not taken it yet, or the store went away meanwhile.",
        "Do not ask again: it is done as soon as a process takes it. See whether the store is "
        "back, and whether those at work are busy, stuck or too old.",
    ),
    "TEN-4016": Code(
        "Migration held up",
        "A transaction of another session has tables of the store in use. A migration waits for it "
        "for a few seconds only, since everybody else waits behind; nothing was changed.",
        "End the named transaction, and run `tenuto migrate` again.",
    ),
    "TEN-4017": Code(
        "No encrypted connection",
        "The URL asks for TLS and the server does not speak it, or shows a certificate that is not "
        "to be trusted; or the server asks for TLS and the URL does not; or a file of certificates "
        "or keys that the URL names cannot be used.",
        "Do what the message says, in the URL (sslmode, sslrootcert, sslcert, sslkey), with the "
        "file or on the server.",
    ),
    "TEN-4018": Code(
        "Listens elsewhere",
        "The URL for listening leads to another database than that of the store, in which nothing "
        "is ever said; work is found by looking.",
        "Name the database of the store in listen_url, or TENUTO_LISTEN_URL.",
    ),
    "TEN-4019": Code(
        "Not known whether it was written",
        "The store went away, or the service stopped, after something was sent to be written and "
        "before it was known to be durable. It may be done, and it may not.",
        "Look what became of it, and ask again if it was not done. With the same key or id nothing "
        "is done twice.",
    ),
    "TEN-4020": Code(
        "Cannot listen",
        "The address is not one of this machine, or something else listens there.",
        "Stop what listens there, or choose another port with --port.",
    ),
    "TEN-4030": Code(
        "No server",
        "Nobody answers at the address of the server, or the connection breaks. It was tried again "
        "for a while.",
        "See whether the service runs and whether the address is right; `tenuto doctor --server "
        "URL` looks at both.",
    ),
    "TEN-4031": Code(
        "Not the answer of a Tenuto server",
        "What came back is not what this operation answers with: another program listens there, a "
        "proxy answered in its place, or the server is of a version that this client does not "
        "know.",
        "Check the address, what stands in between, and the version of the server.",
    ),
    "TEN-4032": Code(
        "Not known whether it was done",
        "The connection broke after the request was sent and before it was answered, or a proxy "
        "answered in the server's place. What was asked for must not be done twice, so it was not "
        "sent again.",
        "Look what became of it, and ask again if it was not done.",
    ),
    "TEN-4040": Code(
        "No configuration",
        "The file with settings is not there, or cannot be read.",
        "Name the right one with --config, or leave it out.",
    ),
    "TEN-4041": Code(
        "No OpenTelemetry",
        "Traces are asked for, and what sends them is not installed.",
        "Install tenuto[otel], or leave the setting `traces` out.",
    ),
    "TEN-4290": Code(
        "Overloaded",
        "Too much is waiting; nothing was accepted.",
        "Try again in a moment, or start fewer at once.",
    ),
    "TEN-4291": Code(
        "Too many requests",
        "Whoever asks has made more requests than they may; the header `Retry-After` says when to "
        "go on.",
        "Wait so many seconds, and ask for several things at once where that is possible.",
    ),
    "TEN-4292": Code(
        "Too many unfinished requests",
        "An address has begun more requests than it may without ending them; nothing was read of "
        "this one.",
        "Send whole requests; a proxy in front should read them whole before it passes them on.",
    ),
}

_ACCESS = {
    "TEN-5001": Code(
        "May not decide",
        "The approval is for other people, or for those with other roles.",
        "Let one of them decide; `tenuto show` says who may. Or wait until it escalates.",
    ),
    "TEN-5010": Code(
        "No credential",
        "The request says nothing of who asks, and the service answers only those it knows.",
        "Send the header `Authorization: Bearer` with an API key or a token.",
    ),
    "TEN-5011": Code(
        "Wrong credential",
        "The credential is not one that the service takes. Which part of it is wrong is not told.",
        "Check that it was copied whole, and that it is one for this service.",
    ),
    "TEN-5012": Code(
        "Credential no longer valid",
        "The key or token has expired, is not valid yet, or was revoked.",
        "Get a new one: `tenuto keys create`, or another token from the identity provider.",
    ),
    "TEN-5013": Code(
        "Not permitted",
        "The credential is known, and its role or its scopes do not have the named permission.",
        "Use a credential with that permission, or ask an admin of the tenant for one.",
    ),
    "TEN-5014": Code(
        "Identity provider not reached",
        "The provider that signs tokens does not answer, or not with what OpenID Connect asks for, "
        "and its keys are not known from before; who asks cannot be told.",
        "Try again in a moment; look at the issuer's URL and at the provider. API keys go on "
        "working.",
    ),
    "TEN-5015": Code(
        "Audit log is not as it was written",
        "A line of the log was changed, taken out, moved or put in: the chain of hashes breaks "
        "there.",
        "Keep a copy of the store, and compare it with an export from before.",
    ),
    "TEN-5016": Code(
        "No such key",
        "The tenant has no API key of that id.",
        "`tenuto keys list` shows those that there are.",
    ),
    "TEN-5020": Code(
        "Not the name of the service",
        "The service was called by a name that it does not go by: another page may have let a name "
        "point here.",
        "Call it by one of its names.",
    ),
    "TEN-5021": Code(
        "Foreign origin",
        "The request comes from a page that is not one of the service's own.",
        "Let the origins be known that may call it.",
    ),
    "TEN-5022": Code(
        "Open to everybody",
        "The address can be reached from other machines, and nobody would be asked who they are.",
        "Listen on 127.0.0.1, or have credentials asked for: make a key with `tenuto keys create`, "
        "set TENUTO_ADMIN_KEY, name an OIDC issuer, or pass --auth required.",
    ),
    "TEN-5030": Code(
        "Not recorded yet",
        "What was asked for may have been done, and the audit log could not be written; its line "
        "is tried again until it is there.",
        "Look whether it was done before you ask again.",
    ),
    "TEN-5031": Code(
        "Weak admin key",
        "TENUTO_ADMIN_KEY opens every tenant, and is short enough to be guessed.",
        "Set one of at least 32 characters without spaces, such as `openssl rand -hex 32` makes.",
    ),
    "TEN-5032": Code(
        "Access cannot be set up like this",
        "An option of the service names a host, an origin or an identity provider that cannot be "
        "meant so; nothing was started.",
        "Correct the option.",
    ),
}

CATALOGUE: Mapping[str, Code] = MappingProxyType(
    {
        **_DOCUMENTS,
        **_VALUES,
        **_NAMES,
        **_EXPRESSIONS,
        **_FLOW,
        **_SURROUNDINGS,
        **_WORKFLOW_FUNCTIONS,
        **_PYTHON,
        **_NOT_AVAILABLE,
        **_REQUESTS,
        **_INSTANCES,
        **_STORE,
        **_ACCESS,
    }
)

// Generated from src/tenuto/model/failures.toml by `python -m tests.ui.failure_codes`.

export interface Meaning {
  title: string;
  explanation: string;
  advice: string;
}

/** What a code of Tenuto's own means; null: it is the code of a task. */
export const meaningOf = (code: string): Meaning | null =>
  Object.hasOwn(MEANINGS, code) ? (MEANINGS[code] ?? null) : null;

const MEANINGS: Record<string, Meaning> = {
  "INTERNAL": {
    "title": "The instance could not be decided",
    "explanation": "An error inside Tenuto kept this one instance from going on; it is quarantined, and no other instance is affected. The message names the error.",
    "advice": "Look at the log of the process that ran it, report the error, and retry the instance once it is corrected."
  },
  "LOST": {
    "title": "An attempt was lost",
    "explanation": "The process that ran the attempt died, or its lease ended, before it reported a result. The next attempt starts at once and costs none of `maxAttempts`.",
    "advice": "Nothing, unless it happens again and again: then look for what kills the process, such as its use of memory."
  },
  "STOPPED": {
    "title": "An attempt was stopped",
    "explanation": "The process that ran the attempt was shut down before the task had ended. The step runs again in the next process.",
    "advice": "Start a process that works on the store."
  },
  "POISON": {
    "title": "A task loses its process again and again",
    "explanation": "Five attempts of the step were lost in a row, each together with its process, so the step is not tried again. The task probably kills its process, or uses more memory than there is.",
    "advice": "Look at `tenuto dead-letters list` and at the logs of the processes, correct the task, and retry the instance."
  },
  "CANCELLED": {
    "title": "Cancelled",
    "explanation": "The step, or the instance, was cancelled before it had ended.",
    "advice": "Rerun the instance if the work should be done after all."
  },
  "TERMINATED": {
    "title": "Ended by a terminate step",
    "explanation": "The workflow reached a terminate step with the status FAILED; its reason is the message.",
    "advice": "Read the reason: the workflow ended as its definition says."
  },
  "TIMEOUT": {
    "title": "An attempt took too long",
    "explanation": "The task did not end within its `timeout`, which is 10 minutes unless the step or the task says otherwise. The failure is retryable.",
    "advice": "Raise `timeout` for a task that needs longer, or find out what it waits for."
  },
  "HEARTBEAT_TIMEOUT": {
    "title": "No heartbeat in time",
    "explanation": "A task with a `heartbeat` did not report one for that long, so its attempt was given up. The failure is retryable.",
    "advice": "Call `ctx.heartbeat()` more often than the interval, or lengthen the interval."
  },
  "WAIT_TIMEOUT": {
    "title": "Nothing arrived in time",
    "explanation": "A wait, or an approval, reached its time-out, and no step handles the time-out.",
    "advice": "Name a step for the handle `timeout`, or wait longer; `tenuto show ID` lists events that nearly matched."
  },
  "EXPRESSION_ERROR": {
    "title": "An expression failed",
    "explanation": "A condition or a template called a method that does not exist, or exceeded a bound of the language. The failure is not retryable.",
    "advice": "Correct the expression in the definition; the message quotes it."
  },
  "NOT_JSON": {
    "title": "A value is not JSON",
    "explanation": "A task returned, or reported, a value that JSON cannot express; the message names its place and type.",
    "advice": "Return dicts, lists, text, numbers, booleans, None, dataclasses or models."
  },
  "NOT_STORABLE": {
    "title": "A value cannot be stored",
    "explanation": "The store refused what the instance had to record; the instance is quarantined, and no other instance is affected.",
    "advice": "Find the value in the message, keep it out of outputs, and retry the instance."
  },
  "TOO_LARGE": {
    "title": "A value is too large",
    "explanation": "An input, an output or the state of the instance is larger than its limit.",
    "advice": "Store large data elsewhere, and pass references."
  },
  "LOOP_SOURCE": {
    "title": "Nothing to loop over",
    "explanation": "The `source` of a loop did not give an array.",
    "advice": "Correct the template of `source`, or let the step before it return an array."
  },
  "LOOP_LIMIT": {
    "title": "Too many iterations",
    "explanation": "A `while` loop reached `maxIterations`, which is 1,000 unless the step says otherwise.",
    "advice": "Correct the condition, or raise `maxIterations`."
  },
  "UNKNOWN_TASK": {
    "title": "No such task",
    "explanation": "No process and no worker has registered the task of the step.",
    "advice": "Load the module of the task (`--tasks FILE`), or start a worker that has it, and retry the instance."
  },
  "UNKNOWN_HANDLE": {
    "title": "No such way out",
    "explanation": "A task chose a handle that its step does not have.",
    "advice": "Return one of the handles of the step, or add the transition to the definition."
  },
  "UNKNOWN_WORKFLOW": {
    "title": "No such workflow",
    "explanation": "A step starts a workflow that is not deployed.",
    "advice": "Deploy the workflow, and retry the instance."
  },
  "UNKNOWN_CALENDAR": {
    "title": "No such calendar",
    "explanation": "A duration of a step is counted in the working time of a calendar that does not exist.",
    "advice": "Make the calendar, and retry the instance."
  },
  "NOT_AVAILABLE": {
    "title": "Not available in this version",
    "explanation": "The definition uses something that this version of Tenuto cannot run.",
    "advice": "Change the definition, or use a version that has it."
  },
  "INVALID_INPUT": {
    "title": "Invalid input",
    "explanation": "The input does not match the schema of the workflow, or of the task.",
    "advice": "Correct the input; the message lists the fields."
  },
  "INVALID_OUTPUT": {
    "title": "Invalid output",
    "explanation": "The output of an attempt does not match the `outputSchema` of its step.",
    "advice": "Correct the task, or the schema."
  },
  "INVALID_DELAY": {
    "title": "Invalid delay",
    "explanation": "A task asked for a delay that is no duration.",
    "advice": "Return an ISO 8601 duration, a short one such as `15m`, or milliseconds."
  },
  "CHILD_FAILED": {
    "title": "A child workflow failed",
    "explanation": "The instance that the step started has failed; `details` say where and why.",
    "advice": "Look at the child: `tenuto show ID` of the parent shows its failing step."
  },
  "CHILD_CANCELLED": {
    "title": "A child workflow was cancelled",
    "explanation": "The instance that the step started was cancelled. The failure is not retryable.",
    "advice": "Find out from the child who cancelled it and why."
  },
  "CHILD_DEPTH": {
    "title": "Children nested too deep",
    "explanation": "Workflows may start each other at most 20 deep.",
    "advice": "Look for a workflow that starts itself, or flatten the hierarchy."
  },
  "SLOT_DEADLOCK": {
    "title": "Waiting for its own slot",
    "explanation": "The child needs a slot of a limit of which every slot is held by instances that wait for such a child. The failure is not retryable.",
    "advice": "Raise the limit above the depth of the nesting, or take the limited part out of the workflow that starts itself."
  },
  "TOO_MANY_DESCENDANTS": {
    "title": "Too many descendants",
    "explanation": "The family of the instance has as many children as one may have.",
    "advice": "Process the items in a loop, or start independent instances."
  },
  "INVALID_EVENT": {
    "title": "An event that cannot be published",
    "explanation": "An `emit` step produced an event whose name or payload is not valid; names that begin with `workflow.` are reserved.",
    "advice": "Correct the template of the event."
  },
  "CHILD_NOT_UNDONE": {
    "title": "A child was not undone",
    "explanation": "A completed child workflow was to be undone, and its own compensation failed.",
    "advice": "Look at the child, correct what failed there, and retry the compensation."
  },
  "JAVASCRIPT_ERROR": {
    "title": "JavaScript code threw an error",
    "explanation": "The code of the step threw an error that it did not catch. The message has the error and the line and column in the code; `details` have its name and stack.",
    "advice": "Correct the code, or catch the error in it; `console.log` writes lines into the log of the attempt."
  },
  "JAVASCRIPT_SYNTAX": {
    "title": "JavaScript code does not parse",
    "explanation": "The code of the step is not the body of a function in JavaScript's strict mode. The message has the line and column. The failure is not retryable.",
    "advice": "Correct the code at this place."
  },
  "JAVASCRIPT_NEVER_ENDS": {
    "title": "JavaScript code waits for ever",
    "explanation": "The code awaits a promise, and nothing is left that could settle it: no request is on its way, and there are no timers. The failure is not retryable.",
    "advice": "Look for a promise whose `resolve` is never called; use a delay step to wait for time."
  },
  "MEMORY_EXCEEDED": {
    "title": "JavaScript code needs too much memory",
    "explanation": "The code reached its `memoryLimit`, and its process was ended. The failure is not retryable.",
    "advice": "Work on less data at once, or raise `memoryLimit`."
  },
  "DATABASE_UNAVAILABLE": {
    "title": "A database could not be used",
    "explanation": "The database of a data source did not answer, closed the connection, has too many connections, or refuses the user; or its host has no address that may be used. The failure is retryable, unless the user or the settings of the data source are at fault. The message names no address.",
    "advice": "Try the data source (`tenuto data-sources test ID`), and look at the database. Private addresses need `engine.private_databases`."
  },
  "QUERY_FAILED": {
    "title": "A database refused a statement",
    "explanation": "The database refused the statement of a data query; the message is that of the database, and `details` has its code. A statement that would write through a read-only data source fails so, too.",
    "advice": "Correct the statement, and try it with `tenuto data-queries run ID`."
  },
  "TOO_MANY_ROWS": {
    "title": "An answer has too many rows",
    "explanation": "The answer of a data query has more rows than its `maxRows`, which is 10,000 unless the query says otherwise. Reading stopped there, and nothing of the answer is kept.",
    "advice": "Let the statement choose fewer rows (WHERE, LIMIT), or raise `maxRows`."
  },
  "UNKNOWN_QUERY": {
    "title": "No such data query",
    "explanation": "The step names a data query that the tenant does not have. The failure is not retryable.",
    "advice": "Save the query under this id, or correct `dataQueryID`; `tenuto data-queries list` shows the queries."
  },
  "UNKNOWN_SECRET": {
    "title": "A secret does not exist",
    "explanation": "The input of the step names a secret that the tenant does not have; the message names it. The failure is not retryable.",
    "advice": "Store it with `tenuto secrets set NAME`, and retry the instance."
  },
  "SECRET_NOT_ALLOWED": {
    "title": "A secret may not be sent there",
    "explanation": "The secret has destinations, and the step would have sent it elsewhere: to another host or data source, to a task, or into code. The failure is not retryable.",
    "advice": "Use another secret in this step, or store this one with other destinations."
  },
  "SECRET_UNREADABLE": {
    "title": "A secret cannot be decrypted",
    "explanation": "The stored value of the secret is encrypted with a key that the process does not have, or is damaged; the message names the key. The failure is retryable.",
    "advice": "Give the process the key, or store the secret again with `tenuto secrets set NAME`."
  },
  "ADDRESS_REFUSED": {
    "title": "A host may not be called",
    "explanation": "The host of the request, or one that a redirect leads to, is not in the public network and not among the networks that the operator allows for the tenant. Nothing was sent there. The failure is not retryable.",
    "advice": "Use a public address, or let the operator allow the host: `engine.private_networks`."
  },
  "CONNECTION_FAILED": {
    "title": "A host does not answer",
    "explanation": "The name of the host has no address, the host refused the connection or broke it off, or TLS failed. The failure is retryable, unless the certificate of the host is not valid.",
    "advice": "Check the URL and the host; the attempt is repeated as `retry` of the step says."
  },
  "INVALID_REQUEST": {
    "title": "A request cannot be sent",
    "explanation": "The templates of the step gave no URL, method, header or body that can be sent; the message names it. The failure is not retryable.",
    "advice": "Correct the templates; `tenuto show ID --step STEP` shows what they gave."
  },
  "INVALID_RESPONSE": {
    "title": "A response is not what it says",
    "explanation": "The response is not JSON although `responseType` is json, or its text is not in the character set that it names. The failure is not retryable.",
    "advice": "Choose `responseType` text or none, or correct the service."
  },
  "MUTEX_SELF": {
    "title": "A step waits for its own mutex",
    "explanation": "The step asks for a mutex that a step around it has until this step has ended: it would wait for ever. The failure is not retryable.",
    "advice": "Choose another text for the mutex of one of the two steps."
  }
};

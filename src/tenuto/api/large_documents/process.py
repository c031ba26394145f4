"""The process for what is large in requests: `python -m tenuto.api.large_documents.process IN OUT`.

Decoding a document of some megabytes keeps an interpreter to itself for as long as it takes, also
in a thread. This process has its own, and a low priority; it ends with its parent.
"""

from __future__ import annotations

import traceback
from functools import lru_cache

import msgspec

from tenuto.api.large_documents.messages import (
    Answer,
    CheckInput,
    HideTracebacks,
    Question,
    ReadDocument,
    read_question,
    refused,
    write_answer,
)
from tenuto.api.named_document import named
from tenuto.api.problems import Refusal
from tenuto.api.request_parser import read_json
from tenuto.definition.schemas import problems_by_schema
from tenuto.engine.definitions.reading import Reading, read_document
from tenuto.model.call_stack import with_call_room
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.json import JSON
from tenuto.model.tracebacks import text_without_tracebacks
from tenuto.tasks.answering_process import answer_questions


def answer(message: bytes) -> bytes:
    """The answer to a question."""
    question, body = read_question(message)
    return write_answer(answered(question, body))


def answered(question: Question, body: bytes) -> Answer:
    """What is asked of a document, an input or an answer; never an exception."""
    try:
        if isinstance(question, HideTracebacks):
            return Answer(text=text_without_tracebacks(body))
        if isinstance(question, CheckInput):
            return Answer(problems=_problems(question, body))
        return Answer(reading=_reading(question, body))
    except Refusal as error:
        return Answer(refused=refused(error, status=error.status))
    except InvalidInput as error:
        return Answer(refused=refused(error, problems=error.problems))
    except Exception:  # noqa: BLE001 - it is logged where the request is
        return Answer(broken=traceback.format_exc())


def _reading(question: ReadDocument, body: bytes) -> Reading:
    document = read_json(body)
    if question.id is not None:
        document = named(document, question.id)
    return read_document(
        document,
        tenant=question.tenant,
        now=question.now,
        events_kept=question.events_kept,
        is_saved=question.is_saved,
    )


def _problems(question: CheckInput, body: bytes) -> tuple[Problem, ...]:
    return problems_by_schema(_schema(question.schema), msgspec.json.decode(body))


@lru_cache(maxsize=100)
def _schema(text: bytes) -> JSON:
    """The same object for the same text, so that it is compiled once."""
    schema: JSON = msgspec.json.decode(text)
    return schema


if __name__ == "__main__":
    with_call_room(answer_questions, answer)

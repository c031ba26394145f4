"""The outcome of an http node, made from the answer to its request."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import msgspec

from tenuto.built_in.protocol import Failed
from tenuto.egress import Answer, NoAnswer
from tenuto.model.failure import (
    ADDRESS_REFUSED,
    CONNECTION_FAILED,
    CUT,
    INVALID_REQUEST,
    INVALID_RESPONSE,
    TIMEOUT,
    TOO_LARGE,
    Failure,
    clipped,
    status_code,
)
from tenuto.model.graph import Http
from tenuto.model.json import JSON, Object
from tenuto.model.large_json import decode_strictly

MOST_OF_A_FAILURE = 4_000
"""Bytes of the body of a response that is no success, which are kept with the failure."""
_TRANSIENT = frozenset({408, 425, 429})
_ITS_FAULT = range(500, 600)
_OK = range(200, 300)
_UNKNOWN = "\ufffd"
_BOM = b"\xef\xbb\xbf"
_SECONDS = re.compile(r"\d{1,9}\Z")
_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([\w.:-]+)", re.IGNORECASE)
_CHARSETS = re.compile(
    r"(?:us-)?ascii|utf-?8|utf-?16(?:[lb]e)?|iso-8859-\d+|latin-?1|(?:windows|cp)-?125\d"
    r"|koi8-[ru]|shift_jis|euc-(?:jp|kr)|gb2312|gbk|gb18030|big5"
)
_LONGEST_PAUSE = timedelta(days=1)


def is_success(config: Http, status: int) -> bool:
    """Whether a status is one that the node takes as a success."""
    return status in config.success_codes if config.success_codes else status in _OK


def is_well(answer: Answer | NoAnswer) -> bool | None:
    """Whether the host works; None: the answer does not tell."""
    if isinstance(answer, Answer):
        return answer.status not in _TRANSIENT and answer.status not in _ITS_FAULT
    match answer.kind:
        case "connection" | "certificate" | "time":
            return False
        case "size" | "encoding" | "redirect":
            return True
        case "url" | "headers" | "refused":
            return None


def output_of(config: Http, answer: Answer | NoAnswer, now: datetime) -> Object:
    """The output of the node; `Failed`."""
    if isinstance(answer, NoAnswer):
        raise Failed(_no_answer(answer))
    if not is_success(config, answer.status):
        raise _refused(config, answer, now)
    headers: Object = {}
    for name, value in answer.headers:
        before = headers.get(name)
        headers[name] = value if before is None else f"{before}, {value}"
    return {"status": answer.status, "headers": headers, "body": _body(config, answer)}


def _no_answer(answer: NoAnswer) -> Failure:
    code, is_retried, was_done = {
        "url": (INVALID_REQUEST, False, False),
        "headers": (INVALID_REQUEST, False, False),
        "refused": (ADDRESS_REFUSED, False, False),
        "redirect": (ADDRESS_REFUSED, False, False),
        "connection": (CONNECTION_FAILED, True, False),
        "certificate": (CONNECTION_FAILED, False, False),
        "time": (TIMEOUT, True, False),
        "size": (TOO_LARGE, False, True),
        "encoding": (INVALID_RESPONSE, False, True),
    }[answer.kind]
    message = answer.message
    if answer.kind == "refused":
        message += "; the setting engine.private_networks can allow it"
    return Failure(code=code, message=message, retryable=is_retried, was_done=was_done)


def _refused(config: Http, answer: Answer, now: datetime) -> Failed:
    status = answer.status
    if config.retry_on is not None:
        is_retried = status in config.retry_on
    else:
        is_retried = status in _TRANSIENT or status in _ITS_FAULT
    details: Object = {"status": status, "body": _beginning(answer)}
    if (media := answer.header("content-type")) is not None:
        details["contentType"] = media
    reason = f" {answer.reason}" if answer.reason.isprintable() and answer.reason else ""
    failure = Failure(
        code=status_code(status),
        message=f"the host answered {status}{reason}",
        details=details,
        retryable=is_retried,
    )
    return Failed(failure, retry_after=_retry_after(answer, now) if is_retried else None)


def _retry_after(answer: Answer, now: datetime) -> timedelta | None:
    """How long the host asks to wait: seconds, or a moment."""
    text = (answer.header("retry-after") or "").strip()
    if _SECONDS.match(text):
        return min(timedelta(seconds=int(text)), _LONGEST_PAUSE)
    try:
        moment = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return min(max(moment - now, timedelta()), _LONGEST_PAUSE)


def _body(config: Http, answer: Answer) -> JSON:
    if config.response_type == "none" or not answer.body:
        return None
    if config.response_type == "text":
        return _text(answer)
    try:
        value, twice = decode_strictly(answer.body.removeprefix(_BOM))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _not_json(answer, str(error)) from None
    if twice is not None:
        raise _not_json(answer, f"an object has the key {clipped(twice, 100)!r} twice")
    return value


def _not_json(answer: Answer, why: str) -> Failed:
    media = answer.header("content-type") or "without a content type"
    failure = Failure(
        code=INVALID_RESPONSE,
        message=f"the response ({clipped(media, 100)}) is not JSON: {why}",
        details={"status": answer.status, "body": _beginning(answer)},
        retryable=False,
        was_done=True,
    )
    return Failed(failure)


def _text(answer: Answer) -> str:
    found = _CHARSET.search(answer.header("content-type") or "")
    charset = found[1].lower() if found is not None else "utf-8"
    if not _CHARSETS.fullmatch(charset):
        charset = "utf-8"
    try:
        return answer.body.decode(charset, "replace")
    except LookupError:
        return answer.body.decode("utf-8", "replace")


def _beginning(answer: Answer) -> str:
    """The beginning of the body, as it can be kept with a failure."""
    text = _text(answer)[:MOST_OF_A_FAILURE].replace("\0", _UNKNOWN)
    if len(answer.body) < MOST_OF_A_FAILURE:
        return text
    # Of the last character there may be a part only.
    return f"{text.rstrip(_UNKNOWN)}{CUT}"

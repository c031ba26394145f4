"""The page that lists every code: `python -m tests.definition.errors_page > docs/errors.md`."""

from __future__ import annotations

from tenuto.model.codes import CATALOGUE, FAILURES

_CHAPTERS = {
    "TEN-10": "Definitions",
    "TEN-11": "Workflows in Python",
    "TEN-16": "Code, HTTP and data nodes",
    "TEN-18": "Tasks in Python",
    "TEN-2": "Requests and input",
    "TEN-3": "Instances",
    "TEN-4": "Store and operations",
    "TEN-5": "Access",
}

_HEAD = """\
# Errors

A refusal has a code, a place, a message and advice. `tenuto explain CODE` shows one of them.
The page is generated from the catalogue `tenuto/model/codes.toml`; a test keeps the two equal.

A failure inside an instance has a code of another kind, such as `OUT_OF_STOCK` or `TIMEOUT`, which
`onError` and `nonRetryable` match. Those of Tenuto itself are listed
[at the end](#failures-inside-instances); tasks add their own. Where a refusal corresponds to such a
failure, it carries that code as its `reason`.
"""


def page() -> str:
    lines = [_HEAD]
    for prefix, chapter in _CHAPTERS.items():
        lines.append(f"## {chapter}\n")
        for code, row in CATALOGUE.items():
            if code.startswith(prefix):
                lines.append(f"### {code} {row.title}\n")
                at_run_time = f" At run time: `{row.reason}`." if row.reason else ""
                lines.append(f"{row.explanation} **What to do:** {row.advice}{at_run_time}\n")
    lines.append("## Failures inside instances\n")
    for code, row in FAILURES.items():
        lines.append(f"### {code} {row.title}\n")
        lines.append(f"{row.explanation} **What to do:** {row.advice}\n")
    return "\n".join(lines)


if __name__ == "__main__":
    print(page(), end="")

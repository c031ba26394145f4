"""Cutting the source of an expression into tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from tenuto.expr import utf16
from tenuto.expr.bounds import SOURCE_CHARACTERS
from tenuto.expr.errors import ExpressionSyntaxError
from tenuto.expr.numerals import number

Kind = Literal["number", "string", "name", "sign", "end"]


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the source. `text` is a name or a sign; `value` what a literal stands for."""

    kind: Kind
    text: str
    start: int
    end: int
    value: int | float | str = ""


# Fixed patterns without nested repetition: matching is linear in the source.
_PATTERN: Final = re.compile(
    rf"""
    (?P<space>[{utf16.WHITE_SPACE}]+)
  | (?P<number>0[xX][0-9a-fA-F]+ | 0[oO][0-7]+ | 0[bB][01]+
      | (?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)? | \.[0-9]+)(?:[eE][+-]?[0-9]+)?)
  | (?P<name>[A-Za-z_$][A-Za-z0-9_$]*)
  | (?P<string>'(?:[^'\\\n\r]|\\[^\n\r])*' | "(?:[^"\\\n\r]|\\[^\n\r])*")
  | (?P<sign>\.\.\. | === | !== | \*\* | => | && | \|\| | \?\? | \?\.(?![0-9]) | == | != | <= | >=
      | (?P<refused>\+\+ | -- | << | >> | //|/\* | [&|^~=;@\#`\\])
      | [-+*/%!<>?:.,()\[\]{{}}])
    """,
    re.VERBOSE,
)
_ESCAPE: Final = re.compile(
    r"\\(?:x(?P<two>[0-9a-fA-F]{2})|u(?P<four>[0-9a-fA-F]{4})|u\{(?P<many>[0-9a-fA-F]{1,6})\}|(?P<one>.))",
    re.DOTALL,
)
_SIMPLE_ESCAPES: Final = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "0": "\0",
}
_ADVICE: Final = {
    "=": "Expressions do not assign; compare with `===`.",
    "&": "Use `&&` for a logical and.",
    "|": "Use `||` for a logical or.",
    "++": "Expressions change nothing; write `+ 1`.",
    "--": "Expressions change nothing; write `- 1`.",
    ";": "An expression is one value, without statements.",
    "`": "Put text together with `+`, or use a template `{{ … }}`.",
    "//": "There are no comments and no regular expressions.",
    "/*": "There are no comments and no regular expressions.",
}


def tokens(source: str) -> list[Token]:
    """All tokens of `source`, with an end token after the last."""
    if len(source) > SOURCE_CHARACTERS:
        raise ExpressionSyntaxError(
            f"the expression is longer than {SOURCE_CHARACTERS:,} characters",
            source=source[:80] + "…",
            position=SOURCE_CHARACTERS,
            advice="Split the work over several steps.",
        )
    found: list[Token] = []
    position = 0
    while position < len(source):
        token, position = next_token(source, position)
        if token is not None:
            found.append(token)
    found.append(Token("end", "the end", len(source), len(source)))
    return found


def next_token(source: str, position: int) -> tuple[Token | None, int]:
    """The token at `position`, None for white space, and where the next one starts."""
    match = _PATTERN.match(source, position)
    if match is None:
        raise _unreadable(source, position)
    end = match.end()
    if match["space"]:
        return None, end
    if match["refused"]:
        text = match["refused"]
        advice = _ADVICE.get(text, "Bitwise operators are not part of the language.")
        raise ExpressionSyntaxError(
            f"`{text}` cannot be used here", source=source, position=position, advice=advice
        )
    text = match[0]
    if match["number"]:
        return Token("number", text, position, end, _number(source, text, end)), end
    if match["string"]:
        return Token("string", text, position, end, _string(source, text, position)), end
    return Token("name" if match["name"] else "sign", text, position, end), end


def _number(source: str, text: str, end: int) -> int | float:
    following = source[end : end + 1]
    if following.isalnum() or following in ("_", "$"):
        raise ExpressionSyntaxError(
            f"a number cannot be followed by `{following}`",
            source=source,
            position=end,
            advice="Write plain decimal digits: no separators, no leading zeros, no BigInt.",
        )
    if text[:2].lower() in ("0x", "0o", "0b"):
        return int(text, 0)
    # Digits alone stay an int, however many there are: an id is compared with all its digits.
    return int(text) if text.isdigit() else number(float(text))


def _string(source: str, text: str, position: int) -> str:
    if "\\" not in text:
        return text[1:-1]

    def unescape(match: re.Match[str]) -> str:
        code = match["two"] or match["four"] or match["many"]
        if code is not None:
            if int(code, 16) > 0x10FFFF:
                raise _bad_escape(source, position + match.start())
            return utf16.units(chr(int(code, 16)))
        one: str = match["one"]
        follows_digit = match.string[match.end() : match.end() + 1].isdigit()
        if one in "xu123456789" or (one == "0" and follows_digit):
            raise _bad_escape(source, position + match.start())
        return _SIMPLE_ESCAPES.get(one, one)

    return utf16.joined(_ESCAPE.sub(unescape, text[1:-1]))


def _bad_escape(source: str, position: int) -> ExpressionSyntaxError:
    return ExpressionSyntaxError(
        "an escape sequence is not complete",
        source=source,
        position=position,
        advice=r"Write `\n`, `\xHH`, `\uHHHH` or `\\`.",
    )


def _unreadable(source: str, position: int) -> ExpressionSyntaxError:
    character = source[position]
    if character in "'\"":
        message, advice = "a string is never closed", f"Close it with {character} on the same line."
    else:
        message = f"the character {character!r} is not part of the language"
        advice = "Names are plain ASCII; reach other keys with ['…']."
    return ExpressionSyntaxError(message, source=source, position=position, advice=advice)

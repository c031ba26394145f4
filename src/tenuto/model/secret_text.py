"""Texts without what looks like a secret."""

from __future__ import annotations

import re

HIDDEN = "…"
_SECRET = re.compile(
    r"tnt_[0-9a-f]+_\w+|whsec_[\w+/=]+|(?<=://)[^/@\s]+(?=@)"
    r"|(?<![\w-])(?=[\w-]++\.[\w-]++\.)[\w-]*?eyJ[\w-]+\.[\w-]+\.[\w-]*"
)
"""API keys, secrets of webhooks, credentials in a URL, and tokens.

The text comes from outside, so that the search has to be linear in its length. A token is therefore
looked for once in each word, from its beginning, and only where the two dots follow: tried anew at
each `eyJ`, a long word would be read as often as it has one.
"""
_SIGNS = ("tnt_", "whsec_", "://", "eyJ")
"""Every such text has one of them; a quick test, since every request is logged."""
_NAMED = re.compile(
    r"(?i:(passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|private[_-]?key|access[_-]?key)"
    r"""(['"]?\s{0,3}[=:]\s{0,3}['"]?))"""
    r"""(?!…)(?:(?<=')[^']+|(?<=")[^"]+|[^\s'",;&)}\]]+)"""
    r"""|(?i:(authorization)(['"]?\s{0,3}[=:]\s{0,3}['"]?(?:bearer|basic)?\s{0,3}))"""
    r"""(?!…)[^\s'",;&)}\]]+"""
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\b[sr]k_(?:live|test)_\w+"
)
"""Values after a name that says that they are secret, and keys with the signs of their services.

Each alternative begins with fixed letters, and what follows is read once: the search is linear.
"""
_WORDS = re.compile(r"(?i:passw|passphrase|pwd|secret|token|key|authorization)|A[KS]IA|[sr]k_")


def whole_text(text: str) -> str:
    """Without unpaired surrogates, which JavaScript may send."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def without_secret_text(text: str) -> str:
    """A text without what looks like a secret, and without unpaired surrogates."""
    text = whole_text(text)
    return _SECRET.sub(HIDDEN, text) if any(sign in text for sign in _SIGNS) else text


def without_named_secrets(text: str) -> str:
    """A line of a log without what looks like a secret, nor what is called one: `password=…`."""
    text = without_secret_text(text)
    return _NAMED.sub(_hidden, text) if _WORDS.search(text) else text


def _hidden(found: re.Match[str]) -> str:
    name, between = found[1] or found[3] or "", found[2] or found[4] or ""
    return f"{name}{between}{HIDDEN}"

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


def whole_text(text: str) -> str:
    """Without unpaired surrogates, which JavaScript may send."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def without_secret_text(text: str) -> str:
    """A text without what looks like a secret, and without unpaired surrogates."""
    text = whole_text(text)
    return _SECRET.sub(HIDDEN, text) if any(sign in text for sign in _SIGNS) else text

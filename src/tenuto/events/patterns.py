"""Patterns of events: words with dots between them, `*` for one word, `**` for one or more."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=4096)
def fits(pattern: str, name: str) -> bool:
    """Whether `pattern` matches events called `name`."""
    if "*" not in pattern:
        return pattern == name
    words = name.split(".")
    # reachable[i]: the pattern so far can match exactly the first i words
    reachable = [True] + [False] * len(words)
    for part in pattern.split("."):
        following = [False] * (len(words) + 1)
        for used, is_reachable in enumerate(reachable[:-1]):
            if part == "**":
                following[used + 1] = is_reachable or following[used]
            else:
                following[used + 1] = is_reachable and part in ("*", words[used])
        reachable = following
    return reachable[-1]

"""Names of keys: for people, and none that looks like an identity or a name of this program."""

from __future__ import annotations

import re
import unicodedata

LONGEST = 100
RESERVED = frozenset({"admin", "admin-key", "app", "cli", "local", "system", "widget"})
"""Names under which this program, its command line and its admin key are in logs."""
_PREFIXES = ("key:", "callback:", "schedule:", "outside schedule:")
"""What identities of other principals begin with."""
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Letters and marks that count as printable and leave no mark (Default_Ignorable_Code_Point)."""
_BETWEEN = "|"
"""Between the issuer and the subject of a token."""


def name_problem(name: str) -> str | None:
    """Why a new key cannot have this name; None: it can."""
    if not name.strip() or len(name) > LONGEST or not name.isprintable():
        return f"a name has 1 to {LONGEST} characters, all of which can be printed"
    if _UNSEEN.search(name):
        return f"{name!r} has characters that cannot be seen, and looks like another name"
    if name != name.strip():
        return f"{name!r} begins or ends with white space, and looks like another name"
    # As people read it: wide letters look like others.
    read = unicodedata.normalize("NFKC", name).casefold().strip()
    if read in RESERVED:
        return f"{name!r} is a name under which Tenuto itself is in logs"
    if read.startswith(_PREFIXES) or _BETWEEN in read:
        return f"{name!r} looks like the identity of another key, user or callback"
    return None

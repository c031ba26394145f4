"""What a database can tell of a wait's condition: the texts and numbers that a payload has to have.

It only ever lets too much through, never too little: whatever comes back is tried by the condition.
So no term is given that a database might read otherwise than an expression does.
"""

from __future__ import annotations

import re

import msgspec

from tenuto.expr import LOOSE
from tenuto.store.parts.inbox import PastTerm
from tenuto.store.parts.waits import WaitRow

_PAYLOAD = "payload."
_NUMBER = re.compile(r"-?[0-9]{1,200}(\.[0-9]{1,200})?(e[+-]?[0-9]{1,3})?")
_decode = msgspec.json.Decoder(list[str]).decode
_unquote = msgspec.json.Decoder(str).decode


def indexed_terms(wait: WaitRow) -> tuple[PastTerm, ...]:
    """The equality terms of a wait by which stored events can be told apart."""
    if not wait.term_paths:
        return ()
    found = []
    for path, value in zip(_decode(wait.term_paths), _decode(wait.term_values), strict=True):
        # What `==` converts into one another is for the condition to say.
        if not path.startswith(_PAYLOAD) or path.endswith(LOOSE):
            continue
        names = path.removeprefix(_PAYLOAD)
        if value.startswith('"'):
            found.append(PastTerm(names, _unquote(value), None))
        elif _NUMBER.fullmatch(value):
            found.append(PastTerm(names, None, value))
    return tuple(found)

"""The catalogues of codes: what each means and how to resolve it.

`codes.toml` has the TEN-codes of refusals, `failures.toml` the codes that instances fail with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final

from msgspec import Struct, convert


class Code(Struct, frozen=True):
    """One kind of refusal, or of failure."""

    title: str
    explanation: str
    advice: str
    reason: str | None = None
    """The code that the same fault has where it occurs while an instance runs."""


class _Catalogue(Mapping[str, Code]):
    """The table of a file, read when the first code is looked up: most processes need none."""

    def __init__(self, file: str) -> None:
        self._file = file

    @cached_property
    def _codes(self) -> Mapping[str, Code]:
        # Imported here for the same reason.
        import tomllib  # noqa: PLC0415
        from importlib.resources import files  # noqa: PLC0415

        text = files("tenuto.model").joinpath(self._file).read_text("utf-8")
        return convert(tomllib.loads(text), dict[str, Code])

    def __getitem__(self, code: str) -> Code:
        return self._codes[code]

    def __iter__(self) -> Iterator[str]:
        return iter(self._codes)

    def __len__(self) -> int:
        return len(self._codes)


CATALOGUE: Final[Mapping[str, Code]] = _Catalogue("codes.toml")
"""Code of a refusal → what it means."""
FAILURES: Final[Mapping[str, Code]] = _Catalogue("failures.toml")
"""Code of a failure inside an instance → what it means."""

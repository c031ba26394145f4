"""The catalogue of TEN-codes, from `codes.toml`: what each refusal means and how to resolve it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final

from msgspec import Struct, convert


class Code(Struct, frozen=True):
    """One kind of refusal."""

    title: str
    explanation: str
    advice: str
    reason: str | None = None
    """The code that the same fault has where it occurs while an instance runs."""


class _Catalogue(Mapping[str, Code]):
    """The table of the file, read when the first code is looked up: most processes need none."""

    @cached_property
    def _codes(self) -> Mapping[str, Code]:
        # Imported here for the same reason.
        import tomllib  # noqa: PLC0415
        from importlib.resources import files  # noqa: PLC0415

        text = files("tenuto.model").joinpath("codes.toml").read_text("utf-8")
        return convert(tomllib.loads(text), dict[str, Code])

    def __getitem__(self, code: str) -> Code:
        return self._codes[code]

    def __iter__(self) -> Iterator[str]:
        return iter(self._codes)

    def __len__(self) -> int:
        return len(self._codes)


CATALOGUE: Final[Mapping[str, Code]] = _Catalogue()
"""Code → what it means."""

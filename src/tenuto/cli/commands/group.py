"""The commands as a whole: who reads JSON is told of wrong usage as of any other error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from typer import TyperException
from typer.core import TyperGroup

from tenuto.cli.views.terminal import show_json

if TYPE_CHECKING:
    from typer import Context

CODE: Final = "TEN-2640"
_WORDS: Final = "tenuto.words"


class Commands(TyperGroup):
    """All of them; what is wrong with how one is called is told on stderr, and as JSON if asked."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Keep the words: which of them say how to answer is not known when one is wrong."""
        ctx.meta[_WORDS] = words = tuple(args)
        try:
            return super().parse_args(ctx, args)
        except TyperException as error:
            _tell(error, words)
            raise

    def invoke(self, ctx: Context) -> Any:  # type: ignore[override] # noqa: ANN401 - whatever it gives
        """Call the command that is named."""
        try:
            return super().invoke(ctx)
        except TyperException as error:
            _tell(error, ctx.meta[_WORDS])
            raise


def _tell(error: TyperException, words: Sequence[str]) -> None:
    if _is_json_asked(words):
        show_json({"error": {"code": CODE, "message": error.format_message()}})


def _is_json_asked(words: Sequence[str]) -> bool:
    """Whether `-o json` is among the words, in any of its forms."""
    pairs = zip(words, [*words[1:], ""], strict=True)
    return any(
        word in ("-ojson", "-o=json", "--output=json")
        or (word in ("-o", "--output") and following == "json")
        for word, following in pairs
    )

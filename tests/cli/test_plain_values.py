"""Plain values of options are what the parser makes of them; all others are left to the parser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import pytest
import typer
from typer.core import TyperCommand
from typer.testing import CliRunner

from tenuto.cli.plain_values import PlainCommand


def command(
    files: Annotated[list[Path] | None, typer.Argument()] = None,
    *,
    text: str | None = None,
    texts: Annotated[list[str] | None, typer.Option("--each")] = None,
    count: int = 3,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000)] = 20,
    seconds: Annotated[float | None, typer.Option("--seconds", min=0)] = None,
    form: Annotated[Literal["table", "json"], typer.Option("--form", "-o")] = "table",
    is_quiet: Annotated[bool | None, typer.Option("--quiet/--loud")] = None,
    folder: Path | None = None,
) -> None:
    typer.echo(repr((files, text, texts, count, limit, seconds, form, is_quiet, folder)))


def ended(kind: type[TyperCommand], words: tuple[str, ...]) -> tuple[int, str]:
    app = typer.Typer(rich_markup_mode=None)
    app.command(cls=kind)(command)
    result = CliRunner().invoke(app, words, env={"COLUMNS": "200"})
    return result.exit_code, result.output


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--help",),
        ("a.json", "dir/b.json", "-"),
        ("unreadable",),
        ("--text", ""),
        ("--text", "ä\ud800"),
        ("--each", "a", "--each", "b"),
        ("--count", "007"),
        ("--count", "-1"),
        ("--count", " 1"),
        ("--count", "1_000"),
        ("--count", "٣"),
        ("--count", "1" * 30),
        ("--count", "x"),
        ("--limit", "1"),
        ("--limit", "0"),
        ("--limit", "1001"),
        ("--seconds", "1.5"),
        ("--seconds", "-1"),
        ("-o", "json"),
        ("-o", "JSON"),
        ("-o", "xml"),
        ("--quiet",),
        ("--loud",),
        ("--folder", "."),
        ("--folder", "none"),
        ("--bogus",),
    ],
)
def test_a_value_is_what_the_parser_makes_of_it(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "unreadable").touch(mode=0)
    monkeypatch.chdir(tmp_path)
    assert ended(PlainCommand, words) == ended(TyperCommand, words)

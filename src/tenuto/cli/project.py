"""`tenuto init`: the files of a project that runs, from a template."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tenuto.model.errors import InvalidInput, Problem

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_SUFFIX: Final = ".tmpl"
_COMMON: Final = "common"
_MOST_NAMED: Final = 10
_UNWANTED: Final = re.compile(r"[\x00-\x1f\x7f]")


def templates() -> list[str]:
    """The names of all templates."""
    return sorted(each.name for each in _folder().iterdir() if _is_template(each))


def project_files(template: str, name: str) -> dict[str, str]:
    """The files of a project: name → text."""
    sources = [*_folder().joinpath(_COMMON).iterdir(), *_folder().joinpath(template).iterdir()]
    return {
        each.name.removesuffix(_SUFFIX): each.read_text("utf-8").replace("{name}", name)
        for each in sources
        if each.name.endswith(_SUFFIX)
    }


def make_project(folder: Path, template: str, *, force: bool) -> list[Path]:
    """Write the files, all or none, and return them; InvalidInput names what stands in the way."""
    made = project_files(template, _name(folder))
    try:
        _refuse_occupied(folder, made, force=force)
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(13, "Permission denied", str(folder))
        for name, text in made.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise _refusal(
            str(error.filename or folder),
            f"it cannot be written: {error.strerror}",
            "Choose another folder, or check who may write there.",
        ) from error
    return [folder / name for name in sorted(made)]


def _refuse_occupied(folder: Path, made: Mapping[str, str], *, force: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise _refusal(str(folder), "it is a file", "Choose another name.")
    there = sorted(each.name for each in folder.iterdir()) if folder.is_dir() else []
    if not there:
        return
    if not force:
        named = ", ".join(there[:_MOST_NAMED])
        more = len(there) - _MOST_NAMED
        raise _refusal(
            str(folder),
            f"the folder has files already: {named}{f' and {more} more' if more > 0 else ''}",
            "Name a new folder: tenuto init NAME; or add the files beside them, and replace those "
            "of the same name, with --force.",
        )
    if blocked := [name for name in made if (folder / name).is_dir()]:
        raise _refusal(str(folder), f"it has folders called {', '.join(blocked)}", "Rename them.")


def _refusal(path: str, message: str, advice: str) -> InvalidInput:
    problem = Problem(code="TEN-2650", path=path, message=message, advice=advice)
    return InvalidInput("no project was made, and no file was changed", [problem])


def _name(folder: Path) -> str:
    return _UNWANTED.sub("", folder.resolve().name) or "project"


def _folder() -> Traversable:
    return files("tenuto.cli").joinpath("templates")


def _is_template(each: Traversable) -> bool:
    return each.is_dir() and each.name != _COMMON and not each.name.startswith("_")

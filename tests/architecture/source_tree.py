"""The project's own files, as the architecture tests read them."""

from __future__ import annotations

import ast
import functools
import gc
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "tenuto"

Finding = tuple[int, str]
"""A line and what is wrong there."""

Scan = Callable[[ast.Module], Iterable[Finding]]


NOT_OURS = frozenset({".git", ".venv", "__pycache__", "build", "dist", "htmlcov", "node_modules"})


@functools.cache
def project_files() -> tuple[Path, ...]:
    """Every file that is tracked or would be, so that a fault is found before it is committed."""
    return tuple(sorted(file for file in _listed_by_git() or _walked() if file.is_file()))


def _listed_by_git() -> list[Path]:
    """What git lists; nothing where there is no git or no repository, as in a source archive."""
    try:
        listing = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
    except (FileNotFoundError, subprocess.CalledProcessError):
        return []
    return [ROOT / name for name in listing.stdout.decode().split("\0") if name]


def _walked() -> list[Path]:
    return [
        file
        for file in ROOT.rglob("*")
        if not NOT_OURS & set(file.relative_to(ROOT).parts)
        and not any(part.endswith("_cache") for part in file.relative_to(ROOT).parts)
    ]


@functools.cache
def texts() -> tuple[tuple[Path, str], ...]:
    return tuple(_read(project_files()))


def _read(files: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    for file in files:
        try:
            yield file, file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def modules(*folders: Path) -> list[Path]:
    """The Python files of the project, or of some folders of it."""
    return [
        file
        for file in project_files()
        if file.suffix == ".py"
        and (not folders or any(file.is_relative_to(folder) for folder in folders))
    ]


def findings(files: Iterable[Path], scan: Scan, where: re.Pattern[str] | None = None) -> list[str]:
    """What a scan finds in files, written the way editors follow it.

    Only files in which `where` is found are parsed, which takes seconds for all of them.
    """
    return [
        f"{file.relative_to(ROOT)}:{line}: {message}"
        for file in files
        if where is None or where.search(file.read_text(encoding="utf-8"))
        for line, message in scan(_tree(file))
    ]


# Not all of them are kept: the trees of the whole project are hundreds of megabytes.
@functools.lru_cache(maxsize=300)
def _tree(file: Path) -> ast.Module:
    return parsed(file)


def parsed(file: Path) -> ast.Module:
    """The tree of a file; its thousands of new objects are no reason to look for garbage."""
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(file.read_bytes(), filename=str(file))
    finally:
        if is_collecting:
            gc.enable()


def dotted(node: ast.AST) -> str | None:
    """`a.b.c` for a chain of attributes on a name, else None."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            start = dotted(value)
            return None if start is None else f"{start}.{attr}"
        case _:
            return None


def imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The modules that a module imports, each with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield node.lineno, module
            case _:
                pass

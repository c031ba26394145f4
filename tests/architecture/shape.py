"""The project's shape in figures: `make shape`, or `python -m tests.architecture.shape [RANGE]`.

RANGE is what `git log` takes, such as `main~50..`, or one commit; without it the last hundred
commits are read. No figure is a limit: they compare one change, or one state of the tree, with
another.
"""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import mean, median
from typing import NamedTuple

from tenuto.api.operation import API
from tenuto.api.registry import OPERATIONS
from tests.architecture.source_tree import ROOT, SOURCE, modules, parsed, project_files

STORE = SOURCE / "store"
DIALECTS = ("memory", "postgres", "sqlite")
WORDS = re.compile(r"\b(?:whoever|nobody|somebody|whom|what\s+is)\b", re.IGNORECASE)
GENERATED = re.compile(r"\bgenerated (?:by|from)\b", re.IGNORECASE)
STATEMENT = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_DECLARING = frozenset({"Protocol", "ColdPart"})
"""The bases of a part: its contract, or one class for all stores."""
NOUNS = frozenset({"string", "timing", "setting", "ping", "thing"})
"""Words that end in -ing and name a thing."""


class Figure(NamedTuple):
    """One line of the table."""

    name: str
    value: str


class Verb(NamedTuple):
    """One method of a store protocol."""

    part: str
    name: str


def figures(revisions: str) -> Iterator[Figure]:
    """Every line of the table."""
    places = verb_places()
    counts = [len(files) for files in places.values()]
    most = max(places, key=lambda verb: len(places[verb]))
    yield Figure("store verbs", f"{len(places)}")
    yield Figure(
        "files that name a store verb",
        f"mean {mean(counts):.1f}, most {max(counts)} ({most.part}.{most.name})",
    )
    newest, touched = files_by_commit(revisions)
    yield Figure(f"files in src, {newest}", f"{touched.get(newest, 0)}")
    protocols = [touched[each] for each in commits_of_protocols(revisions) if each in touched]
    yield Figure(
        "files in src, commits that touch a store protocol",
        f"mean {mean(protocols):.1f} of {len(protocols)}" if protocols else "no such commit",
    )
    named, known = client_operations()
    yield Figure("operations that the client names", f"{len(named)} of {known}")
    yield Figure("forks `store or server` in cli", f"{server_forks()}")
    yield Figure("gerund modules in engine and cli", f"{len(gerund_modules())}")
    yield Figure("whoever, nobody, somebody, whom, what is", f"{words_to_avoid()}")
    yield from size()


# -- the store


def protocol_files() -> list[Path]:
    """The files of store protocols: in `store/parts`, else all in `store` but the dialects' own."""
    found = [
        file
        for file in modules(STORE)
        if file.relative_to(STORE).parts[0] not in DIALECTS and any(_protocols(file))
    ]
    return [file for file in found if file.parent.name == "parts"] or found


def verb_places() -> dict[Verb, set[Path]]:
    """Verb → files of the store and of its fault wrapper that declare, define or name it.

    These are: the protocol, classes and functions of that name, a string that is the name, and the
    SQL files whose statements such a function executes. A file that is named after another part
    with a verb of this name is not counted.
    """
    declared = {
        file: {verb for each in _protocols(file) for verb in _verbs(each)}
        for file in protocol_files()
    }
    has_parts = all(file.parent.name == "parts" for file in declared)
    declaring = defaultdict[str, set[str]](set)
    for file, names in declared.items():
        # A protocol that only repeats the verbs of others (what a tenant may read) has none itself.
        others = set[str]().union(*(each for other, each in declared.items() if other != file))
        for name in names if names - others else ():
            declaring[name].add(_part(file))
    statements = {
        file: frozenset(STATEMENT.findall(file.read_text("utf-8")))
        for file in project_files()
        if file.suffix == ".sql" and file.is_relative_to(STORE)
    }
    places: dict[Verb, set[Path]] = {
        Verb(part, name): set() for name, parts in declaring.items() for part in parts
    }
    for file in (*modules(STORE), *modules(SOURCE / "testing")):
        is_of_store = file.is_relative_to(STORE)
        if not is_of_store and "fault" not in file.stem:
            continue
        for name, uses in _named(file).items():
            for part in declaring.get(name, ()):
                is_of_another = _part(file) in declaring[name] - {part}
                if is_of_another or (has_parts and _is_elsewhere(file, part)):
                    continue
                place = places[Verb(part, name)]
                place.add(file)
                place.update(
                    sql
                    for sql, there in statements.items()
                    if there & uses
                    and (_dialect(file) is None or _dialect(sql) in (_dialect(file), None))
                )
    return places


def _is_elsewhere(file: Path, part: str) -> bool:
    """Whether another file than this one implements the part, for its dialect or for all."""
    own = (file.parent / f"{part}.py", STORE / "cold" / f"{part}.py")
    return file.stem != part and any(each.exists() for each in own)


def _part(file: Path) -> str:
    return file.stem.removesuffix("_protocol")


def _dialect(file: Path) -> str | None:
    first = file.relative_to(STORE).parts[0] if file.is_relative_to(STORE) else ""
    return first if first in DIALECTS else None


def _protocols(file: Path) -> Iterator[ast.ClassDef]:
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.ClassDef) and _DECLARING & set(map(_last_name, node.bases)):
            yield node


def _verbs(protocol: ast.ClassDef) -> Iterator[str]:
    for node in protocol.body:
        if isinstance(node, ast.AsyncFunctionDef) and not node.name.startswith("_"):
            yield node.name


def _named(file: Path) -> dict[str, frozenset[str]]:
    """Functions that a file defines → the strings in them; and strings by themselves."""
    found: dict[str, frozenset[str]] = {}
    for node in ast.walk(_tree(file)):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                strings = frozenset(_strings(node))
                found[node.name] = found.get(node.name, frozenset()) | strings
            case ast.Constant(value=str(text)) if "fault" in file.stem and text.isidentifier():
                found.setdefault(text, frozenset())
            case _:
                pass
    return found


def _strings(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


# -- commits


def files_by_commit(revisions: str) -> tuple[str, dict[str, int]]:
    """The newest commit of a range, and how many files in src each commit of it changes."""
    touched: dict[str, int] = {}
    newest = ""
    for line in _log(revisions, "--name-only").splitlines():
        if line.startswith("commit "):
            newest = newest or line.split()[1]
            touched[line.split()[1]] = 0
        elif line.startswith("src/"):
            touched[next(reversed(touched))] += 1
    return newest, touched


def commits_of_protocols(revisions: str) -> list[str]:
    """The commits of a range that change a store protocol."""
    paths = [
        ":(glob)src/tenuto/store/*protocol*.py",
        ":(glob)src/tenuto/store/parts/**/*.py",
        *(str(file.relative_to(ROOT)) for file in protocol_files()),
    ]
    lines = _log(revisions, "--", *paths).splitlines()
    return [line.split()[1] for line in lines if line.startswith("commit ")]


def _log(revisions: str, *arguments: str) -> str:
    wanted = ["-1"] if ".." not in revisions and revisions else []
    command = ["git", "log", "--no-merges", "--format=commit %h"]
    command += [*wanted, revisions or "-100", *arguments]
    try:
        run = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
    except FileNotFoundError:
        return ""
    except subprocess.CalledProcessError as error:
        raise SystemExit(error.stderr.strip()) from None
    return run.stdout


# -- the faces


def client_operations() -> tuple[set[str], int]:
    """The operations that the client names, and how many the registry has.

    It names one by a method of that name, or by its path: a path that is put together from pieces
    counts by its last ones.
    """
    operations = {
        each.name: (each.method, PLACEHOLDER.sub("{}", each.path).removeprefix(API))
        for each in OPERATIONS
    }
    client = modules(SOURCE / "client")
    names = {name for file in client for name in _named(file)}
    paths = {path for file in client for path in _paths(_tree(file))}
    return {
        name for name, path in operations.items() if name in names or _is_named(path, paths)
    }, len(operations)


def _paths(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Method and path template of what the client asks for."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(args=[ast.Constant(value=str(method)), path, *_]) if method.isupper():
                yield method, _template(path)
            case ast.Call(func=func, args=[*arguments]):
                is_command = _last_name(func) == "_command"
                for each in arguments:
                    template = _template(each)
                    if template.startswith(("/", "{}")) or is_command:
                        yield "POST" if is_command else "GET", template
            case ast.Assign(value=ast.JoinedStr() as path):
                yield "GET", _template(path)
            case _:
                pass


def _template(path: ast.expr) -> str:
    """A path with `{}` for each value in it; the API's prefix is left out."""
    match path:
        case ast.Constant(value=str(text)):
            found = PLACEHOLDER.sub("{}", text)
        case ast.JoinedStr(values=values):
            found = "".join(
                str(each.value) if isinstance(each, ast.Constant) else _value(each)
                for each in values
            )
            found = PLACEHOLDER.sub("{}", found)
        case _:
            return ""
    return found.removeprefix(API)


def _value(part: ast.expr) -> str:
    is_prefix = isinstance(part, ast.FormattedValue) and _last_name(part.value) == "API"
    return "" if is_prefix else "{}"


def _is_named(operation: tuple[str, str], paths: Iterable[tuple[str, str]]) -> bool:
    method, path = operation
    return any(
        asked == method
        and (there == path or path == f"/instances/{{}}/{there.removeprefix('{}').lstrip('/')}")
        for asked, there in paths
    )


def server_forks() -> int:
    """How often the command line asks whether it talks to a store or to a server."""
    return sum(
        1
        for file in modules(SOURCE / "cli")
        for node in ast.walk(_tree(file))
        if isinstance(node, ast.Call)
        and _last_name(node.func) == "isinstance"
        and any("Server" in name or "Remote" in name for name in _all_names(node.args[1]))
    )


# -- names and words


def gerund_modules() -> list[str]:
    """The modules of engine and cli that are named after what is done."""
    return sorted(
        str(file.relative_to(SOURCE))
        for file in modules(SOURCE / "engine", SOURCE / "cli")
        if any(word.endswith("ing") and word not in NOUNS for word in file.stem.split("_"))
    )


def words_to_avoid() -> int:
    """Pronouns that stand in for the name of a thing, in src and docs."""
    return sum(
        len(WORDS.findall(file.read_text("utf-8")))
        for file in project_files()
        if file.suffix in {".py", ".sql", ".md"}
        and (file.is_relative_to(SOURCE) or file.is_relative_to(ROOT / "docs"))
    )


# -- size


def size() -> Iterator[Figure]:
    """Files and lines of Python in src."""
    lines = {file: file.read_text("utf-8").count("\n") for file in modules(SOURCE)}
    generated = [file for file in lines if _is_generated(file)]
    written = {file: count for file, count in lines.items() if file not in generated}
    largest = max(written, key=written.__getitem__)
    yield Figure("lines of Python in src", f"{sum(lines.values()):,}")
    yield Figure("  without generated files", f"{sum(written.values()):,}")
    yield Figure("files of Python in src", f"{len(lines)} ({len(generated)} generated)")
    yield Figure("median file", f"{median(written.values()):.0f} lines")
    yield Figure("largest file", f"{written[largest]:,} lines ({largest.relative_to(SOURCE)})")


def _is_generated(file: Path) -> bool:
    """Whether the module's docstring, or a comment above it, says that a program wrote it."""
    text = file.read_text("utf-8")
    comments = "\n".join(line for line in text.splitlines()[:5] if line.startswith("#"))
    docstring = ast.get_docstring(_tree(file)) or ""
    return GENERATED.search(f"{comments}\n{docstring}") is not None


# -- syntax trees


@functools.cache
def _tree(file: Path) -> ast.Module:
    return parsed(file)


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return _last_name(value)
        case _:
            return ""


def _all_names(node: ast.expr) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Name | ast.Attribute):
            yield _last_name(each)


def main() -> None:
    """Print the table."""
    table = list(figures(" ".join(sys.argv[1:])))
    width = max(len(figure.name) for figure in table)
    for figure in table:
        print(f"{figure.name:<{width}}  {figure.value}")


if __name__ == "__main__":
    main()

"""An import contract that is a table: each package, and what it may import.

import-linter's own contracts name what is forbidden and refuse modules that do not exist. This one
names what is allowed, so that a new package or a new dependency is a decision somebody writes down
in pyproject.toml.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

ANYTHING = "*"

Table = Mapping[str, Sequence[str]]


class Fault(NamedTuple):
    """One import that no row allows, or one module that no row speaks for."""

    module: str
    message: str


class TableField(fields.Field[Table]):
    """A TOML table from a name to a list of names."""

    def parse(self, raw_data: object) -> Table:
        if not isinstance(raw_data, dict):
            raise fields.ValidationError("Expected a table of lists.")
        for name, names in raw_data.items():
            if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
                raise fields.ValidationError(f"Expected a list of names for {name!r}.")
        return raw_data


class AllowListContract(Contract):
    """Kept when every import inside the root package is allowed by the importer's row."""

    type_name = "allow_list"

    # import-linter puts the parsed value where the field stood.
    may_import: Table = TableField()  # type: ignore[assignment]
    kept_to: Table = TableField(required=False, default={})  # type: ignore[assignment]

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        faults = [
            *unlisted_modules(graph, self.may_import),
            *forbidden_imports(graph, self.may_import),
            *strayed_packages(graph, self.may_import, self.kept_to),
        ]
        output.verbose_print(verbose, f"{len(self.may_import)} rows, {len(faults)} faults.")
        return ContractCheck(kept=not faults, metadata={"faults": faults})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for fault in check.metadata["faults"]:
            output.print_error(fault.message)
            output.new_line()


def row_of(module: str, rows: Table) -> str | None:
    """The most specific row that speaks for a module; the root's row speaks for the root alone."""
    name = module
    while name not in rows:
        name, dot, _ = name.rpartition(".")
        if not dot:
            return None
    is_root = "." not in name
    return None if is_root and module != name else name


def unlisted_modules(graph: ImportGraph, rows: Table) -> Iterator[Fault]:
    for module in sorted(_internal(graph, rows)):
        if row_of(module, rows) is None:
            yield Fault(module, f"{module} has no row: say in pyproject.toml what it may import.")


def forbidden_imports(graph: ImportGraph, rows: Table) -> Iterator[Fault]:
    internal = _internal(graph, rows)
    for importer in sorted(internal):
        row = row_of(importer, rows)
        if row is None or ANYTHING in rows[row]:
            continue
        for imported in sorted(graph.find_modules_directly_imported_by(importer) & internal):
            target = row_of(imported, rows)
            if target is not None and target != row and target not in rows[row]:
                place = _place(graph, importer, imported)
                # An import of a module that is missing shows as one of the root.
                maybe = (
                    " If it names a module, that module does not exist."
                    if "." not in target
                    else ""
                )
                yield Fault(importer, f"{place}: the row of {row} does not allow {target}.{maybe}")


def strayed_packages(graph: ImportGraph, rows: Table, kept_to: Table) -> Iterator[Fault]:
    for package in sorted(set(kept_to) & graph.modules):
        for importer in sorted(graph.find_modules_that_directly_import(package)):
            if row_of(importer, rows) not in kept_to[package]:
                place = _place(graph, importer, package)
                homes = ", ".join(kept_to[package])
                yield Fault(importer, f"{place}: {package} is kept to {homes}.")


def _internal(graph: ImportGraph, rows: Table) -> set[str]:
    roots = {row.partition(".")[0] for row in rows}
    return {module for module in graph.modules if module.partition(".")[0] in roots}


def _place(graph: ImportGraph, importer: str, imported: str) -> str:
    details = graph.get_import_details(importer=importer, imported=imported)
    lines = ", ".join(str(line) for line in sorted({each["line_number"] for each in details}))
    return f"{importer} imports {imported} (line {lines})"

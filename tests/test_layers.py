"""Who may import whom: the rooms of the package stand in the order in which data flow."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import rocframe as rf
from tests.all_cases import all_cases

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(rf.__file__).parent
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")

# Upstream first: a room imports itself and rooms above it.
ROOMS = [
    "text",
    "errors",
    "options",
    "datasets",
    "frames",
    "rates",
    "kinds",
    "schemas",
    "inputs",
    "kernel",
    "curves",
    "inference",
    "areas",
    "metrics",
    "bands",
    "averages",
    "comparisons",
    "significance",
    "classes",
    "planning",
    "expressions",
    "namespace",
    "io",
    "charts",
    "reports",
    "cli",
]

# What only some rooms may import, and nothing loads before it is needed.
GUESTS = {
    "altair": {"charts", "reports"},
    "pyarrow": {"io"},
    "scipy": {
        "curves",
        "inference",
        "areas",
        "averages",
        "bands",
        "comparisons",
        "significance",
        "planning",
    },
    "numpy": {
        "rates",
        "kinds",
        "inputs",
        "kernel",
        "curves",
        "inference",
        "areas",
        "bands",
        "metrics",
        "averages",
        "comparisons",
        "significance",
        "classes",
        "charts",
    },
    "cyclopts": {"cli"},
    "rich": {"cli"},
    "vl_convert": {"reports"},
    "narwhals": set(),
    "duckdb": set(),
    "pyspark": set(),
}


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def module(path: Path) -> str:
    return ".".join(("rocframe", *path.relative_to(PACKAGE).with_suffix("").parts))


def imports(tree: ast.AST) -> Iterator[tuple[str, str | None]]:
    """Yield what is imported: a module, and the name taken from it if there is one."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((name.name, None) for name in names)
            case ast.ImportFrom(module=str(source), names=names):
                yield from ((source, name.name) for name in names)


class Untyped(ast.NodeTransformer):
    """Leave out what is imported for type checkers alone."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        typed = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return None if typed else self.generic_visit(node)


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def without_types(path: Path) -> ast.Module:
    return Untyped().visit(ast.parse(path.read_text(encoding="utf-8")))


def rooms_imported_by(path: Path) -> set[str]:
    found = set()
    for source, name in imports(parsed(path)):
        if source == "rocframe" and name not in {None, "__version__"}:
            found.add(str(name))
        elif source.startswith("rocframe."):
            found.add(source.split(".")[1])
    return found


def test_every_file_stands_in_a_room():
    assert {room(path) for path in FILES} <= set(ROOMS)
    assert len(ROOMS) == len(set(ROOMS))


def test_imports_point_upstream():
    with all_cases() as case:
        for path in FILES:
            with case(name_of(path)):
                upstream = set(ROOMS[: ROOMS.index(room(path)) + 1])
                assert rooms_imported_by(path) - upstream == set()


def test_the_package_itself_is_imported_inside_functions_only():
    with all_cases() as case:
        for path in FILES:
            with case(name_of(path)):
                body = without_types(path).body
                top = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
                assert "rocframe" not in {source for node in top for source, _ in imports(node)}


def test_no_module_imports_itself_around_corners():
    known = {module(path).removesuffix(".__init__"): path for path in FILES}
    edges = {
        name: {source for source, _ in imports(without_types(path)) if source in known}
        for name, path in known.items()
    }
    # Take away what imports nothing that is left, until nothing is: what stays is a circle.
    while ready := [name for name, targets in edges.items() if not targets & set(edges)]:
        for name in ready:
            del edges[name]
    assert edges == {}


def test_no_import_is_relative():
    with all_cases() as case:
        for path in FILES:
            with case(name_of(path)):
                relative = [node for node in ast.walk(parsed(path)) if getattr(node, "level", 0)]
                assert relative == []


def test_guests_stay_in_their_rooms():
    with all_cases() as case:
        for path in FILES:
            with case(name_of(path)):
                for source, _ in imports(parsed(path)):
                    guest = source.split(".")[0]
                    assert room(path) in GUESTS.get(guest, {room(path)}), source


def test_only_frames_collects():
    collectors = {"collect", "collect_all", "collect_async", "collect_batches", "fetch"}
    assert [name_of(path) for path in FILES if called(path) & collectors] == ["frames.py"]


def test_rows_are_never_walked_in_python():
    walks = {"map_elements", "map_rows", "map_groups", "iter_rows", "iterrows", "rows", "apply"}
    with all_cases() as case:
        for path in FILES:
            with case(name_of(path)):
                assert called(path) & walks == set()


def called(path: Path) -> set[str]:
    """Names of the methods that a file calls."""
    return {
        node.func.attr
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }


def test_no_path_is_of_one_machine():
    foreign = re.compile(r"(?:/(?:home|tmp|work|root|Users|mnt|opt)/|\b[A-Z]:\\)\S*")
    with all_cases() as case:
        for path in FILES:
            with case(name_of(path)):
                assert foreign.findall(path.read_text(encoding="utf-8")) == []


def test_files_are_short_and_named_for_what_is_in_them():
    with all_cases() as case:
        for path in FILES:
            with case(name_of(path)):
                assert len(path.read_text(encoding="utf-8").splitlines()) <= 800
                assert path.stem not in {"utils", "util", "helpers", "common", "misc"}


def test_every_module_says_what_it_is():
    with all_cases() as case:
        for path in FILES:
            with case(name_of(path)):
                assert ast.get_docstring(parsed(path))


def test_importing_the_package_loads_nothing_that_polars_does_not():
    guests = sorted(GUESTS)
    code = (
        "import sys, polars; before = set(sys.modules); import rocframe; "
        f"print(*sorted({guests} & (set(sys.modules) - before)))".replace("[", "{").replace(
            "]", "}"
        )
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_functions_import_only_what_is_heavy_or_optional():
    """Everything else is imported at the top of a file: public names are loaded on first use."""
    heavy = {"scipy", "pyarrow", "altair", "rich", "cyclopts", "jinja2", "markupsafe", "vl_convert"}
    wrong = [
        (name_of(path), source)
        for path in FILES
        for function in ast.walk(parsed(path))
        if isinstance(function, ast.FunctionDef) and room(path) != "cli"  # starts fast
        for source, _ in imports(function)
        if source.split(".")[0] not in heavy and source != "rocframe"
    ]
    assert wrong == []


def test_no_short_file_has_a_single_importer_in_its_folder():
    """A file of one concept with one user belongs into the file of this user."""
    importers = {module(path): set() for path in FILES}
    for path in FILES:
        for source, name in imports(parsed(path)):
            for target in (source, f"{source}.{name}"):
                if target in importers:
                    importers[target].add(path)
    short = [
        name_of(path)
        for path in FILES
        if len(path.read_text(encoding="utf-8").splitlines()) < 60
        and {other.parent for other in importers[module(path)]} == {path.parent}
        and len(importers[module(path)]) == 1
    ]
    assert short == []


# Names that two modules define on purpose.
SHARED_NAMES = {
    # Expressions of `.roc` have the name of the function or metric that they compute.
    *("auc", "gini", "ks", "average_precision", "pr_auc", "tpr", "fpr"),
    "__all__",
    # Constants, records and formats with a meaning of their own in each module.
    *("CURVE", "LINE", "NORMAL", "PANELS_PER_ROW", "RATES", "THRESHOLD", "TOLERANCE"),
    *("Table", "nearly_equal", "distinct_labels"),
}


def test_no_public_name_is_defined_in_two_modules():
    modules = {}
    for path in FILES:
        for node in parsed(path).body:
            match node:
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    names = {name}
                case ast.Assign(targets=targets):
                    stored = [n for target in targets for n in ast.walk(target)]
                    names = {n.id for n in stored if isinstance(n, ast.Name)}
                case ast.AnnAssign(target=ast.Name(id=name)):
                    names = {name}
                case _:
                    names = set()
            for name in names:
                modules.setdefault(name, []).append(name_of(path))
    repeated = {
        name: files
        for name, files in modules.items()
        if len(files) > 1 and not name.startswith("_") and name not in SHARED_NAMES
    }
    assert repeated == {}

"""Import rules: modules import only from earlier layers, in the order in which data flow."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import rocframe as rf
from tests.all_cases import all_cases

PACKAGE = Path(rf.__file__).parent
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")

# A layer is a folder or a module of the package. It imports itself and the layers before it.
LAYERS = [
    "text",
    "errors",
    "options",
    "datasets",
    "frames",
    "rates",
    "kinds",
    "schemas",
    "inputs",
    "compression",
    "kernel",
    "curves",
    "inference",
    "resampling",
    "decisions",
    "areas",
    "probabilities",
    "metrics",
    "bands",
    "averages",
    "comparisons",
    "significance",
    "classes",
    "planning",
    "expressions",
    "summaries",
    "namespace",
    "io",
    "charts",
    "reports",
    "cli",
]

# Libraries that only some layers may import, and that are loaded on first use.
DEPENDENCIES = {
    "altair": {"charts", "reports"},
    "pyarrow": {"io"},
    "scipy": {
        "curves",
        "inference",
        "resampling",
        "areas",
        "averages",
        "bands",
        "comparisons",
        "probabilities",
        "decisions",
        "significance",
        "planning",
    },
    "numpy": {
        "frames",
        "rates",
        "kinds",
        "inputs",
        "compression",
        "kernel",
        "curves",
        "inference",
        "resampling",
        "areas",
        "probabilities",
        "bands",
        "metrics",
        "averages",
        "comparisons",
        "significance",
        "classes",
        "decisions",
        "summaries",
        "charts",
        "reports",
    },
    "cyclopts": {"cli"},
    "rich": {"reports", "cli"},
    "vl_convert": {"reports"},
    "narwhals": {"compression"},
    "duckdb": set(),
    "pyspark": set(),
}


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def module(path: Path) -> str:
    return ".".join(("rocframe", *path.relative_to(PACKAGE).with_suffix("").parts))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(tree: ast.AST) -> list[ast.AST]:
    return list(ast.walk(tree))


@cache
def imports(tree: ast.AST) -> list[tuple[str, str | None]]:
    """Return each imported module, and the name that is imported from it, if any."""
    return imports_of(nodes(tree))


def imports_of(statements: list[ast.AST]) -> list[tuple[str, str | None]]:
    found = []
    for node in statements:
        match node:
            case ast.Import(names=names):
                found += [(name.name, None) for name in names]
            case ast.ImportFrom(module=str(source), names=names):
                found += [(source, name.name) for name in names]
    return found


def imported_at_run_time(path: Path) -> set[str]:
    """Return the modules that a file imports outside `if TYPE_CHECKING`."""
    typed = set()
    for node in nodes(parsed(path)):
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=body):
                typed.update(part for statement in body for part in ast.walk(statement))
    others = [node for node in nodes(parsed(path)) if node not in typed]
    return {source for source, _ in imports_of(others)}


def imported_layers(path: Path) -> set[str]:
    layers = set()
    for source, name in imports(parsed(path)):
        if source == "rocframe" and name not in {None, "__version__"}:
            layers.add(str(name))
        elif source.startswith("rocframe."):
            layers.add(source.split(".")[1])
    return layers


def test_every_file_is_in_a_layer():
    assert {layer_of(path) for path in FILES} <= set(LAYERS)
    assert len(LAYERS) == len(set(LAYERS))


def test_imports_point_upstream():
    with all_cases() as case:
        for path in FILES:
            with case(name_of(path)):
                upstream = set(LAYERS[: LAYERS.index(layer_of(path)) + 1])
                assert imported_layers(path) - upstream == set()


def test_the_package_itself_is_imported_inside_functions_only():
    with all_cases() as case:
        for path in FILES:
            with case(name_of(path)):
                body = parsed(path).body  # without blocks such as `if TYPE_CHECKING`
                top = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
                assert "rocframe" not in {source for node in top for source, _ in imports(node)}


def test_no_imports_are_circular():
    known = {module(path).removesuffix(".__init__"): path for path in FILES}
    edges = {name: imported_at_run_time(path) & known.keys() for name, path in known.items()}
    # Remove modules that import none of the remaining modules. A circle is never removed.
    while ready := [name for name, targets in edges.items() if not targets & set(edges)]:
        for name in ready:
            del edges[name]
    assert edges == {}


def test_no_import_is_relative():
    with all_cases() as case:
        for path in FILES:
            with case(name_of(path)):
                relative = [node for node in nodes(parsed(path)) if getattr(node, "level", 0)]
                assert relative == []


def test_libraries_are_imported_only_in_their_layers():
    with all_cases() as case:
        for path in FILES:
            with case(name_of(path)):
                for source, _ in imports(parsed(path)):
                    library = source.split(".")[0]
                    assert layer_of(path) in DEPENDENCIES.get(library, {layer_of(path)}), source


def test_only_frames_collects():
    collectors = {"collect", "collect_all", "collect_async", "collect_batches", "fetch"}
    assert [name_of(path) for path in FILES if called(path) & collectors] == ["frames.py"]


def test_rows_are_not_iterated_in_python():
    row_methods = {
        "map_elements",
        "map_rows",
        "map_groups",
        "iter_rows",
        "iterrows",
        "rows",
        "apply",
    }
    with all_cases() as case:
        for path in FILES:
            with case(name_of(path)):
                assert called(path) & row_methods == set()


def called(path: Path) -> set[str]:
    """Return the names of the methods that a file calls."""
    return {
        node.func.attr
        for node in nodes(parsed(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }


def test_no_path_is_absolute():
    absolute = re.compile(r"(?:/(?:home|tmp|work|root|Users|mnt|opt)/|\b[A-Z]:\\)\S*")
    with all_cases() as case:
        for path in FILES:
            with case(name_of(path)):
                assert absolute.findall(path.read_text(encoding="utf-8")) == []


def test_files_are_short_and_named_for_what_is_in_them():
    with all_cases() as case:
        for path in FILES:
            with case(name_of(path)):
                assert len(path.read_text(encoding="utf-8").splitlines()) <= 1000
                assert path.stem not in {"utils", "util", "helpers", "common", "misc"}


def test_every_module_has_a_docstring():
    with all_cases() as case:
        for path in FILES:
            with case(name_of(path)):
                assert ast.get_docstring(parsed(path))


def test_importing_the_package_loads_nothing_that_polars_does_not():
    libraries = sorted(DEPENDENCIES)
    code = (
        "import sys, polars; before = set(sys.modules); import rocframe; "
        f"print(*sorted({libraries} & (set(sys.modules) - before)))".replace("[", "{").replace(
            "]", "}"
        )
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_functions_import_only_what_is_heavy_or_optional():
    """All other imports are at the top of a file, because public names are loaded on first use."""
    heavy = {"scipy", "pyarrow", "altair", "rich", "cyclopts", "jinja2", "markupsafe", "vl_convert"}
    local_imports = [
        (name_of(path), source)
        for path in FILES
        for function in nodes(parsed(path))
        if isinstance(function, ast.FunctionDef) and layer_of(path) != "cli"  # starts fast
        for source, _ in imports(function)
        if source.split(".")[0] not in heavy and source != "rocframe"
    ]
    assert local_imports == []


def test_no_short_file_has_a_single_importer_in_its_folder():
    """A short file that only one file imports belongs into that file."""
    importers = {module(path): set() for path in FILES}
    for path in FILES:
        for source, name in imports(parsed(path)):
            for target in (source, f"{source}.{name}"):
                if target in importers:
                    importers[target].add(path)
    short = [
        name_of(path)
        for path in FILES
        if len(path.read_text(encoding="utf-8").splitlines()) < 90
        and {other.parent for other in importers[module(path)]} == {path.parent}
        and len(importers[module(path)]) == 1
    ]
    assert short == []


# Names that two modules define on purpose.
SHARED_NAMES = {
    # Expressions of `.roc` have the name of the function or metric that they compute.
    *("auc", "gini", "ks", "average_precision", "pr_auc", "tpr", "fpr", "brier_skill", "ece"),
    *("accuracy", "precision", "f_beta", "jaccard", "mcc", "kappa"),
    *("_all__", "_getattr__"),
}


def test_no_name_is_defined_in_two_modules():
    modules = {}
    for path in FILES:
        for node in parsed(path).body:
            match node:
                case ast.FunctionDef(decorator_list=[ast.Name(id="overload")]):
                    names = set()
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    names = {name}
                case ast.Assign(targets=targets):
                    stored = [n for target in targets for n in ast.walk(target)]
                    names = {n.id for n in stored if isinstance(n, ast.Name)}
                case ast.AnnAssign(target=ast.Name(id=name)):
                    names = {name}
                case _:
                    names = set()
            # Names that differ only by an underscore are confusing, too. Only the expressions have
            # private functions with the names of their metrics.
            if path.parent.name != "expressions":
                names = {name.removeprefix("_") for name in names}
            for name in names:
                modules.setdefault(name, []).append(name_of(path))
    repeated = {
        name: files
        for name, files in modules.items()
        if len(files) > 1 and name not in SHARED_NAMES
    }
    assert repeated == {}


def test_names_of_closed_sets_are_compared_in_their_records():
    # A new kind, metric, method or interval is one record, if other code does not ask for its name.
    compared = []
    for path in FILES:
        for node in nodes(parsed(path)):
            match node:
                case ast.Compare(
                    left=ast.Attribute(attr="name" | "kind" | "ci" | "method")
                    | ast.Name(id="kind" | "ci" | "method"),
                    comparators=[ast.Constant(value=str()) | ast.Tuple() | ast.Set()],
                ) if not ast.unparse(node.left).endswith(("dtype.kind", "os.name")):
                    compared.append(f"{name_of(path)}:{node.lineno}: {ast.unparse(node)}")
    assert len(compared) <= 20, "\n".join(compared)

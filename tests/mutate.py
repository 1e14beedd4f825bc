"""Change the package at random places, one at a time, and list the changes that no test notices.

    python tests/mutate.py rocframe/decisions tests/decisions --n 60 --seed 0

Each mutant is the package with one changed operator, constant, slice, function name or method call,
or without one statement. The script copies the repository to a temporary folder, writes the mutant
there, and runs the given tests up to the first failure. A mutant is killed if a test fails or the
tests take too long. The last line is the score, such as `killed 55 of 58, 2 equivalent`.

How to read a survivor, such as

    rocframe/decisions/hull.py:120 hull: `… n_pos > 0 …` -> `… n_pos >= 0 …`

The tests pass whether line 120 has `>` or `>=`. Either a test is missing: write one that fails for
the mutant. Or no input gives another result: then the mutant is equivalent; add the line, without
the number, and an indented reason to `tests/equivalent_mutants.txt`. Such mutants are not run.

The score depends on the sample: compare scores of the same code of the package and the same seed.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import cache_from_source
from itertools import takewhile
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
MARKERS = "not render and not slow and not spark and not notebook"
CONTEXT = 45  # characters of the line before and after the change

PAIRS = [
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.Eq, ast.NotEq),
    (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn),
    (ast.Add, ast.Sub),
    (ast.Mult, ast.Div),
    (ast.BitAnd, ast.BitOr),
    (ast.And, ast.Or),
]
OPERATORS = {a: b for pair in PAIRS for a, b in (pair, pair[::-1])}
OPERATORS |= {ast.FloorDiv: ast.Div, ast.Pow: ast.Mult}
NAME_PAIRS = [
    *(("min" + end, "max" + end) for end in ("", "imum", "_horizontal")),
    *(("any" + end, "all" + end) for end in ("", "_horizontal")),
    *(("arg_min", "arg_max"), ("argmin", "argmax"), ("first", "last"), ("head", "tail")),
    *(("floor", "ceil"), ("is_null", "is_not_null"), ("left", "right"), ("lower", "upper")),
]
NAMES = {a: b for pair in NAME_PAIRS for a, b in (pair, pair[::-1])}


def replacements(node: ast.AST) -> list[ast.AST]:  # noqa: C901, PLR0911, PLR0912
    """Return the nodes that can stand for a node."""
    match node:
        case ast.Compare(left, ops, comparators):
            return [
                ast.Compare(left, [*ops[:i], OPERATORS[type(op)](), *ops[i + 1 :]], comparators)
                for i, op in enumerate(ops)
            ]
        case ast.BinOp(left, op, right) if type(op) in OPERATORS:
            return [ast.BinOp(left, OPERATORS[type(op)](), right)]
        case ast.BoolOp(op, values):
            return [ast.BoolOp(OPERATORS[type(op)](), values)]
        case ast.UnaryOp(_, operand):
            return [operand]
        case ast.Constant(bool(value)):
            return [ast.Constant(not value)]
        case ast.Constant(int(value) | float(value)):
            return [ast.Constant(value + 1), *([ast.Constant(0)] if value == 1 else [])]
        case ast.IfExp(test, body, orelse):
            return [ast.IfExp(test, orelse, body)]
        case ast.Slice(lower, upper, step) if lower or upper:
            return [ast.Slice(None, upper, step) if lower else ast.Slice(lower, None, step)]
        case ast.Constant("left" | "right" as value):  # the side of a search
            return [ast.Constant(NAMES[value])]
        case ast.Name("min" | "max" | "any" | "all" as name):
            return [ast.Name(NAMES[name])]
        case ast.Attribute(value, name) if name in NAMES:
            return [ast.Attribute(value, NAMES[name])]
        case ast.Call(ast.Attribute(ast.Call() as value)):  # a method call in a chain
            return [value]
        case ast.Expr(ast.Call()) | ast.AugAssign() | ast.Continue() | ast.Break():
            return [ast.Pass()]
    return []


class Mutator:
    """Replace the node of a number, counted in the order of the file, and list all places."""

    def __init__(self, number: int = -1) -> None:
        self.number = number
        self.places: list[tuple[int, str]] = []
        self.functions: list[str] = []

    def visit(self, node: ast.AST) -> ast.AST:  # noqa: C901
        match node:
            case ast.Raise() | ast.JoinedStr() | ast.AnnAssign(value=None):  # texts and types
                return node
            case ast.Call(ast.Attribute(attr="compose")) | ast.If(ast.Name("TYPE_CHECKING")):
                return node
            case ast.keyword("strict"):  # of zip: a check
                return node
        chosen = None
        for new in replacements(node):
            if len(self.places) == self.number:
                chosen = new
            self.places.append((node.lineno, ".".join(self.functions) or "module"))
        named = isinstance(node, ast.FunctionDef | ast.ClassDef)
        if named:
            self.functions.append(node.name)
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list", "type_params"):
                continue
            if isinstance(value, list):
                value[:] = [self.visit(v) if isinstance(v, ast.AST) else v for v in value]
            elif isinstance(value, ast.AST):
                setattr(node, field, self.visit(value))
        if named:
            self.functions.pop()
        return chosen or node


class Mutant(NamedTuple):
    """A mutant: its file, the place of the change, the changed text, and the changed file."""

    file: str
    line: int
    function: str
    change: str
    source: str


def common_start(a: str, b: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


def difference(old: str, new: str) -> str:
    """Return the first line in which two sources differ, cut around the difference."""
    pairs = zip(old.splitlines(), new.splitlines(), strict=False)
    a, b = next((a.strip(), b.strip()) for a, b in pairs if a != b)
    start = common_start(a, b)
    rest = common_start(a[start:][::-1], b[start:][::-1])
    parts = []
    for text in (a, b):
        lower, upper = max(start - CONTEXT, 0), min(len(text) - rest + CONTEXT, len(text))
        parts.append(f"`{'… ' * (lower > 0)}{text[lower:upper]}{' …' * (upper < len(text))}`")
    return " -> ".join(parts)


def sample(path: Path, n: int, seed: int) -> list[Mutant]:
    """Return random mutants of a file, or of the files in a folder."""
    places = []
    for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
        text = file.read_text(encoding="utf-8")
        (survey := Mutator()).visit(ast.parse(text))
        places += [(file, text, number, *place) for number, place in enumerate(survey.places)]
    chosen = []
    for file, text, number, line, function in random.Random(seed).sample(
        places, min(n, len(places))
    ):
        source = ast.unparse(Mutator(number).visit(ast.parse(text)))
        change = difference(ast.unparse(ast.parse(text)), source)
        chosen.append(Mutant(str(file.relative_to(ROOT)), line, function, change, source))
    return chosen


def copy_repository(folder: Path) -> Path:
    """Copy the files of the work tree that Git tracks or would track."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.check_output(listed, cwd=ROOT, text=True).splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def tests_pass(copy: Path, tests: list[str], limit: float | None) -> bool:
    """Run the tests in a copy; the examples of Hypothesis are the same in each run."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", MARKERS]
    settings = {"CI": "1", "PYTHONDONTWRITEBYTECODE": "", "PYTHONPATH": "."}
    environment = {"POLARS_MAX_THREADS": "1", **os.environ, **settings}
    pipe = subprocess.PIPE
    with subprocess.Popen([*command, *tests], cwd=copy, env=environment, stdout=pipe) as run:
        try:
            output, _ = run.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            run.kill()
            return False
    if run.returncode and (limit is None or run.returncode > 3):  # 5: there are no tests
        sys.exit(f"{output.decode()}\nThe tests cannot run, or fail without a mutant.")
    return run.returncode == 0


def survives(mutant: Mutant, copy: Path, tests: list[str], limit: float) -> bool:
    path = copy / mutant.file
    original = path.read_bytes()
    compiled = Path(cache_from_source(path))  # would be used if size and second are equal
    try:
        path.write_text(mutant.source, encoding="utf-8")
        compiled.unlink(missing_ok=True)
        return tests_pass(copy, tests, limit)
    finally:
        path.write_bytes(original)
        compiled.unlink(missing_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", help="a folder or a file of the package")
    parser.add_argument("tests", nargs="+", help="files and folders of tests")
    parser.add_argument("--n", type=int, default=60, help="number of mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-j", type=int, default=1, help="number of test runs at the same time")
    parser.add_argument(
        "--survivors",
        type=Path,
        default=Path(__file__).with_name("equivalent_mutants.txt"),
        help="file of mutants that are judged to be equivalent",
    )
    options = parser.parse_args()
    lines = options.survivors.read_text().splitlines() if options.survivors.exists() else []
    chosen = sample(ROOT / options.folder, options.n, options.seed)
    to_run = [m for m in chosen if f"{m.file} {m.function}: {m.change}" not in lines]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.j) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(options.j):
            copies.put(copy_repository(Path(folder, str(number))))
        start = time.monotonic()
        tests_pass(Path(folder, "0"), options.tests, None)
        limit = 3 * options.j * (time.monotonic() - start) + 20

        def run(mutant: Mutant) -> bool:
            copy = copies.get()
            try:
                return survives(mutant, copy, options.tests, limit)
            finally:
                copies.put(copy)

        killed = 0
        for mutant, survived in zip(to_run, pool.map(run, to_run), strict=True):
            killed += not survived
            if survived:
                print(f"{mutant.file}:{mutant.line} {mutant.function}: {mutant.change}", flush=True)
    print(f"killed {killed} of {len(to_run)}, {len(chosen) - len(to_run)} equivalent")


if __name__ == "__main__":
    main()

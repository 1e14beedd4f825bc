"""Check that the built packages are complete and work in an empty environment; see `make dist`.

- `check_dist.py contents DIRECTORY`: the names of the files in the wheel and in the sdist
- `check_dist.py smoke`: import, data and numbers of the installed package
- `check_dist.py command`: the command of the installed package with the `report` extra
"""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from importlib import metadata
from pathlib import Path

TREE = Path(__file__).resolve().parents[1]

PACKAGE_FILES = {".py", ".typed", ".html", ".css", ".js"}
DIST_INFO = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
SDIST_FILES = {
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Makefile",
    "pyproject.toml",
    "PKG-INFO",
    ".gitignore",  # hatchling reads it, and so puts it in
}
SDIST_FOLDERS = {
    "rocframe": PACKAGE_FILES,
    "tests": {".py", ".json", ".csv", ".parquet", ".md", ".R", ".txt"},
    "data": {".parquet", ".py", ".md"},
    "docs": {
        ".md",
        ".py",
        ".ipynb",
        ".svg",
        ".png",
        ".css",
        ".js",
        ".rst",
        ".json",
        ".csv",
        ".txt",
        ".html",
    },
    "bench": {".py", ".md"},
}
MOST_BYTES = 10_000_000


def files_below(folder: str, suffixes: set[str]) -> set[str]:
    return {
        path.relative_to(TREE).as_posix()
        for path in (TREE / folder).rglob("*")
        if path.is_file() and path.suffix in suffixes and not ignored(path)
    }


def ignored(path: Path) -> bool:
    parts = path.relative_to(TREE).parts
    return "__pycache__" in parts or parts[:2] in {("docs", "_build"), ("docs", "api")}


def expected_in_wheel(dist_info: str) -> set[str]:
    return {
        *files_below("rocframe", PACKAGE_FILES),
        *(f"rocframe/{name}" for name in files_below("data", {".parquet"})),
        *(f"{dist_info}/{name}" for name in DIST_INFO),
    }


def expected_in_sdist() -> set[str]:
    folders = (files_below(folder, suffixes) for folder, suffixes in SDIST_FOLDERS.items())
    return SDIST_FILES.union(*folders)


def only(directory: Path, pattern: str) -> Path:
    found = list(directory.glob(pattern))
    if len(found) != 1:
        sys.exit(f"{directory}: one {pattern} was expected, there are {len(found)}.")
    return found[0]


def compare(path: Path, actual: set[str], expected: set[str]) -> None:
    complaints = [f"  missing     {name}" for name in sorted(expected - actual)]
    complaints += [f"  unexpected  {name}" for name in sorted(actual - expected)]
    if path.stat().st_size > MOST_BYTES:
        complaints.append(f"  {path.stat().st_size:,} bytes, more than {MOST_BYTES:,}")
    if complaints:
        sys.exit("\n".join([f"{path.name}:", *complaints]))
    print(f"{path.name}: {len(actual)} files, {path.stat().st_size:,} bytes, as expected")


def contents(directory: str) -> None:
    wheel = only(Path(directory), "*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    dist_info = "-".join(wheel.name.split("-")[:2]) + ".dist-info"
    compare(wheel, names, expected_in_wheel(dist_info))

    sdist = only(Path(directory), "*.tar.gz")
    root = sdist.name.removesuffix(".tar.gz")
    with tarfile.open(sdist) as archive:
        names = {member.name for member in archive.getmembers() if member.isfile()}
    strangers = [name for name in names if not name.startswith(f"{root}/")]
    if strangers:
        sys.exit(f"{sdist.name}: not below {root}/: {strangers}")
    compare(sdist, {name.removeprefix(f"{root}/") for name in names}, expected_in_sdist())


def smoke() -> None:
    import rocframe as rf

    home = Path(rf.__file__).parent
    if home == TREE / "rocframe":
        sys.exit("This is the tree, not an installed wheel.")
    if rf.__version__ != metadata.version("rocframe"):
        sys.exit(f"{rf.__version__=}, but the wheel says {metadata.version('rocframe')}.")
    for name in sorted(set(rf.__all__)):
        getattr(rf, name)

    areas = rf.auc(rf.datasets.vote(), "label", "score", by="model")
    if areas.is_empty() or areas["auc"].null_count():
        sys.exit(f"The areas of the bundled log are not all there:\n{areas}")
    run("--version")
    run("--help")
    print(f"rocframe {rf.__version__} in {home}: imports, data and areas work")


def command() -> None:
    import rocframe as rf

    log = next(Path(rf.__file__).parent.glob("data/vote.parquet"))
    with tempfile.TemporaryDirectory() as out:
        options = ["--label", "label", "--score", "score", "--by", "model", "--out", out]
        run("evaluate", str(log), *options)
        written = sorted(path.name for path in Path(out).rglob("*") if path.is_file())
    suffixes = {Path(name).suffix for name in written}
    if not {".parquet", ".html"} <= suffixes:
        sys.exit(f"rocframe evaluate wrote {json.dumps(written)}, no Parquet or no page.")
    print(f"rocframe evaluate wrote {', '.join(written)}")


def run(*arguments: str) -> None:
    program = Path(sys.executable).with_name("rocframe")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"rocframe {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    {"contents": contents, "smoke": smoke, "command": command}[sys.argv[1]](*sys.argv[2:])

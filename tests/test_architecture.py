"""The house keeps its shape: imports between rooms go one way, and the learner's commands never wait for torch."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted((ROOT / "grader").rglob("*.py"))
MAY_IMPORT = {
    "cli": {"course", "data", "dev", "evidence", "judge", "report", "run"},
    "dev": {"course", "data", "evidence", "judge", "report", "run"},
    "report": {"course", "evidence", "judge"},
    "judge": {"course", "evidence"},
    "run": {"course", "data", "evidence"},
    "evidence": {"data"},
    "data": set(),
    "course": set(),
}
EXCEPTIONS = {("grader.course.checks", "grader.judge.check")}
"""course hands out a lesson's checks, so it names their type: inside a function, where it costs nobody anything."""
CHILD_SIDE_DOORS = ("grader.cli.sim",)
"""Commands outside run/ that open the child's side, lazily: they run a learner's script in their own process."""
TORCH = {"torch", "torchvision", "tensorboard", "tensorboardX", "torchviz", "torchsummary"}
ONLY_LAZILY = {"grader.data.download", "grader.evidence.eventlog"}
"""Outside run/, only these may import one of TORCH, inside a function: the download is torchvision's, the reader of event files is tensorboard's."""
LINES = 220
NEVER_AT_IMPORT = {"fcntl", "resource", "pwd", "grp", "termios"}
"""Modules that Windows has not."""


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


TREES = {name_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in MODULES}


def imports(tree: ast.AST, package: str, *, lazily: bool = True) -> set[str]:
    """Dotted names that a tree imports; `lazily` counts those inside functions and under TYPE_CHECKING too."""
    found = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                module = ".".join([*package.split(".")[: len(package.split(".")) - node.level + 1], *filter(None, [module])])
            found |= {module} | {f"{module}.{alias.name}" for alias in node.names if f"{module}.{alias.name}" in TREES}
        elif lazily or not (isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or is_type_checking(node)):
            found |= imports(node, package, lazily=lazily)
    return found


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def package_of(name: str) -> str:
    return name if (ROOT / Path(*name.split(".")) / "__init__.py").is_file() else name.rpartition(".")[0]


@pytest.mark.parametrize("name", sorted(TREES))
def test_imports_between_rooms_go_downwards(name):
    parts = name.split(".")
    room = parts[1] if len(parts) > 1 else ""
    if room in {"", "__main__"}:
        return
    wanted = {other for other in imports(TREES[name], package_of(name)) if other.startswith("grader.")}
    upwards = sorted(other for other in wanted if other.split(".")[1] not in MAY_IMPORT[room] | {room} and (name, other) not in EXCEPTIONS)
    assert [] == upwards, f"{name} reaches up to {upwards}"


def test_every_room_has_its_place():
    rooms = {folder.name for folder in (ROOT / "grader").iterdir() if (folder / "__init__.py").is_file()}
    assert rooms == set(MAY_IMPORT)


def test_an_import_of_another_room_that_is_excepted_is_lazy():
    for name, other in EXCEPTIONS:
        assert other in imports(TREES[name], package_of(name))
        assert other not in imports(TREES[name], package_of(name), lazily=False)


@pytest.mark.parametrize("name", sorted(name for name in TREES if not name.startswith("grader.run")))
def test_only_the_childs_side_of_run_imports_torch(name):
    heavy = {other for other in imports(TREES[name], package_of(name), lazily=name not in ONLY_LAZILY) if other.split(".")[0] in TORCH}
    assert set() == heavy, f"{name} imports {sorted(heavy)}"


def test_the_parents_side_of_run_reaches_no_torch_when_imported():
    """Whatever cli, dev, report and judge import, on the spot or lazily, must not import torch while it is being imported."""
    entries = {
        other
        for name in TREES
        if not name.startswith("grader.run") and name not in CHILD_SIDE_DOORS
        for other in imports(TREES[name], package_of(name))
    }
    waiting, seen = {entry for entry in entries if entry in TREES}, set()
    while waiting:
        name = waiting.pop()
        seen.add(name)
        reached = imports(TREES[name], package_of(name), lazily=False)
        assert not {other for other in reached if other.split(".")[0] in TORCH}, f"{name} imports torch, and the parent's side imports {name}"
        waiting |= {other for other in reached if other in TREES} - seen
    assert "grader.run.parent" in seen


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_stay_short(path):
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines < LINES, f"{name_of(path)} has {lines} lines: split it"


@pytest.mark.parametrize("name", sorted(TREES))
def test_nothing_that_one_system_lacks_is_imported_on_the_spot(name):
    assert set() == imports(TREES[name], package_of(name), lazily=False) & NEVER_AT_IMPORT


@pytest.mark.parametrize("name", sorted(TREES))
def test_text_files_are_opened_with_an_encoding(name):
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.Call) and opens_text(node):
            assert any(keyword.arg == "encoding" for keyword in node.keywords), f"{name}:{node.lineno}: {ast.unparse(node)} names no encoding"


def opens_text(call: ast.Call) -> bool:
    """Whether a call is open(), Path.open(), os.fdopen(), read_text() or write_text() of text."""
    function = call.func
    called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if called in {"read_text", "write_text"}:
        return True
    if isinstance(function, ast.Attribute) and called == "open" and ast.unparse(function.value) in {"os", "Image", "gzip", "tarfile", "zipfile"}:
        return False
    if called not in {"open", "fdopen"}:
        return False
    position = 0 if isinstance(function, ast.Attribute) and called == "open" else 1
    modes = [*call.args[position : position + 1], *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
    return not any(isinstance(mode, ast.Constant) and "b" in str(mode.value) for mode in modes)


@pytest.mark.parametrize("arguments", [["--help"], ["list"], ["hint", "1"], ["dev", "--help"]])
def test_commands_that_only_read_import_neither_torch_nor_matplotlib(arguments, tmp_path):
    run = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "grader", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert 0 == run.returncode, run.stderr[-2000:]
    imported = {line.rsplit("|", 1)[-1].strip().split(".")[0] for line in run.stderr.splitlines() if line.startswith("import time:")}
    assert set() == imported & {"torch", "torchvision", "matplotlib", "tensorboard"}

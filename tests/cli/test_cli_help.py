from __future__ import annotations

import sys

import pytest

COMMANDS = ["", "list", "hint", "data", "sim"]
HEAVY = {"torch", "torchvision", "matplotlib", "numpy", "rich", "tensorboard"}


@pytest.mark.parametrize("command", COMMANDS)
def test_help(call, snapshot, command):
    shown = call(*command.split(), "--help")

    assert (shown.code, shown.err) == (0, "")
    assert all(len(line) <= 80 for line in shown.out.splitlines())
    assert shown.out == snapshot


def test_dev_help_is_answered_by_the_authors_room(call):
    shown = call("dev", "--help")

    assert shown.code == 0
    assert "calibrate" in shown.out


@pytest.mark.parametrize(
    "arguments", ["--help", "list", "list --help", "hint 3", "hint --help", "sim --help", "data --help", "dev --help", "99", "--seed x 1"]
)
def test_nothing_heavy_is_imported(spawn, arguments):
    """-X importtime names every module that the process imported, on stderr."""
    process = spawn(*arguments.split(), python=("-X", "importtime"))
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in process.stderr.splitlines() if line.startswith("import time:")}

    assert "grader" in imported
    assert not imported & HEAVY


def test_help_of_a_real_process_needs_no_course(spawn):
    process = spawn("--help", PYTORCH_COURSE="/nowhere")

    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout.startswith("usage: python -m grader LESSON [options]")


def test_prints_in_a_narrow_encoding(toy, spawn):
    toy.add("lesson02", title='"\u03b7 \u2265 1 \u65e5\u672c"')
    process = spawn("list", PYTHONIOENCODING="cp1252", PYTHONUTF8="0")

    assert process.returncode == 0
    assert "lesson02  ? ? 1 ?? (20 min)" in process.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="pipes break differently on Windows")
def test_a_reader_that_goes_away_causes_no_traceback(toy):
    import os
    import subprocess
    from pathlib import Path

    reader, writer = os.pipe()
    os.close(reader)
    try:
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
        command = [sys.executable, "-m", "grader", "list"]
        process = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60, check=False, env=environment)
    finally:
        os.close(writer)

    assert (process.returncode, process.stderr) == (141, "")

"""The command sim: a script, or a debugging session of it, under the simulated CUDA device."""

from __future__ import annotations

import os
import pdb  # noqa: T100 - what the command offers
import runpy
import sys
import traceback
from pathlib import Path

from grader.cli.exits import Exit, UsageError


def run_script(file: str, arguments: list[str], *, debugger: bool) -> int:
    """Run a script as `python FILE ARGS` (or `python -m pdb FILE ARGS`) would, with a "cuda" device that the CPU plays.

    Returns 0, or 1 after an exception, whose traceback has then been printed. The script's own sys.exit passes through.
    """
    path = Path(file)
    if not path.is_file():
        raise UsageError(f"There is no file {file!r}. Give the script to run: python -m grader sim exercises/lesson02/train.py")
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # as in a graded run: on busy cores, more threads are many times slower
    from grader.run.simcuda import simulated_cuda

    sys.argv = [file, *arguments]
    sys.path[0] = str(path.resolve().parent)
    with simulated_cuda():
        if debugger:
            sys.argv.insert(0, pdb.__file__)
            pdb.main()  # what `python -m pdb` calls
            return Exit.PASSED
        try:
            runpy.run_path(file, run_name="__main__")
        except Exception as error:  # noqa: BLE001 - the script's exception, to be shown as python shows it
            _show(error, file)
            return Exit.NOT_YET
    return Exit.PASSED


def _show(error: Exception, file: str) -> None:
    """Print the traceback from the script's first line on: how we came to run it is no news to its author."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename != file:
        frames = frames.tb_next
    traceback.print_exception(type(error), error, frames)

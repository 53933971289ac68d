"""Loading a lesson's checks.py: a file of content, found by its path and never imported by a package name."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from importlib.machinery import SourceFileLoader
from typing import TYPE_CHECKING

from grader.course.errors import CourseError

if TYPE_CHECKING:
    from pathlib import Path
    from types import CodeType, ModuleType

    from grader.course.lesson import Lesson
    from grader.judge.check import Check


class _Loader(SourceFileLoader):
    """Compiles the file as it stands: no __pycache__ appears among the lessons, and none that is stale is read."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


def load_checks(lesson: Lesson) -> tuple[Check, ...]:
    """The CHECKS of lessons/lessonNN/checks.py, in order.

    Raises CourseError, with the remedy, if the file cannot be loaded, if CHECKS is missing or is not a tuple of Check, if an id occurs twice, if
    a check judges a leg that the lesson does not have, and if `breaks` in lesson.toml names an id that no check has.
    """
    from grader.judge.check import Check

    file = f"lessons/{lesson.name}/checks.py"
    checks = getattr(_load(lesson.checks, file), "CHECKS", None)
    if checks is None:
        raise CourseError(f"{file}: has no CHECKS; define it: a tuple of checks, in the order in which they are reported.")
    if not isinstance(checks, tuple) or not checks:
        raise CourseError(f"{file}: CHECKS is {_describe(checks)}; make it a tuple with at least one check.")
    for number, item in enumerate(checks, 1):
        if not isinstance(item, Check):
            raise CourseError(f"{file}: item {number} of CHECKS is {_describe(item)}; decorate it with @check(group), or build it with expect.")
    ids = [item.id for item in checks]
    for item in checks:
        if ids.count(item.id) > 1:
            raise CourseError(f"{file}: CHECKS has the id '{item.id}' twice; rename one (a check on a second leg: item.on('cpu')).")
        if item.leg not in lesson.legs:
            raise CourseError(f"{file}: check '{item.id}' judges the leg '{item.leg}'; use one of legs in lesson.toml: {', '.join(lesson.legs)}.")
    for unknown in (name for name in lesson.breaks if name not in ids):
        raise CourseError(f"lessons/{lesson.name}/lesson.toml: 'breaks' names '{unknown}', which is no check; use one of: {', '.join(ids)}.")
    return checks


def _load(path: Path, file: str) -> ModuleType:
    if not path.is_file():
        raise CourseError(f"{file}: there is no such file; write it, with CHECKS = (...) at its end.")
    name = f"_checks_{path.parent.name}_{hash(path) & 0xFFFFFFFF:08x}"
    spec = importlib.util.spec_from_file_location(name, path, loader=_Loader(name, str(path)))
    if spec is None or spec.loader is None:
        raise CourseError(f"{file}: Python cannot load it; check its name and its permissions.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickling look their module up
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        sys.modules.pop(name, None)
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = error.lineno if isinstance(error, SyntaxError) else (lines[-1] if lines else None)
        where = f"{file}:{line}" if line else file
        raise CourseError(f"{where}: {type(error).__name__} while loading it: {error}; mend that line.") from error
    return module


def _describe(value: object) -> str:
    return f"an empty {type(value).__name__}" if value in ((), []) else f"of type {type(value).__name__}"

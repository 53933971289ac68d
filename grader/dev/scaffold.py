"""`dev new`: the files of a lesson that nobody has written yet."""

from __future__ import annotations

from pathlib import Path

from grader.course.lesson import NAME
from grader.dev import stubs


class ScaffoldError(Exception):
    """The lesson cannot be scaffolded; the message says what to type instead."""


def scaffold(root: Path, name: str) -> list[Path]:
    """Write the files of lesson `name` into the course at `root` and return their paths. Overwrites nothing. Raises ScaffoldError."""
    if not NAME.fullmatch(name):
        raise ScaffoldError(f"{name!r} is no lesson's name; write lesson and two digits: python -m grader dev new {_free(root)}")
    files = {
        f"lessons/{name}/lesson.toml": stubs.LESSON,
        f"lessons/{name}/README.md": stubs.STORY,
        f"lessons/{name}/walkthrough.md": stubs.WALKTHROUGH,
        f"lessons/{name}/checks.py": stubs.CHECKS,
        f"exercises/{name}/train.py": stubs.SCRIPT,
        f"solutions/{name}/train.py": stubs.SCRIPT,
        f"solutions/{name}/README.md": stubs.EXPLANATION,
        f"tests/cases/{name}/right_the_usual_fix.py": stubs.RIGHT + stubs.SCRIPT,
        f"tests/cases/{name}/wrong_hides_the_symptom.py": stubs.WRONG + stubs.SCRIPT,
    }
    for folder in sorted({(root / file).parent for file in files}):
        if folder.exists():
            raise ScaffoldError(f"{folder.relative_to(root).as_posix()} exists already; choose a free name: python -m grader dev new {_free(root)}")
    for file, text in files.items():
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("LESSON", name), encoding="utf-8")
    return [root / file for file in files]


def _free(root: Path) -> str:
    """The first name after the last lesson's."""
    numbers = [int(found[1]) for folder in (root / "lessons").glob("*") if (found := NAME.fullmatch(folder.name))]
    return f"lesson{max(numbers, default=0) + 1:02d}"

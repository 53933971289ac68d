"""The table of lessons in README.md, generated from the lesson.toml files between two marks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from grader.course import Lesson
from grader.dev.findings import Finding

BEGIN, END = "<!-- lessons:begin -->", "<!-- lessons:end -->"
_BETWEEN = re.compile(re.escape(BEGIN) + r"(?P<table>.*?)" + re.escape(END), re.DOTALL)
_REMEDY = "run: python -m grader dev check --fix"


def lesson_table(lessons: Sequence[Lesson]) -> str:
    """The table as Markdown."""
    rows = ["| | lesson | what a colleague reports | tool | minutes |", "|---|---|---|---|---|"]
    for lesson in lessons:
        link = f"[{_cell(lesson.title)}](lessons/{lesson.name}/README.md)"
        rows.append(f"| {lesson.number:02d} | {link} | {_cell(lesson.symptom)} | {_cell(lesson.tool)} | {lesson.minutes} |")
    return "\n".join(rows)


def stale(root: Path, lessons: Sequence[Lesson], *, fix: bool) -> Iterator[Finding]:
    """The finding that the table in README.md is not the generated one; with `fix` it is rewritten instead."""
    path = root / "README.md"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    found = _BETWEEN.search(text)
    if found is None:
        yield Finding("", "README.md", f"has no place for the table of lessons: the marks {BEGIN} and {END}", "add both marks, each on its own line")
        return
    table = f"\n{lesson_table(lessons)}\n"
    if found["table"] == table:
        return
    if fix:
        path.write_text(text[: found.start("table")] + table + text[found.end("table") :], encoding="utf-8")
    else:
        yield Finding("", "README.md", "its table of lessons is not what the lesson.toml files say", _REMEDY)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")

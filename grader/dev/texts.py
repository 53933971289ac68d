"""What `dev check` reads in a lesson's own texts and scripts, without running anything."""

from __future__ import annotations

import difflib
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from grader.course import Lesson
from grader.dev.findings import Finding
from grader.dev.transcript import TranscriptError, scripts_of

STUB = "WRITE:"
"""The mark of text that `dev new` left for the author."""
SECTIONS = ("What you see", "How to investigate", "The idea", "Your task", "Tools used here", "Next step")
MOST_LINES = 120
WALKTHROUGH_COMMANDS = (8, 20)
_SHORTEST_LEAK = 10
_TEXT_SUFFIXES = {".md", ".toml", ".py"}


def inspect(lesson: Lesson) -> Iterator[Finding]:
    """Everything that is wrong with a lesson's texts and the size of its scripts."""
    yield from stubs(lesson)
    yield from sections(lesson)
    yield from transcripts(lesson)
    yield from sizes(lesson)
    if lesson.exercise.is_file() and lesson.solution.is_file():
        yield from distance(lesson)
        yield from leaks(lesson)


def stubs(lesson: Lesson) -> Iterator[Finding]:
    """Text that is still the scaffold's."""
    for folder in (lesson.folder, lesson.exercise.parent, lesson.solution.parent, lesson.cases):
        for path in sorted(path for path in folder.glob("*") if path.suffix in _TEXT_SUFFIXES and path.is_file()):
            lines = [number for number, line in enumerate(_text(path).splitlines(), 1) if STUB in line]
            if lines:
                problem = f"still asks to be written, on {len(lines)} of its lines"
                yield Finding(lesson.name, f"{_where(lesson, path)}:{lines[0]}", problem, f"do what the lines marked {STUB} say and remove the marks")


def sections(lesson: Lesson) -> Iterator[Finding]:
    """A story without a section that every story has."""
    if not lesson.story.is_file():
        return
    headings = [line.lstrip("#").strip().lower() for line in _text(lesson.story).splitlines() if line.startswith("#")]
    for section in SECTIONS:
        if not any(heading.startswith(section.lower()) for heading in headings):
            yield Finding(lesson.name, _where(lesson, lesson.story), f"has no section '{section}'", f"add the heading `## {section}` and its text")


def transcripts(lesson: Lesson) -> Iterator[Finding]:
    """A story that shows no real output, a walkthrough that is no session of a fitting length."""
    for path, kind in ((lesson.story, "console"), (lesson.walkthrough, "pdb")):
        if not path.is_file():
            continue
        where = _where(lesson, path)
        try:
            scripts = scripts_of(_text(path))
        except TranscriptError as error:
            yield Finding(lesson.name, where, f"cannot be replayed: {error}", "mend the block; `python -m grader.dev.replay FILE` tries it")
            continue
        least, most = WALKTHROUGH_COMMANDS
        count = sum(len(script.commands) for script in scripts)
        if kind == "console" and not any(not script.is_pdb for script in scripts):
            yield Finding(lesson.name, where, "shows no real output", "add a ```console block: `$ python exercises/...` and what it prints")
        if kind == "pdb" and not least <= count <= most:
            yield Finding(lesson.name, where, f"has {count} pdb commands", f"write {least} to {most} of them, with an observation after each")


def sizes(lesson: Lesson) -> Iterator[Finding]:
    """A script that is too long to be read from top to bottom."""
    for path in (lesson.exercise, lesson.solution):
        lines = len(_text(path).splitlines()) if path.is_file() else 0
        if lines >= MOST_LINES:
            yield Finding(
                lesson.name, _where(lesson, path), f"has {lines} lines", f"shorten it: a learner reads the whole file, so it stays under {MOST_LINES}"
            )


def distance(lesson: Lesson) -> Iterator[Finding]:
    """A solution that changes more than the lesson declares."""
    added, removed = changes(lesson.exercise, lesson.solution)
    count = len(added) + len(removed)
    if count > lesson.diff_lines:
        problem = f"differs from the exercise by {count} lines (added and removed), and diff_lines in lesson.toml allows {lesson.diff_lines}"
        yield Finding(
            lesson.name, _where(lesson, lesson.solution), problem, "make the fix smaller, or declare the larger number if it really is the smallest"
        )
    if count == 0:
        yield Finding(
            lesson.name, _where(lesson, lesson.solution), "is the exercise itself", "write the fix into it, or plant the fault in the exercise"
        )


def leaks(lesson: Lesson) -> Iterator[Finding]:
    """A story, walkthrough or hint that holds a line of the solution."""
    kept = {_squeezed(line) for line in _code_lines(lesson.exercise)}
    added = [line for line in changes(lesson.exercise, lesson.solution)[0] if len(line) >= _SHORTEST_LEAK and line not in kept]
    texts = [(path, _text(path)) for path in (lesson.story, lesson.walkthrough) if path.is_file()]
    texts += [(lesson.folder / "lesson.toml", hint) for hint in lesson.hints]
    for path, text in texts:
        for line in added:
            if line in _squeezed(text):
                remedy = "say what is wrong there, not what to write instead"
                yield Finding(lesson.name, _where(lesson, path), f"gives the fix away: it holds the solution's line `{line}`", remedy)


def changes(before: Path, after: Path) -> tuple[list[str], list[str]]:
    """Lines that `after` adds to `before` and lines that it removes, as a unified diff has them; squeezed, and the added ones without comments."""
    diff = list(difflib.unified_diff(_text(before).splitlines(), _text(after).splitlines(), lineterm="", n=0))[2:]
    code = dict(zip(_text(after).splitlines(), _code_lines(after), strict=True))
    added = [_squeezed(code[line[1:]]) for line in diff if line.startswith("+")]
    return added, [_squeezed(line[1:]) for line in diff if line.startswith("-")]


def _code_lines(path: Path) -> list[str]:
    """A file's lines without their comments; as they are if the file is no Python."""
    lines = _text(path).splitlines()
    try:
        for token in tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                lines[row - 1] = lines[row - 1][:column]
    except (tokenize.TokenError, SyntaxError):
        return lines
    return lines


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _where(lesson: Lesson, path: Path) -> str:
    return path.relative_to(lesson.root).as_posix()

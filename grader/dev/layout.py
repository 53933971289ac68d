"""Which files a course consists of: what is missing, and what lies about that does not belong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from grader.course.lesson import NAME as LESSON_NAME
from grader.dev.cases import NAME as CASE_NAME
from grader.dev.findings import Finding

FILES = {
    "lessons": {
        "README.md": "the story: what you see, how to investigate, the idea, the task",
        "lesson.toml": "title, symptom, hints, budget and `breaks`",
        "checks.py": "CHECKS, the definition of fixed",
        "walkthrough.md": "a pdb session of 8 to 20 commands",
    },
    "exercises": {"train.py": "the broken script"},
    "solutions": {"train.py": "the smallest good fix", "README.md": "why it happened, and which other fixes are as good"},
}
PICTURES = {".png", ".svg"}
_CASES = "tests/cases"


def missing(root: Path, name: str) -> Iterator[Finding]:
    """The files that a lesson lacks."""
    for area, files in FILES.items():
        for file, purpose in files.items():
            path = root / area / name / file
            where = f"{area}/{name}/{file}"
            if not path.is_file():
                yield Finding(name, where, "there is no such file", f"write it: {purpose}")
            elif not path.read_bytes().strip():
                yield Finding(name, where, "is empty", f"write it: {purpose}")


def strays(root: Path) -> Iterator[Finding]:
    """Everything under lessons/, exercises/, solutions/ and tests/cases/ that is part of no lesson."""
    lessons = {folder.name for folder in (root / "lessons").glob("*") if folder.is_dir() and LESSON_NAME.fullmatch(folder.name)}
    for area in (*FILES, _CASES):
        for entry in _entries(root / area):
            where = f"{area}/{entry.name}"
            if entry.is_dir() and entry.name in lessons:
                yield from _strays_of(root, area, entry)
            elif entry.is_dir() and LESSON_NAME.fullmatch(entry.name):
                yield Finding(
                    entry.name, where, f"belongs to no lesson: there is no lessons/{entry.name}", "write that lesson, or remove this folder"
                )
            else:
                yield Finding("", where, "does not belong here", f"remove it: {area}/ holds the folders of lessons and nothing else")


def _strays_of(root: Path, area: str, folder: Path) -> Iterator[Finding]:
    """What does not belong in one lesson's folder."""
    for entry in _entries(folder):
        where = f"{area}/{folder.name}/{entry.name}"
        if area == _CASES:
            if entry.is_dir() or not CASE_NAME.fullmatch(entry.name):
                yield Finding(folder.name, where, "is not named like a case", "call it right_WHAT.py or wrong_WHAT.py, in lower case, or remove it")
        elif entry.is_dir() or entry.name not in FILES[area]:
            if entry.suffix in PICTURES and entry.is_file():
                if not _is_shown(root, folder, entry):
                    yield Finding(folder.name, where, "is a picture that no text of the lesson shows", "link it from the lesson's text, or remove it")
                continue
            yield Finding(folder.name, where, "does not belong here", f"remove it: a lesson's folder in {area}/ holds {', '.join(FILES[area])}")


def _is_shown(root: Path, folder: Path, picture: Path) -> bool:
    """Whether a text of the same folder, or the lesson's walkthrough or story, names the picture."""
    texts = [*folder.glob("*.md"), *(root / "lessons" / folder.name).glob("*.md")]
    return any(picture.name in text.read_text(encoding="utf-8") for text in texts)


def _entries(folder: Path) -> list[Path]:
    """A folder's entries in order; Python's own __pycache__ does not count (git ignores it)."""
    return sorted(entry for entry in folder.glob("*") if entry.name != "__pycache__") if folder.is_dir() else []

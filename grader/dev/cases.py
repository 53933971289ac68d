"""The case law of a lesson: tests/cases/lessonNN/{right,wrong}_*.py, and what the first two lines of each case promise.

The first line is read by machine: `# right`, `# right, remark: CHECK` or `# wrong: CHECK` (alternatives: `# wrong: CHECK or CHECK`). CHECK is the
check whose remark it must carry, or the first that must fail. The second line says in one sentence what the submission does and why that holds or
does not.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

NAME = re.compile(r"(?P<kind>right|wrong)_[a-z0-9]+(?:_[a-z0-9]+)*\.py")
LEAST = {"right": 5, "wrong": 6}

_HEADER = re.compile(r"# (?:(?P<right>right)(?:, remark: (?P<remarks>\S.*))?|wrong: (?P<first>\S.*))")
_SENTENCE_WORDS = 4


@dataclass(frozen=True)
class Case:
    """One submission of the case law. checks: for a wrong case, the checks of which one must fail first; for a right one, those that must remark."""

    path: Path
    kind: str
    checks: tuple[str, ...]
    sentence: str


class CaseError(Exception):
    """A case's header does not say what it must. problem and remedy are whole phrases."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"{problem}; {remedy}")
        self.problem, self.remedy = problem, remedy


def case_paths(folder: Path) -> tuple[Path, ...]:
    """The files of a case folder that are named like cases, in order; none if there is no such folder."""
    return tuple(sorted(path for path in folder.glob("*.py") if NAME.fullmatch(path.name)))


def read_case(path: Path, known: Collection[str]) -> Case:
    """The promise in a case's first two lines; `known` are the ids of the lesson's checks. Raises CaseError."""
    lines = [*path.read_text(encoding="utf-8").splitlines(), "", ""]
    kind = path.name.split("_")[0]
    form = "# right` or `# right, remark: CHECK" if kind == "right" else "# wrong: CHECK"
    header = _HEADER.fullmatch(lines[0].rstrip())
    if header is None or (header["right"] is not None) != (kind == "right"):
        raise CaseError(f"its first line is {lines[0]!r}", f"write `{form}`, as the name of a {kind} case promises")
    checks = tuple((header["remarks"] or header["first"] or "").split(" or ")) if header["remarks"] or header["first"] else ()
    for check in checks:
        if check not in known:
            raise CaseError(f"its first line names {check!r}, which is no check of this lesson", f"use one of: {', '.join(known)}")
    sentence = lines[1].removeprefix("#").strip()
    if not lines[1].startswith("# ") or len(sentence.split()) < _SENTENCE_WORDS:
        raise CaseError("its second line is no sentence", f"write `# ` and one sentence: what this submission does and why it is {kind}")
    return Case(path, kind, checks, sentence)

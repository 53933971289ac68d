"""A strict reader for one table of a TOML file: every key is asked for, and none may be left over."""

from __future__ import annotations

import difflib
import math
from typing import TYPE_CHECKING, Any

from grader.course.errors import CourseError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_NAMES = {str: "text", bool: "a truth value", int: "a whole number", float: "a number", list: "an array", dict: "a table"}


class Table:
    """One table of a TOML file.

    file: how messages call the file; table: its name in the file, '' for the top level.  Every method raises CourseError with a remedy.
    """

    def __init__(self, content: Mapping[str, Any], file: str, table: str = "") -> None:
        self._content = content
        self._file = file
        self._prefix = f"{table}." if table else ""
        self._asked: list[str] = []

    def text(self, key: str) -> str:
        """One line of text, not empty."""
        value = self._get(key, str, "text in quotes")
        if not value.strip():
            raise self._fault(key, "is empty", "write one line of text there")
        if "\n" in value.strip():
            raise self._fault(key, "has more than one line", "write it as one line; the reader's terminal wraps it")
        return str(value).strip()

    def whole(self, key: str, low: int, high: int) -> int:
        """A whole number from low to high."""
        value = int(self._get(key, int, "a whole number"))
        if not low <= value <= high:
            raise self._fault(key, f"is {value}", f"write a whole number from {low} to {high}")
        return value

    def positive(self, key: str) -> float:
        """A finite number above zero."""
        value = float(self._get(key, (int, float), "a number"))
        if not (math.isfinite(value) and value > 0):
            raise self._fault(key, f"is {value}", "write a finite number above zero")
        return value

    def texts(self, key: str, least: int = 0, most: int | None = None) -> tuple[str, ...]:
        """An array of different, non-empty texts, of a length from least to most."""
        value = self._get(key, list, "an array of texts")
        for number, item in enumerate(value, 1):
            if not isinstance(item, str):
                raise self._fault(key, f"has {_kind(item)} as item {number}", "write text in quotes there")
            if not item.strip():
                raise self._fault(key, f"has an empty item {number}", "write it or take it out")
        items = tuple(item.strip() for item in value)
        if len(set(items)) < len(items):
            twice = next(item for item in items if items.count(item) > 1)
            raise self._fault(key, f"has {twice!r} twice", "take one out")
        if len(items) < least or (most is not None and len(items) > most):
            wanted = f"exactly {least}" if least == most else f"at least {least}"
            raise self._fault(key, f"has {len(items)} items", f"write {wanted}")
        return items

    def table(self, key: str) -> Table:
        """A table inside this one."""
        return Table(self._get(key, dict, f"a table, [{self._prefix}{key}]"), self._file, f"{self._prefix}{key}")

    def has(self, key: str) -> bool:
        """Whether an optional key is there; it counts as known either way."""
        self._asked.append(key)
        return key in self._content

    def finish(self) -> None:
        """Refuse every key that nobody asked for."""
        for key in self._content:
            if key not in self._asked:
                known = ", ".join(sorted(self._asked))
                near = difflib.get_close_matches(key, self._asked, 1)
                remedy = f"did you mean '{near[0]}'? Rename it or take it out" if near else f"take it out. The known keys are: {known}"
                raise self._fault(key, "is not a key of this file", remedy)

    def refuse(self, key: str, problem: str, remedy: str) -> CourseError:
        """The error for a value that only its reader can judge."""
        return self._fault(key, problem, remedy)

    def _get(self, key: str, kind: type | tuple[type, ...], wanted: str) -> Any:
        self._asked.append(key)
        if key not in self._content:
            raise self._fault(key, "is missing", f"add it: {wanted}")
        value = self._content[key]
        kinds: Iterable[type] = kind if isinstance(kind, tuple) else (kind,)
        if type(value) not in kinds:  # not isinstance: true is an int to Python, but no number to an author
            raise self._fault(key, f"is {_kind(value)}", f"write {wanted}")
        return value

    def _fault(self, key: str, problem: str, remedy: str) -> CourseError:
        return CourseError(f"{self._file}: '{self._prefix}{key}' {problem}; {remedy}.")


def _kind(value: object) -> str:
    return _NAMES.get(type(value), f"a {type(value).__name__}")

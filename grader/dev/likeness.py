"""Is a real output the documented one? Compared line by line: text exactly, measured numbers within a tolerance, machine noise not at all.

Integers are exact (shapes, counts, line numbers, labels), unless they are visibly measured: a percentage, or `1873/2000` and `1873 of 2000`.
A number with a decimal point may differ by 5 % or 0.02; under 0.02 it must agree within a factor of two or 0.001, or the absolute tolerance would
accept anything; in scientific notation the 5 % counts (or 1e-6, below which a float32 sum is rounding noise). A line `...` stands for any lines.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Final

ELISION: Final = "..."
RELATIVE, ABSOLUTE, SMALL, ROUNDING = 0.05, 0.02, 0.001, 1e-6

_NUMBER = re.compile(r"(?<![\w.])-?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?(?![\w])")
_MEASURED_INTEGER = re.compile(r"^(?: ?%|/\d| of \d)")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_LIBRARY_PATH = re.compile(r"(?:[A-Za-z]:)?(?:[/\\][^\s'\"():]+)*[/\\](?P<keep>(?:site-packages|dist-packages|python3\.\d+)[/\\])")
_COURSE_PATH = re.compile(r"(?:[A-Za-z]:)?(?:~|\.{3}|…)?(?:[/\\][^\s'\"():]+)*[/\\](?P<keep>(?:exercises|solutions|lessons|datasets|runs)[/\\])")
_UNIT = r"(?:ns|us|µs|ms|s|sec|secs|seconds?|min|minutes?)"
_NOISE: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (re.compile(r"0x[0-9a-fA-F]{6,}"), "0x<address>"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?"), "<date>"),
    (re.compile(r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b"), "<clock>"),
    (re.compile(r"(?<![\w.])\d+(?:\.\d+)?\s?" + _UNIT + r"\b"), "<time>"),
    (re.compile(r"\d+(?:\.\d+)?\s?(?:it|batch|batches|img|images)/s"), "<rate>"),
    (re.compile(r"(\bat \S+\.py):\d+"), r"\1:<line>"),  # Pythons differ in where a breakpoint on a function lands: on its def or its first statement
    (re.compile(r"[-─━═]{4,}"), "----"),
    (re.compile(r"events\.out\.tfevents\.\S+"), "events.out.tfevents.<id>"),
    (re.compile(r"((?:site-packages|dist-packages|python3)/[^\s'\"():]+)\(\d+\)"), r"\1(<line>)"),
    (re.compile(r"((?:site-packages|dist-packages|python3)/[^\s'\"]+[\"']?), line \d+"), r"\1, line <line>"),
)
_CARETS = re.compile(r"^\s*[~^]+\s*$")
_DEBUGGER_FRAME = re.compile(r"^\s+(?:\S*\b(?:pdb|bdb|runpy)\.py\(\d+\)|<string>\(1\)<module>|<frozen runpy>)")
_DEBUGGER_TRACE = re.compile(r"^  File \"(?:[^\"]*\b(?:pdb|bdb|runpy)\.py|<string>|<frozen runpy>)\", line \d+")


def presentable(text: str, root: str) -> list[str]:
    """An output as a page should show it: no colour, no rewritten progress lines, no machine's own directories, none of the debugger's own frames."""
    raw = text.replace("\r\n", "\n").split("\n")
    lines = [tidy(_ANSI.sub("", line.rstrip("\r").rsplit("\r", 1)[-1]), root) for line in raw]
    return trimmed(_without_debugger(lines))


def tidy(line: str, root: str) -> str:
    """A line without the directories that lead to the course and to installed packages."""
    line = line.replace(root.rstrip("/\\") + "/", "").replace(root.rstrip("/\\") + "\\", "")
    line = _LIBRARY_PATH.sub(lambda m: m["keep"].replace("\\", "/"), line)
    return _COURSE_PATH.sub(lambda m: m["keep"].replace("\\", "/"), line).rstrip()


def trimmed(lines: Sequence[str]) -> list[str]:
    """Lines without the empty ones at both ends."""
    kept = list(lines)
    while kept and not kept[-1].strip():
        kept.pop()
    while kept and not kept[0].strip():
        kept.pop(0)
    return kept


def _without_debugger(lines: Sequence[str]) -> list[str]:
    """Drop the stack entries of pdb itself: they differ between Python versions and teach nothing."""
    kept: list[str] = []
    dropping = ""
    for line in lines:
        if _DEBUGGER_FRAME.match(line):
            dropping = "-> "
        elif _DEBUGGER_TRACE.match(line):
            dropping = "    "
        elif not (dropping and line.startswith(dropping)):
            dropping = ""
            kept.append(line)
    return kept


def comparable(lines: Sequence[str]) -> list[str]:
    """Lines that count in a comparison: the carets under a traceback's source differ between Python versions."""
    return [line for line in trimmed(_without_debugger(lines)) if not _CARETS.match(line)]


def same(documented: str, real: str) -> bool:
    """Whether two lines say the same."""
    left, right = _clean(documented), _clean(real)
    left_numbers, right_numbers = list(_NUMBER.finditer(left)), list(_NUMBER.finditer(right))
    if _NUMBER.sub("#", left) != _NUMBER.sub("#", right):
        return False
    return all(_near(a[0], b[0], left[a.end() :]) for a, b in zip(left_numbers, right_numbers, strict=True))


def alike(documented: str, real: str) -> bool:
    """Whether two lines differ in nothing but their numbers."""
    return _NUMBER.sub("#", _clean(documented)) == _NUMBER.sub("#", _clean(real))


def _clean(line: str) -> str:
    """A line without what differs from run to run and machine to machine."""
    line = re.sub(r"python3\.\d+/", "python3/", tidy(line, "\0"))
    for pattern, replacement in _NOISE:
        line = pattern.sub(replacement, line)
    return re.sub(r"(?<=\S) {2,}", " ", line)


def _near(documented: str, real: str, after: str) -> bool:
    """Whether two numerals agree; `after` is what follows the documented one."""
    is_integer = re.fullmatch(r"-?\d+", documented) and re.fullmatch(r"-?\d+", real)
    if is_integer and not _MEASURED_INTEGER.match(after):
        return int(documented) == int(real)
    left, right = float(documented), float(real)
    difference, largest = abs(left - right), max(abs(left), abs(right))
    if math.isclose(left, right, rel_tol=RELATIVE):
        return True
    if "e" in (documented + real).lower():
        return difference <= ROUNDING
    if is_integer or after.lstrip().startswith("%"):
        return difference <= 100 * ABSOLUTE and after.lstrip().startswith("%")
    if largest < ABSOLUTE:
        return difference <= SMALL or difference <= largest / 2
    return difference <= ABSOLUTE


Pairing = list[tuple[int | None, int | None]]


def align(documented: Sequence[str], real: Sequence[str], equal: Callable[[str, str], bool]) -> tuple[int, Pairing]:
    """The cheapest pairing of two outputs, and its cost: the number of lines that are missing or too many.

    A pair holds a documented line's index and a real line's; None where it has no partner. An elision is paired with every line it stands for,
    and once with None.
    """
    rows, columns = len(documented), len(real)
    cost = [[0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows, -1, -1):
        elided = i < rows and documented[i].strip() == ELISION
        for j in range(columns, -1, -1):
            if i == rows:
                cost[i][j] = columns - j
            elif elided:
                cost[i][j] = min(cost[i + 1][j], cost[i][j + 1] if j < columns else cost[i + 1][j])
            elif j == columns:
                cost[i][j] = 1 + cost[i + 1][j]
            else:
                cost[i][j] = 1 + min(cost[i + 1][j], cost[i][j + 1])
                if cost[i + 1][j + 1] < cost[i][j] and equal(documented[i], real[j]):
                    cost[i][j] = cost[i + 1][j + 1]
    return cost[0][0], _path(documented, real, cost, equal)


def _path(documented: Sequence[str], real: Sequence[str], cost: list[list[int]], equal: Callable[[str, str], bool]) -> Pairing:
    """Walk the table of costs from its start to its end."""
    pairs: Pairing = []
    i = j = 0
    while i < len(documented) or j < len(real):
        if i == len(documented):
            pairs.append((None, j))
            j += 1
        elif documented[i].strip() == ELISION:
            if j < len(real) and cost[i][j + 1] == cost[i][j] and cost[i + 1][j] != cost[i][j]:
                pairs.append((i, j))
                j += 1
            else:
                pairs.append((i, None))
                i += 1
        elif j < len(real) and cost[i][j] == cost[i + 1][j + 1] and equal(documented[i], real[j]):
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif j < len(real) and cost[i][j] == 1 + cost[i][j + 1] and cost[i][j] != 1 + cost[i + 1][j]:
            pairs.append((None, j))
            j += 1
        else:
            pairs.append((i, None))
            i += 1
    return pairs

"""The verdict as data: strict JSON, the same facts as the terminal shows.

A verdict is an object with these keys, all always there:

    schema      "pytorch-debugging-course/verdict/1"
    lesson, title, submission    texts;  seed  a whole number
    status      "passed", "failed", "broken" (a fault of the grader), or how the first leg that did not finish ended:
                "raised", "exited", "timeout", "out of memory", "disk full", "killed", "rejected", "contract", "tampered"
    passed      true only for "passed"
    failing     ids of the failed checks, in order: the first is the headline
    remarks     texts: right, but odd
    next_step   the one thing to do next
    results     one object a check, in order: check (its id), title, group, leg, answer ("passed", "failed", "skipped", "broken"),
                saw, expected, where, next_step, remark, why (of a skipped one), error (of a broken one); null where an answer has no such thing
    legs        one object a leg: leg, device, simulated, outcome, sentence, crash, trace, seconds, output_tail

    where, place   null or {line, function, code}, in the submission
    crash          null or {type, message, during, places: [place, ...]}, outermost place first
    trace          [{name, kind, inputs: [shape, ...], output: shape or null where it raised, depth, place}, ...]

Numbers that JSON cannot express are the strings "NaN", "Infinity" and "-Infinity". Texts are as the submission made them, control characters
included: escape them before you print them.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import math
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.report.words import next_step

if TYPE_CHECKING:
    from grader.judge.verdict import Result, Verdict

SCHEMA = "pytorch-debugging-course/verdict/1"

_FACTS = ("saw", "expected", "where", "next_step", "remark", "why", "error")


def to_data(verdict: Verdict, following: str | None = None) -> dict[str, Any]:
    """The verdict as plain data (see above), ready for json.dumps(..., allow_nan=False).

    following: the name of the next lesson, as for terminal.render.
    """
    return {
        "schema": SCHEMA,
        "lesson": _plain(verdict.lesson),
        "title": _plain(verdict.title),
        "submission": _plain(verdict.submission),
        "seed": verdict.seed,
        "status": verdict.status,
        "passed": verdict.passed,
        "failing": list(verdict.failing),
        "remarks": _plain(verdict.remarks),
        "next_step": _plain(next_step(verdict, following)),
        "results": [_result(result) for result in verdict.results],
        "legs": _plain(verdict.legs),
    }


def to_text(data: object) -> str:
    """Data of to_data, or a list of them, as strict JSON of ASCII characters, indented, with a line end."""
    return json.dumps(data, indent=2, allow_nan=False) + "\n"


def write_json(data: object, path: Path) -> None:
    """Write data to a file, whole or not at all: a reader sees the old file or the new one.

    What is no regular file (/dev/stdout, a named pipe) is written to directly. Raises OSError.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        path.write_text(to_text(data), encoding="utf-8")
        return
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(to_text(data))
        Path(name).chmod(0o644)  # mkstemp's 0600 would hide the file from others
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _result(result: Result) -> dict[str, Any]:
    known = {"check": result.check, "title": result.title, "group": result.group, "leg": result.leg, "answer": type(result.answer).__name__.lower()}
    return known | {fact: _plain(getattr(result.answer, fact, None)) for fact in _FACTS}


def _plain(value: Any) -> Any:
    """The value made of what strict JSON has; lone surrogates (file names that are not UTF-8) become U+FFFD."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, str):
        return "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in value)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value

"""An exception of the submission, as plain data: its own __str__, __notes__ and class name are the submission's code and may do anything."""

from __future__ import annotations

from traceback import walk_tb
from typing import Any

PLACES, LONGEST = 12, 2000


def described(error: BaseException, file: str) -> dict[str, Any]:
    """Type, message, notes and the places in `file`, outermost first."""
    places = [
        {"line": line, "function": str(frame.f_code.co_name)[:80]}
        for frame, line in walk_tb(error.__traceback__)
        if frame.f_code.co_filename == file
    ]  # fmt: skip
    return {
        "type": _text(lambda: type(error).__name__)[:80],
        "message": _text(lambda: str(error)),
        "notes": _notes(error),
        "places": places[-PLACES:],
    }


def _notes(error: BaseException) -> str:
    return _text(lambda: " ".join(n for n in getattr(error, "__notes__", ()) if isinstance(n, str)))[:200]


def _text(ask: Any) -> str:
    try:
        value = ask()
    except BaseException as second:  # noqa: BLE001 - the submission's code again; what matters is that it cannot be read
        return f"(it could not be read: {type(second).__name__})"
    return str.encode(value, "utf-8", "replace").decode("utf-8")[:LONGEST] if isinstance(value, str) else ""


def from_submission(error: BaseException, file: str) -> bool:
    """Whether a line of the submission itself raised this (a signal handler, a property) rather than the code it interrupted."""
    return any(frame.f_code.co_filename == file for frame, _ in walk_tb(error.__traceback__))

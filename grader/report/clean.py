"""Making foreign text fit to print: a learner's text may not draw on the report, and no text may break a narrow encoding."""

from __future__ import annotations

import re
import unicodedata

_ESCAPES = re.compile(
    r"(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # operating system command: window titles, links
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c]*(?:\x1b\\|\x9c)?"  # device control and other strings
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # control sequence: colours, cursor
    r"|\x1b[ -/]*[0-~]"
)
"""Terminal escapes as in ECMA-48, in their 7-bit and 8-bit forms."""

_PLAINER = str.maketrans(
    dict(zip("→←≥≤±≈…·°∞‖∂", ("->", "<-", ">=", "<=", "+-", "~", "...", "*", " deg", "inf", "||", "d"), strict=True))
    | dict(zip("×−–—’‘“”", "x---''\"\"", strict=True))  # noqa: RUF001 - look-alikes are what this table is about
)


def inline(text: str, limit: int = 600) -> str:
    """The text on one line, without escapes and control characters, its spaces single, at most limit characters long."""
    return shorten(re.sub(r"\s+", " ", bare(text)), limit)


def lines(text: str, most: int, limit: int = 200) -> list[str]:
    """The text's first `most` lines that are not blank, each without escapes and control characters but with its spaces."""
    kept = [line.rstrip() for line in bare(text).split("\n") if line.strip()]
    return [shorten(line, limit) for line in kept[:most]]


def last_lines(text: str, most: int, limit: int = 200) -> list[str]:
    """Like lines, but the last ones."""
    kept = [line.rstrip() for line in bare(text[-20_000:]).split("\n") if line.strip()]
    return [shorten(line, limit) for line in kept[-most:]]


def shorten(text: str, limit: int) -> str:
    """The text, or its beginning and three dots if it is longer than limit characters."""
    return text if len(text) <= limit else text[: limit - 3].rstrip() + "..."


def speakable(text: str, encoding: str) -> str:
    """The text in characters that the encoding has: look-alikes where there are any, else question marks."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_PLAINER).encode(encoding, "replace").decode(encoding)
    return text


def bare(text: str) -> str:
    """The text without terminal escapes and without characters that are not seen (controls, direction marks, zero widths); line ends stay."""
    text = _ESCAPES.sub("", text.replace("\r\n", "\n"))
    return "".join(_character(character) for character in text)


def _character(character: str) -> str:
    if character == "\n" or character.isprintable():  # the common case; printable leaves out every control and format character
        return character
    if character in "\t\r\x0b\x0c" or unicodedata.category(character) in {"Zs", "Zl", "Zp"}:
        return " "
    return "\ufffd" if unicodedata.category(character) == "Cs" else ""

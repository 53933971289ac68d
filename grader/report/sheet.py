"""The sheet that a report is written on: a console that cleans every text it is given, and wraps with a hanging indent."""

from __future__ import annotations

import os
from typing import IO, Literal

from rich.console import Console
from rich.text import Text

from grader.report import clean

Part = str | tuple[str, str]
"""A text, or a text and its rich style."""

_WIDEST = 100
_NARROWEST = 40


def make_console(file: IO[str], *, plain: bool = False) -> Console:
    """A console for a report.

    On a terminal: colours and its width, at most 100 columns. In a pipe: no escape codes, 80 columns or what COLUMNS says. plain or a
    non-empty NO_COLOR: no escape codes anywhere.
    """
    columns = os.environ.get("COLUMNS", "")
    plain = plain or bool(os.environ.get("NO_COLOR"))
    width = int(columns) if columns.isdecimal() and int(columns) > 0 else None
    if width is None and not file.isatty():
        width = 80
    colours: Literal["auto"] | None = None if plain else "auto"
    console = Console(file=file, width=width, color_system=colours, force_terminal=False if plain else None)
    console.width = max(_NARROWEST, min(console.width, _WIDEST if file.isatty() else console.width))
    return console


class Sheet:
    """Writes cleaned, wrapped lines to a console. Nothing reaches the console by another way."""

    def __init__(self, console: Console) -> None:
        self._console = console

    @property
    def width(self) -> int:
        """Columns there are."""
        return self._console.width

    def blank(self) -> None:
        """Leave a line free."""
        self._print(Text())

    def put(self, *parts: Part, label: str = "", style: str = "", indent: int = 0, hang: int | None = None) -> None:
        """Write the parts as one paragraph.

        label: stands before its first line, in the style, `indent` columns from the left.  hang: the column where the text's other lines
        begin, and the first too if there is a label; by default the indent.
        """
        hang = indent if hang is None else hang
        text = Text(overflow="fold")
        for part in parts:
            words, look = (part, "") if isinstance(part, str) else part
            text.append(clean.speakable(clean.inline(words), self._console.encoding), style=look)
        self._wrapped(text, Text(" " * indent) + Text(clean.speakable(clean.bare(label), self._console.encoding), style=style), hang)

    def verbatim(self, line: str, *, style: str = "", indent: int = 0, prefix: str = "") -> None:
        """Write one line of foreign text (code, output) as it stands, spaces included; prefix before it marks it as such on every line."""
        kept = clean.speakable("".join(clean.lines(line, 1)), self._console.encoding)
        lead = Text(" " * indent + prefix, style="dim")
        for piece in Text(kept, style=style, overflow="fold").wrap(self._console, max(10, self.width - len(lead))):
            piece.rstrip()
            self._print(lead + piece)

    def _wrapped(self, text: Text, label: Text, hang: int) -> None:
        for number, line in enumerate(text.wrap(self._console, max(10, self.width - hang)) or [Text()]):
            line.rstrip()
            lead = label.copy() if number == 0 else Text()
            if number or label.plain.strip():
                lead.pad_right(max(0, hang - lead.cell_len))
            whole = lead + line
            whole.rstrip()
            self._print(whole)

    def _print(self, text: Text) -> None:
        self._console.print(text, no_wrap=True, overflow="ignore", crop=False, markup=False, highlight=False, emoji=False)

"""Runnable documentation, read: the ```console and ```pdb blocks of a Markdown file, as commands with their documented outputs.

A console block holds one or more `$ command` lines, each followed by its output. The pdb blocks of a file form one session: the first begins
with a `$ ` line that starts the debugger, and every `(Pdb) command` line is followed by its output, across blocks, until another `$ ` line starts
a new session.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,}) *(?P<info>[^`]*)$")
SHELL_PROMPT = "$ "
PDB_PROMPT = "(Pdb) "


class TranscriptError(Exception):
    """A block that cannot be replayed as it is written; the message says which line and what to write instead."""


@dataclass(frozen=True)
class Exchange:
    """One prompt, what was typed there and what the file says came back.

    line: 1-based line of the prompt; start, end: the 0-based half-open range of the output's lines in the file; indent: blanks before the fence.
    """

    command: str
    output: tuple[str, ...]
    line: int
    start: int
    end: int
    indent: str = ""


@dataclass
class Script:
    """A command to run, and the debugger commands to feed it (none for a console command)."""

    opening: Exchange
    commands: list[Exchange] = field(default_factory=list)
    is_pdb: bool = False


def scripts_of(text: str) -> list[Script]:
    """Every console command and pdb session of a Markdown text, in order. Raises TranscriptError."""
    lines = text.splitlines()
    found: list[Script] = []
    for kind, first, last, indent in _blocks(lines):
        exchanges = _exchanges(lines, first, last, indent, kind)
        for prompt, exchange in exchanges:
            if prompt == SHELL_PROMPT:
                found.append(Script(exchange, is_pdb=kind == "pdb"))
                continue
            session = next((s for s in reversed(found) if s.is_pdb), None)
            if session is None:
                msg = f"line {exchange.line}: the first ```pdb block begins with the command that starts the debugger, `$ python -m pdb FILE`"
                raise TranscriptError(msg)
            session.commands.append(exchange)
    return found


def _blocks(lines: list[str]) -> list[tuple[str, int, int, str]]:
    """(kind, first line, end line, indent) of each console and pdb block; lines are 0-based, the end is exclusive."""
    found = []
    number = 0
    while number < len(lines):
        opening = FENCE.match(lines[number])
        number += 1
        if opening is None:
            continue
        first, indent, fence = number, opening["indent"], opening["fence"]
        closing = re.compile(rf"^ *{re.escape(fence[0])}{{{len(fence)},}} *$")
        while number < len(lines) and not closing.match(lines[number]):
            number += 1
        if number == len(lines):
            msg = f"line {first}: this fence is never closed"
            raise TranscriptError(msg)
        if opening["info"].strip() in {"console", "pdb"}:
            found.append((opening["info"].strip(), first, number, indent))
        number += 1
    return found


def _exchanges(lines: list[str], first: int, last: int, indent: str, kind: str) -> list[tuple[str, Exchange]]:
    """The prompts of one block with their outputs."""
    body = [line.removeprefix(indent).rstrip() for line in lines[first:last]]
    starts = [(at, prompt) for at, line in enumerate(body) if (prompt := _prompt(line, kind))]
    if not starts or starts[0][0] != 0:
        wanted = "`$ command`" if kind == "console" else "`(Pdb) command`, or `$ command` in the first block"
        msg = f"line {first + 1}: a ```{kind} block begins with {wanted}"
        raise TranscriptError(msg)
    found = []
    for (at, prompt), following in zip(starts, [*(at for at, _ in starts[1:]), len(body)], strict=True):
        command, after = body[at][len(prompt) :], at + 1
        while prompt == SHELL_PROMPT and command.endswith("\\") and after < following:
            command = command[:-1].rstrip() + " " + body[after].removeprefix("> ").strip()
            after += 1
        found.append((prompt, Exchange(command.strip(), tuple(body[after:following]), first + at + 1, first + after, first + following, indent)))
    return found


def _prompt(line: str, kind: str) -> str | None:
    """The prompt that a line begins with, if any. A bare `(Pdb)` is an empty command: it repeats the last one."""
    if line.startswith(SHELL_PROMPT):
        return SHELL_PROMPT
    if kind == "pdb" and (line.startswith(PDB_PROMPT) or line == PDB_PROMPT.rstrip()):
        return PDB_PROMPT
    return None

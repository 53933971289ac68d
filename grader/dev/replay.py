"""Replay the runnable documentation: `python -m grader.dev.replay lessons/lesson01/walkthrough.md [--write]`.

Every ```console command and every ```pdb session of the file is run again in the course's root and its output compared with the documented one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.dev.likeness import ELISION, Pairing, align, alike, comparable, presentable, same, tidy
from grader.dev.shell import TIMEOUT, run_command
from grader.dev.transcript import PDB_PROMPT, Exchange, Script, TranscriptError, scripts_of

CONTEXT = 2
Runner = Callable[[str, str, Path, float], str]


@dataclass(frozen=True)
class Mismatch:
    """An output that is no longer the documented one."""

    path: Path
    exchange: Exchange
    real: tuple[str, ...]
    diff: str

    def __str__(self) -> str:
        """Where, what was typed, and the difference."""
        return f"{self.path}:{self.exchange.line}: `{self.exchange.command}` prints something else now\n{self.diff}"


def replay(path: Path, root: Path, *, write: bool = False, timeout: float = TIMEOUT, run: Runner | None = None) -> list[Mismatch]:
    """Run a file's blocks again in `root`. Returns what differed; with `write` also puts the real outputs into the file. Raises TranscriptError."""
    text = path.read_text(encoding="utf-8")
    mismatches: list[Mismatch] = []
    outputs: list[tuple[Exchange, list[str]]] = []
    for script in scripts_of(text):
        outputs += zip([script.opening, *script.commands], _outputs(script, root, timeout, run or run_command), strict=True)
    for exchange, real in outputs:
        documented = comparable(exchange.output)
        cost, pairs = align(documented, comparable(real), same)
        if cost:
            mismatches.append(Mismatch(path, exchange, tuple(real), difference(documented, comparable(real), pairs)))
    if write:
        path.write_text(_rewritten(text, outputs, {m.exchange.line for m in mismatches}, str(root)), encoding="utf-8")
    return mismatches


def _outputs(script: Script, root: Path, timeout: float, run: Runner) -> list[list[str]]:
    """The real output of a script's command and of each debugger command. The transcript that comes back holds the prompts but not what was typed."""
    if not script.is_pdb:
        return [presentable(run(script.opening.command, "", root, timeout), str(root))]
    typed = [exchange.command for exchange in script.commands]
    if not typed or typed[-1] not in {"q", "quit", "exit"}:
        typed.append("q")
    answers = run(script.opening.command, "\n".join(typed) + "\n", root, timeout).split(PDB_PROMPT)
    wanted = 1 + len(script.commands)
    missing = "(the session had ended before this command)"
    answers = [*answers, *[missing] * (wanted - len(answers))][:wanted]
    return [presentable(answer, str(root)) for answer in answers]


def difference(documented: Sequence[str], real: Sequence[str], pairs: Pairing) -> str:
    """A unified diff from the documented output to the real one; lines that agree within the tolerance are not part of it."""
    marked = []
    for left, right in pairs:
        if left is not None and documented[left].strip() == ELISION:
            if right is None:
                marked.append((" ", ELISION))
        elif left is not None:
            marked.append(("-" if right is None else " ", documented[left]))
        elif right is not None:
            marked.append(("+", real[right]))
    changed = [at for at, (mark, _) in enumerate(marked) if mark != " "]
    shown = ["--- documented", "+++ real"]
    last = None
    for at, (mark, line) in enumerate(marked):
        if not any(abs(at - other) <= CONTEXT for other in changed):
            continue
        if last is not None and at != last + 1:
            shown.append("@@")
        shown.append(f"{mark} {line}".rstrip())
        last = at
    return "\n".join(shown)


def _rewritten(text: str, outputs: list[tuple[Exchange, list[str]]], stale: set[int], root: str) -> str:
    """The file's text with the stale outputs replaced; an output that still holds only loses the machine's own directories."""
    lines = text.splitlines()
    for exchange, real in sorted(outputs, key=lambda pair: -pair[0].start):
        fresh = _refreshed(exchange, real) if exchange.line in stale else [tidy(line, root) for line in exchange.output]
        lines[exchange.start : exchange.end] = [(exchange.indent + line).rstrip() for line in fresh]
    return "\n".join(lines) + "\n"


def _refreshed(exchange: Exchange, real: list[str]) -> list[str]:
    """The real output, with the documented elisions kept where the lines around them still stand, whatever their numbers."""
    documented = comparable(exchange.output)
    if not any(line.strip() == ELISION for line in documented):
        return real
    lines = comparable(real)
    cost, pairs = align(documented, lines, alike)
    if cost:
        return real
    return [
        documented[left] if right is None else lines[right]
        for left, right in pairs
        if left is not None and (right is None or documented[left].strip() != ELISION)
    ]


def course_root(path: Path) -> Path:
    """The nearest directory above a file that holds lessons/ and exercises/; the current directory if there is none."""
    return next((up for up in path.resolve().parents if (up / "lessons").is_dir() and (up / "exercises").is_dir()), Path.cwd())


def main(argv: Sequence[str] | None = None) -> int:
    """Replay files: 0 all as documented, 1 something differs, 2 a file that cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m grader.dev.replay", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.md")
    parser.add_argument("--write", action="store_true", help="put the real outputs into the file (elisions stay where they still fit)")
    parser.add_argument("--timeout", type=float, default=TIMEOUT, metavar="SECONDS", help="limit for each command or session (default %(default)s)")
    parser.add_argument("--root", type=Path, help="directory to run in (default: the course that holds the file)")
    options = parser.parse_args(argv)
    status = 0
    for path in options.files:
        try:
            mismatches = replay(path, options.root or course_root(path), write=options.write, timeout=options.timeout)
        except (TranscriptError, OSError, UnicodeDecodeError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            return 2
        for mismatch in mismatches:
            print(f"{mismatch}\n")
        if mismatches:
            status = 0 if options.write and status == 0 else 1
        print(f"{path}: {'as documented' if not mismatches else f'{len(mismatches)} outputs ' + ('rewritten' if options.write else 'differ')}")
    return status


if __name__ == "__main__":
    sys.exit(main())

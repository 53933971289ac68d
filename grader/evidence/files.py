"""Walking a directory that a submission has had in its hands: no link is followed, and no depth can exhaust the walk."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

DEEPEST = 12


def files_in(folder: Path, deepest: int = DEEPEST) -> Iterator[tuple[Path, os.stat_result]]:
    """Every entry that is no directory, with its lstat; no link is followed, nothing deeper than `deepest` is looked at, nothing is recursive."""
    todo = [(folder, 0)]
    while todo:
        where, depth = todo.pop()
        try:
            entries = sorted(os.scandir(where), key=lambda e: e.name)
        except OSError:
            continue
        for entry in entries:
            try:
                info = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if not stat.S_ISDIR(info.st_mode):
                yield Path(entry.path), info
            elif depth < deepest:
                todo.append((Path(entry.path), depth + 1))

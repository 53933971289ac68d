"""A fence around the files of the child, where the system can build one (Linux with Landlock).

Inside it a submission writes only into the run directory and the system's temporary folder, and does not read the solutions, the case law or
the held-out labels.

Elsewhere there is no fence; the parent then relies on what it has read before the submission runs, and on its own measurements.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def beside(hidden: Iterable[Path]) -> Iterator[Path]:
    """The fewest paths that together hold everything except `hidden` and what lies below it (rules of Landlock only allow)."""
    hidden = {path.resolve() for path in hidden}
    above = {parent for path in hidden for parent in path.parents}

    def walk(folder: Path) -> Iterator[Path]:
        try:
            entries = list(os.scandir(folder))
        except OSError:
            return
        for entry in entries:
            path = Path(entry.path)
            if path in above:
                yield from walk(path)
            elif path not in hidden:
                yield path

    for root in {Path(path.anchor) for path in above} or {Path("/")}:
        yield from walk(root)


def fence(run_folder: Path, hidden: Iterable[Path], temporary: Path) -> bool:
    """Raise the fence for the rest of this process.  Returns False where the system has none.

    temporary: the system's temporary folder, writable too unless something hidden lies in it.
    """
    hidden = [path.resolve() for path in hidden]
    temporary = temporary.resolve()
    if sys.platform != "linux":
        return False
    try:
        from landlock import FSAccess, LandlockError, Ruleset, landlock_abi_version
    except ImportError:
        return False
    try:
        if landlock_abi_version() < 1:
            return False
        rules = Ruleset()
        look = FSAccess.EXECUTE | FSAccess.READ_FILE
        for path in beside(hidden):
            try:
                rules.allow(str(path), rules=look | FSAccess.READ_DIR if path.is_dir() else look)
            except OSError:
                continue  # gone meanwhile, or of a kind that takes no rules: it stays out of reach
        shared = [] if any(temporary in path.parents for path in hidden) else [temporary]
        for path in (run_folder, Path("/dev"), *shared):
            rules.allow(str(path))
        rules.apply()
    except (LandlockError, OSError):
        return False
    return True

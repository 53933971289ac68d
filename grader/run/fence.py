"""A fence around the files of the child, where the system can build one (Linux with Landlock).

Inside it a submission writes only into the run directory (which also holds its temporary folder), and does not read the solutions, the case
law, the repository's history or the held-out labels.

Elsewhere there is no fence; the parent then relies on what it has read before the submission runs, and on its own measurements.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

DEVICES = ("null", "zero", "full", "random", "urandom", "shm", "nvidia*", "dri")
"""What a training may write to in /dev: shm is where DataLoader workers share tensors, the last two are GPUs."""


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


def hidden_from(root: Path) -> list[str]:
    """What a submission to the course in `root` has no business reading: solutions, other submissions of the tests, the held-out labels."""
    import grader.data.heldout

    labels = Path(grader.data.heldout.__file__).parents[1] / "heldout"
    histories = [folder / ".git" for folder in (root, *root.resolve().parents) if (folder / ".git").exists()]
    return [str(p.resolve()) for p in (root / "solutions", root / "tests", labels, *histories)]


def fence(run_folder: Path, hidden: Iterable[Path]) -> bool:
    """Raise the fence for the rest of this process.  Returns False where the system has none."""
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
        rules.allow(str(run_folder))
        for device in DEVICES:
            for path in Path("/dev").glob(device):
                rules.allow(str(path), rules=None if path.is_dir() else look | FSAccess.WRITE_FILE)
        rules.apply()
    except (LandlockError, OSError):
        return False
    return True

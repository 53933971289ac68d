"""Removing a directory that a submission has had in its hands: links, missing permissions, thousands of nested folders."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path


def remove(folder: Path) -> bool:
    """Remove a directory and all below it; True if nothing is left. Permissions are changed inside it only, and no link is followed."""
    for attempt in range(3):
        try:
            info = folder.lstat()
        except FileNotFoundError:
            return True
        if attempt:
            time.sleep(0.2)  # a file still held open (Windows), or a process that is just ending
        if stat.S_ISDIR(info.st_mode):
            _empty(folder)
        _quietly(folder.rmdir if stat.S_ISDIR(info.st_mode) else folder.unlink)
    return not os.path.lexists(folder)


def _empty(folder: Path) -> None:
    """Delete files and lift every inner directory to the top, so that no path grows long and nothing recurses, however deep the tree was."""
    count = 0
    todo = [folder]
    while todo:
        where = todo.pop()
        _quietly(lambda where=where: where.chmod(0o700))
        try:
            entries = list(os.scandir(where))
        except OSError:
            continue
        for entry in entries:
            path = Path(entry.path)
            if not entry.is_dir(follow_symlinks=False):
                _quietly(path.unlink)
            elif where == folder:
                todo.append(path)
            else:
                lifted = folder / f".lifted-{count}"
                count += 1
                _quietly(lambda path=path, lifted=lifted: path.rename(lifted))
                todo.append(lifted)
        if where != folder:
            _quietly(where.rmdir)


def _quietly(action: object) -> None:
    try:
        action()  # type: ignore[operator] # always a callable of no arguments
    except OSError:
        return

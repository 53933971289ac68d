"""Removing a run directory, whatever a submission did to it."""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path


def remove(folder: Path) -> None:
    """Remove a run directory, also where the submission took away its permissions; a file still held open (Windows) gets a second chance."""

    def again(function: object, path: str, _: BaseException) -> None:
        try:
            os.chmod(os.path.dirname(path), 0o700)  # noqa: PTH101, PTH120 - rmtree hands over strings
            os.chmod(path, 0o700)  # noqa: PTH101
            if callable(function):
                function(path)
        except OSError:
            return

    for _ in range(3):
        if sys.version_info >= (3, 12):
            shutil.rmtree(folder, onexc=again)
        else:
            shutil.rmtree(folder, onerror=lambda f, p, info: again(f, p, info[1]))
        if not folder.exists():
            return
        time.sleep(0.2)

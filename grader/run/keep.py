"""What `--keep` keeps of a leg: its event files, the raw evidence, and a picture of the autograd graph."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from grader.evidence.files import files_in
from grader.run.folders import remove
from grader.run.options import GraderError
from grader.run.picture import draw

if TYPE_CHECKING:
    from grader.evidence.build import RunRecord
    from grader.evidence.view import Evidence


def keep(folder: Path, record: RunRecord, made: Evidence) -> str | None:
    """Keep it in `folder`, in place of an earlier run's. Returns a note for the user, if there is something to say."""
    target = folder / record.leg
    try:
        remove(target)
        target.mkdir(parents=True)
        (target / "evidence.jsonl").write_bytes(record.stream)
        for path, info in files_in(record.log_dir):
            if stat.S_ISREG(info.st_mode) and "tfevents" in path.name:
                copy = target / "logs" / path.relative_to(record.log_dir)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
        picture = made.probes.get("picture")
        return draw(str(picture.values["dot"]), target) if picture is not None and "dot" in picture.values else None
    except OSError as error:
        msg = f"--keep {folder}: {error.strerror or error}. Choose a directory that can be written."
        raise GraderError(msg) from error

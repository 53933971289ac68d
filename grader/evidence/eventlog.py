"""TensorBoard event files to scalar series, read with tensorboard's own reader (which also reads tensorboardX's files)."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from grader.evidence.files import files_in
from grader.evidence.records import Series

LARGEST, MOST_FILES, MOST_EVENTS, DEEPEST = 64 * 2**20, 200, 100_000, 6


@dataclass(frozen=True)
class EventLog:
    """What the event files of one log directory hold.

    files: names relative to the directory; series: by tag, in file and record order; trouble: sentences about files that could not be read whole.
    """

    files: tuple[str, ...]
    series: dict[str, Series]
    trouble: tuple[str, ...] = ()


def _event_files(folder: Path) -> list[tuple[Path, os.stat_result]]:
    """Entries called like event files, to a small depth."""
    return sorted((path, info) for path, info in files_in(folder, DEEPEST) if "tfevents" in path.name)


def read_event_log(folder: Path) -> EventLog:
    """All scalars under a log directory, sub-directories included; links and oversized files are not followed but reported."""
    if folder.is_symlink():
        return EventLog((), {}, ("log_dir itself was replaced by a link",))
    files: list[str] = []
    trouble: list[str] = []
    points: dict[str, tuple[list[int], list[float]]] = {}
    room = LARGEST
    for path, info in _event_files(folder)[:MOST_FILES]:
        name = path.relative_to(folder).as_posix()
        room -= info.st_size
        if not stat.S_ISREG(info.st_mode):
            trouble.append(f"{name} is not a regular file")
        elif room < 0:
            trouble.append(f"the event files are larger than {LARGEST // 2**20} MB together")
            break
        else:
            files.append(name)
            trouble.extend(_read(path, name, points))
    series = {tag: Series(tag, tuple(steps), tuple(values)) for tag, (steps, values) in points.items()}
    return EventLog(tuple(files), series, tuple(trouble))


def _read(path: Path, name: str, points: dict[str, tuple[list[int], list[float]]]) -> list[str]:
    """Add one file's scalars to the points; returns what is wrong with it."""
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto import event_pb2

    events = 0
    try:
        for raw in RawEventFileLoader(str(path)).Load():
            event = event_pb2.Event.FromString(raw)
            events += 1
            for value in event.summary.value:
                number = _number(value)
                if number is not None:
                    steps, values = points.setdefault(_tag(name, value.tag), ([], []))
                    steps.append(int(event.step))
                    values.append(number)
            if events > MOST_EVENTS:
                return [f"{name} holds more than {MOST_EVENTS} events"]
    except Exception as error:  # noqa: BLE001 - tensorboard's reader and protobuf raise their own kinds for damaged records
        return [f"{name} is damaged: {type(error).__name__}"]
    return [] if events else [f"{name} holds no event that can be read"]


def _tag(name: str, tag: str) -> str:
    """Scalars of a file in a sub-directory (add_scalars, add_hparams) keep apart from those of the directory itself."""
    folder, _, _ = name.rpartition("/")
    return f"{folder}:{tag}" if folder else tag


def _number(value: object) -> float | None:
    """The scalar in a summary value, in TensorBoard's old and new encodings."""
    which = value.WhichOneof("value")  # type: ignore[attr-defined] # protobuf classes carry no types
    if which == "simple_value":
        return float(value.simple_value)  # type: ignore[attr-defined]
    if which == "tensor":
        tensor = value.tensor  # type: ignore[attr-defined]
        if len(tensor.float_val) == 1:
            return float(tensor.float_val[0])
        if len(tensor.double_val) == 1:
            return float(tensor.double_val[0])
    return None

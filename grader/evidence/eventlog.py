"""TensorBoard event files to scalar series, read with tensorboard's own reader (which also reads tensorboardX's files)."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.evidence.records import Series

if TYPE_CHECKING:
    from pathlib import Path

LARGEST = 64 * 2**20
MOST_SCALARS = 200_000


@dataclass(frozen=True)
class EventLog:
    """What the event files of one log directory hold.

    files: names relative to the directory; series: by tag, in file and record order; trouble: sentences about files that could not be read whole.
    """

    files: tuple[str, ...]
    series: dict[str, Series]
    trouble: tuple[str, ...] = ()


def read_event_log(folder: Path) -> EventLog:
    """All scalars under a log directory, sub-directories included; links and oversized files are not followed but reported."""
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto import event_pb2

    files: list[str] = []
    trouble: list[str] = []
    points: dict[str, tuple[list[int], list[float]]] = {}
    count = 0
    for path in sorted(folder.rglob("*tfevents*")) if folder.is_dir() else []:
        name = path.relative_to(folder).as_posix()
        info = path.lstat()
        if not stat.S_ISREG(info.st_mode):
            trouble.append(f"{name} is not a regular file")
            continue
        if info.st_size > LARGEST:
            trouble.append(f"{name} is larger than {LARGEST // 2**20} MB")
            continue
        files.append(name)
        events = 0
        try:
            for raw in RawEventFileLoader(str(path)).Load():
                event = event_pb2.Event.FromString(raw)
                events += 1
                for value in event.summary.value:
                    number = _number(value)
                    if number is None or count >= MOST_SCALARS:
                        continue
                    count += 1
                    steps, values = points.setdefault(_tag(name, value.tag), ([], []))
                    steps.append(int(event.step))
                    values.append(number)
        except Exception as error:  # noqa: BLE001 - tensorboard's reader and protobuf raise their own kinds for damaged records
            trouble.append(f"{name} is damaged: {type(error).__name__}")
        if not events:
            trouble.append(f"{name} holds no event that can be read")
    series = {tag: Series(tag, tuple(steps), tuple(values)) for tag, (steps, values) in points.items()}
    return EventLog(tuple(files), series, tuple(trouble))


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

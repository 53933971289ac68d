"""How a submission is to be run, and what can go wrong that is not its fault."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


class GraderError(Exception):
    """Our own failure; the message names the remedy."""


class DeviceError(GraderError):
    """The device that was asked for does not exist here."""


@dataclass(frozen=True)
class RunOptions:
    """How to run a submission.

    data_dir: a torchvision root; device: auto, cpu, cuda or sim; seed: for python, numpy and torch in the child; timeout: wall-clock seconds
    instead of the lesson's; keep: a directory that receives the event files and the raw evidence; epochs: instead of the lesson's.
    """

    data_dir: Path
    device: str = "auto"
    seed: int = 0
    timeout: float | None = None
    keep: Path | None = None
    epochs: int | None = None

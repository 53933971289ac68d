"""What the recorder keeps: the roots of a training, the step in progress, and which steps are recorded in full."""

from __future__ import annotations

import functools
import math
import traceback
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from grader.run.params import Track

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import nn

    from grader.run.recorder import Recorder

DENSE, SPARSE = 10, 1.25
LOOSE = -1
EMPTY = (0, 0.0, 0.0, math.inf, -math.inf)


def guarded(method: Callable[..., None]) -> Callable[..., None]:
    """A failure of the recorder must not become a failure of the submission: write it down as ours and stop observing."""

    @functools.wraps(method)
    def run(self: Recorder, *args: Any) -> None:
        if self.broken:
            return
        try:
            method(self, *args)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is our bug; it is reported as one
            self.broken = True
            where = traceback.extract_tb(error.__traceback__)[-1]
            self.emit("fault", what=f"{type(error).__name__}: {error}"[:300], where=f"{where.name}:{where.lineno}")

    return run


def is_sampled(step: int) -> bool:
    """Steps 0 to 9, then ever sparser (each about a quarter further than the last)."""
    if step < DENSE:
        return True
    edge = DENSE
    while edge < step:
        edge = math.ceil(edge * SPARSE)
    return edge == step


@dataclass
class Root:
    """A module that was called from outside any other module."""

    key: int
    module: weakref.ref[nn.Module]
    kind: str
    track: Track = field(default_factory=Track)
    moments: dict[str, list[float]] = field(default_factory=dict)
    fresh: list[float] = field(default_factory=lambda: list(EMPTY))
    first_done: bool = False
    largest: int = 0


@dataclass
class Pending:
    """The step that is being observed."""

    roots: dict[int, Root] = field(default_factory=dict)
    rows: int = 0
    loss: float | None = None
    backward: bool = False
    optimiser: bool = False
    lr: float | None = None
    finite: bool = True
    parameter_device: str = "?"
    input_device: str = "?"


def add_moments(into: list[float], new: Sequence[float]) -> None:
    """Add (count, sum, sum of squares, low, high) to a running list of the same."""
    into[0] += new[0]
    into[1] += new[1]
    into[2] += new[2]
    into[3] = min(into[3], new[3])
    into[4] = max(into[4], new[4])

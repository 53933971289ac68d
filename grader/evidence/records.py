"""The record types of one run: what was observed, never what it means.

Every record is frozen and made of plain data, so that it crosses the codec unchanged and a check can be a pure function of it. Nothing here
imports torch. NaN and infinity are evidence and stay floats; "no gradient" (None) and "a gradient of zero" (0.0) are different observations.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any


class Outcome(enum.Enum):
    """How the run ended: exactly one of these for every submission."""

    FINISHED = "finished"
    """main returned a model and every probe ran."""
    RAISED = "raised"
    """an exception left the submission (at import, in main, or in eval_transform)."""
    EXITED = "exited"
    """the submission ended the process itself: sys.exit, os._exit, exit code without a result."""
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out of memory"
    DISK_FULL = "disk full"
    """it wrote more than the run directory may hold, or the disk had no room left."""
    KILLED = "killed"
    """a signal ended it."""
    REJECTED = "rejected"
    """the file was not run: missing, empty, unreadable, a syntax error, or it reaches into the grader."""
    BROKEN_CONTRACT = "contract"
    """no main, no eval_transform, or one that returns the wrong thing."""
    TAMPERED = "tampered"
    """the evidence contradicts itself or the observer was disturbed."""


@dataclass(frozen=True)
class Place:
    """A line of the learner's file."""

    line: int
    function: str
    code: str


@dataclass(frozen=True)
class Crash:
    """An exception located in the learner's file.

    places: frames inside the learner's file, outermost first (empty if none).
    during: 'import', 'main' or a probe's name.
    """

    type: str
    message: str
    places: tuple[Place, ...] = ()
    during: str = "main"


@dataclass(frozen=True)
class ShapeCall:
    """One operation or module call of a traced forward pass.

    name: qualified module name ('conv1', 'features.0') or the operation's name ('flatten'); kind: class or function name.
    inputs / output: shapes; output is None where the call raised.
    """

    name: str
    kind: str
    inputs: tuple[tuple[int, ...], ...]
    output: tuple[int, ...] | None
    depth: int = 0
    place: Place | None = None


@dataclass(frozen=True)
class Moments:
    """Running first and second moments of every number in some tensors: count, mean, standard deviation (population), minimum, maximum."""

    count: int
    mean: float
    std: float
    low: float
    high: float


@dataclass(frozen=True)
class LossSample:
    """Some rows of what the model gave to the loss in one step, and what came back.

    outputs: (rows, 10), the model's output during training; gradients: (rows, 10), dLoss/doutputs as backward delivered it.
    """

    step: int
    outputs: tuple[tuple[float, ...], ...]
    gradients: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Step:
    """One training step: from a forward pass of the model to its parameters' next change.

    loss: the scalar that backward started from, None where no scalar was seen (autograd-free loops).
    rows: samples in the forward pass(es) of this step.  lr: the optimiser's (first group's) rate, None without an optimiser.
    gradients: norm per parameter name as backward delivered it (before clipping or a learner's hook); None: no gradient arrived.
        Empty on steps that were not sampled.
    changed: whether any parameter changed, None if unknown.
    update: ||w_after - w_before|| / ||w_before|| over all parameters, None where it was not measured.
    revisits: index of an earlier step whose exact parameters have come back, else None.
    finite: all of loss, outputs and parameters were finite.
    jump: before this step the parameters changed although no step was taken: index of the state that came back, -1 for a new one.
    dropped: samples of forward passes in training mode that no backward pass came through.
    called / backed: where the learner's file called the model and started backward (sampled steps only).
    """

    index: int
    loss: float | None
    rows: int
    lr: float | None = None
    gradients: dict[str, float | None] = field(default_factory=dict)
    changed: bool | None = None
    update: float | None = None
    revisits: int | None = None
    finite: bool = True
    parameter_device: str = "cpu"
    input_device: str = "cpu"
    called: Place | None = None
    backed: Place | None = None
    jump: int | None = None
    dropped: int = 0
    stale: int = 0
    nodes: int | None = None


@dataclass(frozen=True)
class Series:
    """One TensorBoard scalar series, in file order."""

    tag: str
    steps: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class Parameter:
    """One parameter of the returned model.

    moved: ||w_end - w_first_seen|| / max(||w_first_seen||, tiny); None if it was never seen in training.
    """

    name: str
    shape: tuple[int, ...]
    trainable: bool
    device: str
    dtype: str
    moved: float | None
    called: bool
    """whether the probe's forward pass used it"""


@dataclass(frozen=True)
class Probe:
    """The answer to one question put to the returned model: values, or the error it raised instead."""

    name: str
    values: dict[str, Any] = field(default_factory=dict)
    crash: Crash | None = None

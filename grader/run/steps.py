"""What the recorder keeps: the roots of a training, the step in progress, and which steps are recorded in full."""

from __future__ import annotations

import functools
import math
import random
import traceback
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from grader.run.crashes import from_submission
from grader.run.params import NamedParameters, Track
from grader.run.tensors import is_wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import torch
    from torch import nn

    from grader.run.samples import Call

DENSE, SPARSE = 10, 1.25
LOOSE = -1
EMPTY = (0, 0.0, 0.0, math.inf, -math.inf)


class Observer(Protocol):
    """What a guarded method needs of its object."""

    broken: bool

    @property
    def file(self) -> str:
        """The submission's file name."""
        ...

    @property
    def emit(self) -> Callable[..., None]:
        """The evidence writer."""
        ...


def guarded(method: Callable[..., None]) -> Callable[..., None]:
    """A failure of the recorder must not become a failure of the submission: write it down as ours and stop observing."""

    @functools.wraps(method)
    def run(self: Observer, *args: Any) -> None:
        if self.broken:
            return
        try:
            method(self, *args)
        except Exception as error:
            if from_submission(error, self.file):
                raise  # a signal handler or a property of the submission raised in our midst: that is its own business
            self.broken = True
            where = traceback.extract_tb(error.__traceback__)[-1]
            self.emit("fault", what=f"{type(error).__name__}: {error}"[:300], where=f"{where.name}:{where.lineno}")

    return run


class Sampling:
    """Which steps are recorded in full: 0 to 9, then one at a random place in each of ever longer stretches (each about a quarter of the way so far).

    The places differ from run to run, so that nothing can behave well in the sampled steps only.
    """

    def __init__(self, salt: str) -> None:
        """salt: the run's own secret."""
        self._random = random.Random(salt)  # noqa: S311 - of its own, so that the submission's generators stay untouched
        self._chosen = set(range(DENSE))
        self._end = DENSE

    def __call__(self, step: int) -> bool:
        """Whether this step is recorded in full."""
        while step >= self._end:
            start, self._end = self._end, math.ceil(self._end * SPARSE)
            self._chosen.add(self._random.randrange(start, self._end))
        return step in self._chosen


@dataclass
class Root:
    """A module that was called from outside any other module.

    first_module: the layer with the first weight of its forward pass, if `plain_first`: the layer's input is all that this weight is applied to.
    """

    key: int
    module: nn.Module
    kind: str
    track: Track = field(default_factory=Track)
    parameters: NamedParameters = field(default_factory=NamedParameters)
    moments: dict[str, list[float]] = field(default_factory=dict)
    fresh: list[float] = field(default_factory=lambda: list(EMPTY))
    first_done: bool = False
    first_module: nn.Module | None = None
    plain_first: bool = False
    largest: int = 0
    rows: int = 0

    def named(self) -> list[tuple[str, torch.Tensor]]:
        """The module's parameters now."""
        return self.parameters.of(self.module)

    def add(self, kind: str, new: Sequence[float]) -> None:
        """Add input moments of the first weight layer: 'fresh' ones wait for their step."""
        add_moments(self.fresh if kind == "fresh" else self.moments.setdefault(kind, list(EMPTY)), new)


@dataclass
class Pending:
    """The step that is being observed.

    used: rows of forward passes that a backward pass came through, by root; waiting: rows in training mode that none has come through yet; nodes and
    stale: size of the graph that its backward pass ran through, and how much of it was built in earlier steps, where it was counted.
    """

    roots: dict[int, Root] = field(default_factory=dict)
    rows: int = 0
    loss: float | None = None
    backward: bool = False
    optimiser: bool = False
    lr: float | None = None
    finite: bool = True
    parameter_device: str = "?"
    input_device: str = "?"
    called: dict[str, Any] | None = None
    backed: dict[str, Any] | None = None
    jump: int | None = None
    used: dict[int, int] = field(default_factory=dict)
    waiting: int = 0
    followed: bool = False
    stale: int = 0
    nodes: int | None = None

    def enter(self, root: Root, rows: int, given: torch.Tensor | None, device: str) -> None:
        """A forward pass of `rows` samples begins. given: its first tensor; device: where the parameters are."""
        self.roots[root.key] = root
        self.rows = max(self.rows, rows) if len(self.roots) > 1 else self.rows + rows
        self.parameter_device = device
        if given is not None:
            self.input_device = str(given.device)

    def forward(self, outputs: Sequence[torch.Tensor], root: Root, call: Call | None, *, training: bool) -> None:
        """A forward pass has ended: count its rows as used when a backward pass comes through one of its outputs."""
        rows, key = root.rows, root.key
        nodes = [tensor.grad_fn for tensor in outputs if tensor.grad_fn is not None and not is_wrapped(tensor)]
        if not nodes:
            return
        self.followed = True
        self.waiting += rows if training else 0
        came = False
        if call is not None:
            call.followed = True

        def reached(_: Any) -> None:
            nonlocal came
            if came:
                return
            came = True
            self.used[key] = self.used.get(key, 0) + rows
            self.waiting -= rows if training else 0
            if call is not None:
                call.train = True

        for node in nodes:
            node.register_prehook(reached)

    def fields(self) -> dict[str, Any]:
        """As a line of evidence."""
        return {
            "roots": list(self.roots) or [LOOSE],
            "loss": self.loss,
            "rows": max(self.used.values(), default=0) if self.followed and self.backward else self.rows,
            "dropped": max(self.waiting, 0) if self.followed else 0,
            "stale": self.stale,
            "nodes": self.nodes,
            "jump": self.jump,
            "lr": self.lr,
            "finite": self.finite,
            "pdev": self.parameter_device,
            "idev": self.input_device,
            "called": self.called,
            "backed": self.backed,
        }


def add_moments(into: list[float], new: Sequence[float]) -> None:
    """Add (count, sum, sum of squares, low, high) to a running list of the same."""
    into[0] += new[0]
    into[1] += new[1]
    into[2] += new[2]
    into[3] = min(into[3], new[3])
    into[4] = max(into[4], new[4])

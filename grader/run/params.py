"""Following parameters through time: how far each update moved them, and whether an exact earlier state came back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from grader.run.tensors import is_lazy, norms, plain, quiet

if TYPE_CHECKING:
    from collections.abc import Sequence


class Track:
    """The history of one set of named tensors.

    `look` compares with the last look. Only norms and two copies are kept: the first values seen and the latest.
    """

    def __init__(self) -> None:
        """Nothing seen yet."""
        self.names: list[str] = []
        self.first: list[torch.Tensor] = []
        self.last: list[torch.Tensor] = []
        self.size = 0.0
        self.states: dict[tuple[float, ...], int] = {}
        self.finite = True

    def look(self, named: Sequence[tuple[str, torch.Tensor]], step: int) -> tuple[float | None, int | None]:
        """Return (||w - w_last|| / ||w_last||, index of the step whose exact state has come back or None).

        named: the tensors now; step: the index to remember this state by. The first look returns (None, None).
        """
        with quiet():
            now = [plain(tensor) for _, tensor in named if tensor.is_floating_point() and not is_lazy(tensor)]
            if not now:
                return None, None
            if len(now) != len(self.last) or any(a.shape != b.shape or a.device != b.device for a, b in zip(now, self.last, strict=True)):
                self.names = [name for name, tensor in named if tensor.is_floating_point() and not is_lazy(tensor)]
                self.first = [t.clone() for t in now]
                self.last = [t.clone() for t in now]
                self.states = {}
                self._remember(now, step)
                return None, None
            delta = torch._foreach_sub(now, self.last)  # noqa: SLF001 - what torch.optim itself uses; one kernel for all
            moved = math.hypot(*norms(list(delta)))
            if moved == 0.0:
                return 0.0, None
            before = self.size
            torch._foreach_copy_(self.last, now)
            back = self._remember(now, step)
            return moved / max(before, 1e-12), back

    def _remember(self, now: list[torch.Tensor], step: int) -> int | None:
        each = norms(now)
        self.size = math.hypot(*each)
        self.finite = math.isfinite(self.size)
        key = tuple(each)
        back = self.states.get(key)
        if back is None and self.finite:
            self.states[key] = step
        return back

"""Does the gradient that backward delivers agree with how the loss really changes?

A gradient can be rescaled or invented (a hook, a hand-written autograd.Function) so that its norm looks healthy. The test is the definition:
along the unit direction u of the delivered gradient g, the loss must change at the rate |g| (central difference, double precision where the
model allows it).  The loss here is the cross-entropy of the model's output with arbitrary labels: the question is about the chain rule, not
about the task.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the field's own name for it

from grader.run.tensors import scores_in

if TYPE_CHECKING:
    from torch import nn

ROWS, WEIGHTS, ELEMENTS = 16, 24, 4_000_000


def gradient_truth(module: nn.Module, batch: torch.Tensor, width: int = 10) -> dict[str, Any]:
    """Analytic and measured slope for each weight of two or more dimensions, in training mode.

    batch: images as the model takes them; width: scores an image. Returns {names, analytic, measured} (slopes along the delivered
    gradient), or {error}.
    """
    message = ""
    for dtype in (torch.float64, torch.float32):
        try:
            return _measure(module, batch[:ROWS], dtype, width)
        except Exception as error:  # noqa: BLE001 - the learner's forward may raise anything in double precision; the text is recorded
            message = f"{type(error).__name__}: {error}"[:200]
    return {"error": message}


class Swapped:
    """Other values in the place of a module's parameters and buffers, wherever and however often each of them hangs."""

    def __init__(self, module: nn.Module) -> None:
        """Find every place."""
        self._places = [(d, k, t) for m in module.modules() for d in (m._parameters, m._buffers) for k, t in d.items() if t is not None]  # noqa: SLF001

    def put(self, values: dict[int, torch.Tensor]) -> None:
        """Put values in, by the id of the original."""
        for owner, key, original in self._places:
            owner[key] = values.get(id(original), original)  # type: ignore[assignment] # any tensor will do for a forward pass

    def back(self) -> None:
        """Put the originals back."""
        self.put({})


def _measure(module: nn.Module, batch: torch.Tensor, dtype: torch.dtype, width: int) -> dict[str, Any]:
    named = [(n, p) for n, p in module.named_parameters() if p.is_floating_point()]
    tested = [(n, p) for n, p in named if p.dim() > 1 and p.requires_grad][:WEIGHTS]
    if sum(p.numel() for _, p in named) > ELEMENTS:
        return {"error": "too many parameters to measure"}
    given = _cast(batch, dtype)
    swapped = Swapped(module)
    base = {id(p): p.detach().to(dtype).clone().requires_grad_(p.requires_grad) for _, p in named}
    buffers = {id(b): _cast(b.detach().clone(), dtype) for b in module.buffers()}

    def loss(changed: dict[int, torch.Tensor]) -> torch.Tensor:
        torch.manual_seed(0)
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002 - a forward pass may use numpy's global generator
        swapped.put({**base, **{key: b.clone() for key, b in buffers.items()}, **changed})
        output = scores_in(module(given.clone()), width)
        if output is None:
            msg = f"the output is not (rows, {width})"
            raise TypeError(msg)
        return F.cross_entropy(output, torch.arange(output.shape[0], device=output.device) % width)

    analytic: list[float] = []
    measured: list[float] = []
    try:
        with torch.enable_grad():
            loss({}).backward()
            for _, p in tested:
                gradient = base[id(p)].grad
                norm = 0.0 if gradient is None else float(gradient.norm())
                analytic.append(norm)
                if gradient is None or norm == 0.0:
                    measured.append(0.0)
                    continue
                value = base[id(p)].detach()
                size = (1e-4 if dtype is torch.float64 else 1e-2) * max(float(value.norm()), 1e-3)
                step = gradient / norm * size
                # leaves that take gradients here too: a forward pass may put hooks on what it computes
                up = float(loss({id(p): (value + step).requires_grad_()}).detach())
                down = float(loss({id(p): (value - step).requires_grad_()}).detach())
                measured.append((up - down) / (2 * size))
    finally:
        swapped.back()
    return {"names": [n for n, _ in tested], "analytic": analytic, "measured": measured, "double": dtype is torch.float64}


def _cast(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.detach().to(dtype)
    return value

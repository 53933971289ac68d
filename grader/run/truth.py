"""Does the gradient that backward delivers agree with how the loss really changes?

A gradient can be rescaled or invented (a hook, a hand-written autograd.Function) so that its norm looks healthy. The test is the definition:
along the unit direction u of the delivered gradient g, the loss must change at the rate |g| (central difference, double precision where the
model allows it).  The loss here is the cross-entropy of the model's output with arbitrary labels: the question is about the chain rule, not
about the task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F  # noqa: N812 - the field's own name for it
from torch.func import functional_call

from grader.run.tensors import ten_wide

if TYPE_CHECKING:
    from torch import nn

ROWS, WEIGHTS, ELEMENTS = 16, 24, 4_000_000


def gradient_truth(module: nn.Module, args: tuple[Any, ...]) -> dict[str, Any]:
    """Analytic and measured slope for each weight of two or more dimensions.

    module, args: as they were called in training.  Returns {names, analytic, measured} (slopes along the delivered gradient), or {error}.
    """
    for dtype in (torch.float64, torch.float32):
        kept = [(part, dict(part.__dict__)) for part in module.modules()]
        try:
            return _measure(module, args, dtype)
        except Exception as error:  # noqa: BLE001 - the learner's forward may raise anything in double precision; the text is recorded
            message = f"{type(error).__name__}: {error}"[:200]
        finally:  # a forward pass may keep things on its modules (activations, auxiliary outputs) that the loss is about to use
            for part, state in kept:
                part.__dict__.clear()
                part.__dict__.update(state)
    return {"error": message}


def _measure(module: nn.Module, args: tuple[Any, ...], dtype: torch.dtype) -> dict[str, Any]:
    named = [(n, p) for n, p in module.named_parameters() if p.is_floating_point()]
    names = [n for n, p in named if p.dim() > 1 and p.requires_grad][:WEIGHTS]
    if sum(p.numel() for _, p in named) > ELEMENTS:
        return {"error": "too many parameters to measure"}
    inputs = tuple(_cast(a[:ROWS] if isinstance(a, torch.Tensor) and len(args) == 1 else a, dtype) for a in args)
    buffers = {n: _cast(b.detach().clone(), dtype) for n, b in module.named_buffers()}
    base = {n: p.detach().to(dtype).clone() for n, p in named}

    def loss(values: dict[str, torch.Tensor]) -> torch.Tensor:
        torch.manual_seed(0)
        output = ten_wide(functional_call(module, (values, {n: b.clone() for n, b in buffers.items()}), inputs))
        if output is None:
            msg = "the output is not (rows, 10)"
            raise TypeError(msg)
        target = torch.arange(output.shape[0], device=output.device) % 10
        return F.cross_entropy(output, target)

    with torch.random.fork_rng(), torch.enable_grad():
        leaves = {n: (v.clone().requires_grad_() if n in names else v) for n, v in base.items()}
        gradients = torch.autograd.grad(loss(leaves), [leaves[n] for n in names], allow_unused=True)
        analytic: list[float] = []
        measured: list[float] = []
        for name, gradient in zip(names, gradients, strict=True):
            norm = 0.0 if gradient is None else float(gradient.norm())
            analytic.append(norm)
            if gradient is None or norm == 0.0:
                measured.append(0.0)
                continue
            size = (1e-4 if dtype is torch.float64 else 1e-2) * max(float(base[name].norm()), 1e-3)
            step = gradient / norm * size
            # leaves that take gradients here too: a forward pass may put hooks on what it computes
            up = float(loss({**leaves, name: (base[name] + step).requires_grad_()}).detach())
            down = float(loss({**leaves, name: (base[name] - step).requires_grad_()}).detach())
            measured.append((up - down) / (2 * size))
    return {"names": names, "analytic": analytic, "measured": measured, "double": dtype is torch.float64}


def _cast(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.detach().to(dtype)
    return value

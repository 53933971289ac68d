"""Questions to the further functions that a lesson asks train.py to offer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F  # noqa: N812 - the field's own name for it

from grader.run.probes.ask import CLASSES, ContractError, describe, forward_all, prepare

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray
    from torch import nn

IMAGES, ROWS = 200, 32
SURE, EDGE, FAR, ABSURD = 60.0, 95.0, 500.0, 2000.0
"""Gaps between scores: e^-60 is far below float32's resolution beside 1, e^-95 among its subnormals, e^-500 below its smallest number, e^-2000
below float64's."""


def predict(
    function: Callable[..., Any],
    model: nn.Module,
    transform: Callable[[Any], Any],
    images: NDArray[np.uint8],
    shape: tuple[int, ...] | None,
    device: str,
) -> dict[str, Any]:
    """What predict says of single images (PIL, mode L), beside the model's own answers to eval_transform of the same images in eval mode.

    predict is asked while the model is in the mode in which main left it. None where it returned no whole number.
    """
    from PIL import Image

    answers: list[int | None] = []
    for image in images[:IMAGES]:
        value = function(model, Image.fromarray(image))
        if isinstance(value, torch.Tensor) and value.numel() == 1:
            value = value.item()
        answers.append(int(value) if hasattr(value, "__index__") and not isinstance(value, bool) else None)
    model.eval()
    own = forward_all(model, prepare(transform, images[:IMAGES], shape), device).argmax(dim=1).tolist()
    return {"answers": answers, "model": own}


def loss(function: Callable[..., Any], device: str) -> dict[str, Any]:
    """Value and gradient of the loss function for scores from moderate to extreme, beside the true cross-entropy (mean over the batch)."""
    generator = torch.Generator().manual_seed(0)
    targets = torch.randint(CLASSES, (ROWS,), generator=generator)
    base = torch.randn(ROWS, CLASSES, generator=generator)
    right = F.one_hot(targets, CLASSES).float()
    wrong = F.one_hot((targets + 1) % CLASSES, CLASSES).float()
    cases = {
        "moderate": base,
        "sure and right": base + SURE * right,
        "sure and wrong": base + SURE * wrong,
        "sure and wrong, at the edge of float32": base + EDGE * wrong,
        "torn between two wrong digits": EDGE * (wrong + F.one_hot((targets + 2) % CLASSES, CLASSES).float()),
        "very sure and wrong": base + FAR * wrong,
        "absurdly sure and wrong": base + ABSURD * wrong,
        "far above zero": base + FAR,
        "far below zero": base - FAR,
    }
    return {"cases": [{"name": name, **_compare(function, logits, targets, device)} for name, logits in cases.items()]}


def _compare(function: Callable[..., Any], logits: torch.Tensor, targets: torch.Tensor, device: str) -> dict[str, Any]:
    exact = logits.double().requires_grad_()
    true = F.cross_entropy(exact, targets)
    (slope,) = torch.autograd.grad(true, exact)
    given = logits.to(device).requires_grad_()
    with torch.enable_grad():
        value = function(given, targets.to(device))
        if not isinstance(value, torch.Tensor) or value.numel() != 1:
            msg = f"loss returned {describe(value)} for logits ({ROWS}, {CLASSES}) and targets ({ROWS},); expected a tensor with one number"
            raise ContractError(msg)
        gradient = torch.autograd.grad(value.sum(), given, allow_unused=True)[0] if value.requires_grad else None
    seen = torch.zeros_like(slope) if gradient is None else gradient.detach().cpu().double()
    size, wanted = float(seen.norm()), float(slope.norm())
    unit = seen / size if size > 0 else seen
    return {
        "value": float(value.detach()),
        "true": float(true.detach()),
        "gradient": size,
        "true_gradient": wanted,
        "misfit": float((unit - slope / max(wanted, 1e-30)).norm()),
    }

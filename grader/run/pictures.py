"""A batch that enters a model, as images of bytes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F  # noqa: N812 - the field's own name for it

from grader.run.tensors import flat, outside

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SMALLEST, LARGEST = 4, 64
"""Sides of an image, in pixels, that are kept; a larger one is averaged down."""
CHANNELS = 4
"""Channels that are kept apart where they differ; of more, the mean is kept."""
SAME = 2.0
"""Grey levels by which channels may differ and still show the same."""


def _pictures(t: torch.Tensor) -> torch.Tensor | None:
    """A tensor as (N, C, h, w); None where its shape is not that of images."""
    if t.dim() < 2 or not t.shape[0] or t.is_complex() or t.dtype == torch.bool:
        return None
    if t.dim() == 3 and t.shape[0] == t.shape[2] == 28 != t.shape[1]:
        t = t.transpose(0, 1)  # (28, N, 28): the rows of the images as a sequence
    if t.dim() == 2:
        side = math.isqrt(t.shape[1])
        t = t.reshape(-1, side, side) if side * side == t.shape[1] else t
    if t.dim() == 3:
        t = t[:, None]
    elif t.dim() == 4 and t.shape[3] in (1, 3) and t.shape[1] not in (1, 3):
        t = t.permute(0, 3, 1, 2)
    if t.dim() != 4 or min(t.shape[2:]) < SMALLEST:
        return None
    t = torch.nan_to_num(t.float())
    height, width = t.shape[2:]
    return F.adaptive_avg_pool2d(t, (min(height, LARGEST), min(width, LARGEST))) if max(height, width) > LARGEST else t


def _grey(t: torch.Tensor) -> torch.Tensor:
    """(N, C, h, w), each channel stretched to 0..255 by its own extremes."""
    low, high = t.amin(dim=(2, 3), keepdim=True), t.amax(dim=(2, 3), keepdim=True)
    return (t - low) * (255.0 / (high - low).clamp_min(1e-12))


def as_images(value: Any) -> NDArray[np.uint8] | None:
    """The rows (N, C, h, w) of the first tensor in a value that looks like a batch of images, as bytes; None if there is none.

    C is 1 where every channel shows the same.
    """
    for tensor in flat(value):
        with outside(tensor) as plain:
            mapped = plain.dim() > tensor.dim() > 1  # under vmap: the mapped dimensions come first
            pictures = _pictures(plain.reshape(-1, *tensor.shape[1:]) if mapped else plain)
            if pictures is None:
                continue
            grey = _grey(pictures)
            if bool((grey - grey[:, :1]).abs().max() < SAME):
                grey = grey[:, :1]
            elif grey.shape[1] > CHANNELS:
                grey = _grey(pictures.mean(dim=1, keepdim=True))
            images: NDArray[np.uint8] = grey.round().to(torch.uint8).cpu().contiguous().numpy()
            return images
    return None

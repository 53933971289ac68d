"""What enters the model, row by row, what it answers, and in which mode: recorded where a lesson asks for it.

A row is kept as an image of bytes (channels averaged, scaled to 0..255 by its own extremes), so that the same image gives the same bytes whatever
batch it comes in and however it was normalised. Equal rows are written down once. The parent, which has the data, says which image a row shows.
"""

from __future__ import annotations

import base64
import math
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from grader.run.tensors import flat, is_wrapped, outside

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from grader.run.steps import Root

SMALLEST, LARGEST = 4, 64
"""Sides of an image, in pixels, that are kept."""
MOST = 60_000
"""Different rows that are kept; later ones get no number (-1)."""
MODAL = (nn.modules.batchnorm._NormBase, nn.modules.dropout._DropoutNd, nn.RReLU)  # noqa: SLF001 - the base classes have no public names


@dataclass
class Call:
    """One call of a model. train: a backward pass came through it (or, without autograd to follow, the parameters changed after it)."""

    root: int
    training: bool
    modes: int
    ids: NDArray[np.int32]
    answers: NDArray[np.uint8] | None = None
    train: bool = False
    followed: bool = False
    wrapped: bool = False
    graph: bool = True


def _pictures(t: torch.Tensor) -> torch.Tensor | None:
    """A tensor as (N, h, w), channels averaged; None where its shape is not that of images."""
    if t.dim() < 2 or not t.shape[0] or t.is_complex() or t.dtype == torch.bool:
        return None
    if t.dim() == 3 and t.shape[0] == t.shape[2] == 28 != t.shape[1]:
        t = t.transpose(0, 1)  # (28, N, 28): the rows of the images as a sequence
    if t.dim() == 2:
        side = math.isqrt(t.shape[1])
        t = t.reshape(-1, side, side) if side * side == t.shape[1] else t
    elif t.dim() == 4:
        t = t.float().mean(dim=3 if t.shape[3] in (1, 3) else 1)
    return t if t.dim() == 3 and all(SMALLEST <= n <= LARGEST for n in t.shape[1:]) else None


def as_images(value: Any) -> NDArray[np.uint8] | None:
    """The rows (N, h, w) of the first tensor in a value that looks like a batch of images, as bytes; None if there is none."""
    for tensor in flat(value):
        with outside(tensor) as plain:
            pictures = _pictures(plain)
            if pictures is None:
                continue
            grey = torch.nan_to_num(pictures.float())
            low, high = grey.amin(dim=(1, 2), keepdim=True), grey.amax(dim=(1, 2), keepdim=True)
            scaled = (grey - low) * (255.0 / (high - low).clamp_min(1e-12))
            images: NDArray[np.uint8] = scaled.round().to(torch.uint8).cpu().contiguous().numpy()
            return images
    return None


@dataclass
class Samples:
    """The calls of the step in progress, and which rows are known already."""

    emit: Callable[..., None]
    calls: list[Call] = field(default_factory=list)
    _known: dict[bytes, int] = field(default_factory=dict)
    _modes: dict[tuple[tuple[str, ...], tuple[str, ...]], int] = field(default_factory=dict)
    _layers: dict[int, list[tuple[str, nn.Module]]] = field(default_factory=dict)

    def begin(self, key: int, args: Any, root: Root | None = None) -> None:
        """A model is called with these arguments. root: None where no module holds the weights."""
        images = as_images(args)
        ids = np.full(0, -1, np.int32) if images is None else self._number(images)
        training = True if root is None else root.module.training
        self.calls.append(Call(key, training, self._mode(root), ids, wrapped=any(is_wrapped(t) for t in flat(args)), graph=torch.is_grad_enabled()))

    def end(self, output: Any, width: int) -> Call | None:
        """It has answered. width: scores an image. Returns the call, whose graph is followed from here on."""
        if not self.calls:
            return None
        for tensor in flat(output):
            if tensor.is_floating_point() and tensor.dim() and tensor.numel() == len(self.calls[-1].ids) * width:
                with outside(tensor) as plain:
                    scores = plain.reshape(-1, width)
                    answers = scores.argmax(dim=1) if width > 1 else scores[:, 0] > 0
                    self.calls[-1].answers = answers.to(torch.uint8).cpu().numpy()
                break
        return self.calls[-1]

    def settle(self, step: int, *, acted: bool) -> None:
        """Write down the calls of a step that ends: which of them trained is known now."""
        for call in self.calls:
            if acted and not any(c.followed for c in self.calls):  # no graph to follow: torch.func, raw tensors, a backward pass by hand
                call.train = call.wrapped or (not any(c.wrapped for c in self.calls) and (call.graph or not any(c.graph for c in self.calls)))
            fields = {"step": step, "root": call.root, "train": call.train, "training": call.training, "modes": call.modes}
            answers = None if call.answers is None else _packed(call.answers)
            self.emit("call", ids=_packed(call.ids.astype("<i4")), answers=answers, **fields)
        self.calls = []

    def _number(self, images: NDArray[np.uint8]) -> NDArray[np.int32]:
        ids = np.full(len(images), -1, np.int32)
        fresh: list[bytes] = []
        for place, image in enumerate(images):
            data = image.tobytes()
            number = self._known.get(data)
            if number is None and len(self._known) < MOST:
                number = self._known[data] = len(self._known)
                fresh.append(data)
            ids[place] = -1 if number is None else number
        if fresh:
            packed = base64.b64encode(zlib.compress(b"".join(fresh), 1)).decode("ascii")
            self.emit("rows", count=len(fresh), size=list(images.shape[1:]), data=packed)
        return ids

    def _mode(self, root: Root | None) -> int:
        """The number of this combination of layers in training and in eval mode."""
        if root is None:
            layers: Sequence[tuple[str, nn.Module]] = ()
        else:
            layers = self._layers.get(root.key) or self._layers.setdefault(
                root.key, [(name or type(m).__name__, m) for name, m in root.module.named_modules() if isinstance(m, MODAL)]
            )
        modes = (tuple(n for n, m in layers if m.training), tuple(n for n, m in layers if not m.training))
        if modes not in self._modes:
            self._modes[modes] = len(self._modes)
            self.emit("modes", on=list(modes[0]), off=list(modes[1]))
        return self._modes[modes]


def _packed(values: NDArray[Any]) -> str:
    return base64.b64encode(values.tobytes()).decode("ascii")

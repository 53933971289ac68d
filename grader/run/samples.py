"""What enters the model, row by row, what it answers, and in which mode: recorded where a lesson asks for it.

A row is kept as an image of bytes (scaled to 0..255 by its own extremes; grader.run.pictures), so that the same image gives the same bytes whatever
batch it comes in and however it was normalised. Equal rows are written down once. The parent, which has the data, says which image a row shows.
"""

from __future__ import annotations

import base64
import weakref
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from grader.run.pictures import as_images
from grader.run.tensors import flat, is_wrapped, outside

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from grader.run.steps import Root

MOST = 60_000
"""Different rows that are kept; later ones get no number (-1)."""
ALTERED = 8
"""Grey levels by which an image must differ to count as altered within the model: more than rounding and normalisation."""
MODAL = (nn.modules.batchnorm._NormBase, nn.modules.dropout._DropoutNd, nn.RReLU)  # noqa: SLF001 - the base classes have no public names


@dataclass(eq=False)
class Call:
    """One call of a model. train: a backward pass came through it (or, without autograd to follow, the parameters changed after it)."""

    root: int
    training: bool
    modes: int
    ids: NDArray[np.int32]
    answers: NDArray[np.uint8] | None = None
    chain: Call | None = None
    output: list[weakref.ref[torch.Tensor]] = field(default_factory=list)
    train: bool = False
    followed: bool = False
    wrapped: bool = False
    graph: bool = True


@dataclass
class Samples:
    """The calls of the step in progress, and which rows are known already."""

    emit: Callable[..., None]
    calls: list[Call] = field(default_factory=list)
    _known: dict[bytes, int] = field(default_factory=dict)
    _images: NDArray[np.uint8] | None = None
    _inner: set[int] = field(default_factory=set)
    _met: dict[int, bool] = field(default_factory=dict)
    _modes: dict[tuple[tuple[str, ...], tuple[str, ...]], int] = field(default_factory=dict)
    _layers: dict[int, list[tuple[str, nn.Module]]] = field(default_factory=dict)

    def begin(self, key: int, args: Any, root: Root | None = None) -> None:
        """A model is called with these arguments. root: None where no module holds the weights."""
        self._met = {}
        given = list(flat(args))
        if any(g.grad_fn is not None and not is_wrapped(g) for g in given):
            self._inner.add(key)
        chain = self._source(key, given)
        images = as_images(args)
        self._images = images
        ids = np.full(0, -1, np.int32) if images is None else self._number(images)
        training = True if root is None else root.module.training
        self.calls.append(
            Call(key, training, self._mode(root), ids, chain=chain, wrapped=any(is_wrapped(t) for t in flat(args)), graph=torch.is_grad_enabled())
        )

    def _source(self, key: int, given: Sequence[torch.Tensor]) -> Call | None:
        """The call whose answer is given to this one, as in head(encoder(images)), perhaps with an operation in between."""
        rows = {len(g) for g in given if g.dim()}
        for call in self.calls[::-1]:
            handed = any(g is t() for t in call.output for g in given)
            if handed or (key in self._inner and call.root != key and call.chain is None and len(call.ids) in rows):
                return call.chain or call
        return None

    def refine(self, args: Any) -> None:
        """The first layer with weights is entered: if forward itself has altered the images on the way, what arrives here is what is learned from."""
        call = self.calls[-1]
        images = as_images(args) if self._images is not None else None
        if images is None or self._images is None or images.shape != self._images.shape:
            return
        if np.abs(images.astype(np.int16) - self._images.astype(np.int16)).max() > ALTERED:
            call.ids = self._number(images)
        self._images = None

    def meet(self, module: nn.Module) -> None:
        """A layer is entered within the call: if it has a mode, this is when it counts (forward itself may have changed it)."""
        if isinstance(module, MODAL):
            self._met[id(module)] = module.training

    def end(self, output: Any, width: int, root: Root | None = None) -> Call | None:
        """It has answered. width: scores an image. Returns the call, whose graph is followed from here on."""
        if not self.calls:
            return None
        if self._met:
            self.calls[-1].modes = self._mode(root)
        first = self.calls[-1].chain or self.calls[-1]
        self.calls[-1].output = [weakref.ref(t) for t in flat(output)]
        for tensor in flat(output):
            if tensor.is_floating_point() and tensor.dim() and tensor.numel() == len(first.ids) * width:
                with outside(tensor) as plain:
                    scores = plain.reshape(-1, width)
                    answers = scores.argmax(dim=1) if width > 1 else scores[:, 0] > 0
                    first.answers = answers.to(torch.uint8).cpu().numpy()
                break
        return self.calls[-1]

    def settle(self, step: int, *, acted: bool, final: bool = False) -> None:
        """Write down the calls of a step that ends: which of them trained is known now."""
        if not acted and not final and any(call.followed for call in self.calls):
            return  # a backward pass may still come through one of them: encoder and head called one after the other
        trained = self._unfollowed() if acted and not any(call.followed for call in self.calls) else []
        for call in self.calls:
            fields = {
                "step": step,
                "root": call.root,
                "train": call.train or call in trained,
                "training": call.training,
                "modes": call.modes,
                "inner": call.chain is not None,
            }
            answers = None if call.answers is None else _packed(call.answers)
            self.emit("call", ids=_packed(call.ids.astype("<i4")), answers=answers, **fields)
        self.calls = []

    def _unfollowed(self) -> list[Call]:
        """The calls that trained where there is no graph to follow: inside torch.func, with raw tensors, or with a backward pass written by hand."""
        wrapped = [call for call in self.calls if call.wrapped]
        loose = [call for call in self.calls if call.root < 0]
        chosen = wrapped or loose or self.calls
        return [call for call in chosen if call.graph] or chosen

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
        now = [(n, self._met.get(id(m), m.training)) for n, m in layers if not self._met or id(m) in self._met]
        modes = (tuple(n for n, on in now if on), tuple(n for n, on in now if not on))
        if modes not in self._modes:
            self._modes[modes] = len(self._modes)
            self.emit("modes", on=list(modes[0]), off=list(modes[1]))
        return self._modes[modes]


def _packed(values: NDArray[Any]) -> str:
    return base64.b64encode(values.tobytes()).decode("ascii")

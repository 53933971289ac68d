"""Normalisation layers in front of a network: what they deliver before their own learnable scale and shift.

A batch norm with a learnt scale and shift is a standardisation followed by an affine map that belongs to the layers behind it: as training goes
on, the scale wanders although the standardisation is exact. So the input of the first weight layer is read without that map when it comes
straight from such a layer.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - the field's own name for it

NORMS: dict[Any, tuple[int, bool]] = {
    F.batch_norm: (3, True),
    torch.batch_norm: (1, True),
    F.instance_norm: (3, True),
    torch.instance_norm: (1, True),
    F.group_norm: (2, True),
    torch.group_norm: (2, True),
    F.layer_norm: (2, False),
    torch.layer_norm: (2, False),
}
"""function -> (position of the weight argument, whether weight and bias belong to dimension 1 rather than to the last ones)"""


class LastNorm:
    """The latest normalisation of a forward pass: its result and its affine map."""

    def __init__(self) -> None:
        """None seen."""
        self._result: torch.Tensor | None = None
        self._weight: torch.Tensor | None = None
        self._bias: torch.Tensor | None = None
        self._channels = True
        self._batch = False

    def see(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        """A normalisation has run."""
        if not isinstance(result, torch.Tensor):
            return
        position, self._channels = NORMS[func]
        self._result = result
        self._batch = "batch_norm" in getattr(func, "__name__", "")
        self._weight = kwargs.get("weight", args[position] if len(args) > position else None)
        self._bias = kwargs.get("bias", args[position + 1] if len(args) > position + 1 else None)

    def forget(self) -> None:
        """A new forward pass begins."""
        self._result = None

    def without_affine(self, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor as it was before the affine map, if it is (a view of) the latest normalisation's result; else the tensor itself."""
        result = self._result
        if result is None or result.untyped_storage().data_ptr() != tensor.untyped_storage().data_ptr() or result.numel() != tensor.numel():
            return tensor
        plain = result.detach()
        for map_, undo in ((self._bias, torch.sub), (self._weight, torch.div)):
            if isinstance(map_, torch.Tensor):
                values = map_.detach()
                values = values.reshape(1, -1, *([1] * (plain.dim() - 2))) if self._channels else values
                if undo is torch.div and bool((values == 0).any()):
                    return tensor
                plain = undo(plain, values)
        return _per_channel(plain) if self._batch and plain.dim() == 2 else plain


def _per_channel(plain: torch.Tensor) -> torch.Tensor:
    """A batch norm over features standardises each by itself; features that never change (a digit's corner pixels) stay at 0 and say nothing."""
    spread = plain.std(dim=0)
    moving = spread > 1e-3
    return (plain[:, moving] - plain[:, moving].mean(dim=0)) / spread[moving] if plain.shape[0] > 1 and bool(moving.any()) else plain

"""Weights that belong to no module that is called: raw tensors in a hand-written forward pass.

Within a step, the k-th distinct weight that takes gradients gets slot k, so that loops which make new tensors in every step can be followed.
Weights without gradients (a backward pass written by hand) are remembered by identity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from grader.run.ops import POSITIONAL
from grader.run.steps import EMPTY, add_moments
from grader.run.tensors import flat, is_wrapped, moments, plain, quiet

if TYPE_CHECKING:
    from collections.abc import Sequence

PLAIN_LIMIT = 96


class Operand(NamedTuple):
    """The two sides of a weighted operation."""

    input: torch.Tensor
    weight: torch.Tensor


def _leaf(tensor: torch.Tensor) -> torch.Tensor | None:
    """The parameter or gradient-taking leaf that a tensor is, or is a view of."""
    base = tensor._base if tensor._base is not None and not tensor.is_leaf else tensor  # noqa: SLF001 - no public name for a view's base
    if isinstance(base, torch.nn.Parameter) or (base.is_leaf and base.requires_grad):
        return base
    return None


class PlainWeight:
    """A gradient-free operand that came back again and again."""

    def __init__(self, tensor: torch.Tensor) -> None:
        """Remember the tensor, strongly, and its first values."""
        self.tensor = tensor
        self.first = plain(tensor).clone()
        self.calls = 0
        self.rows = 0
        self.moments: list[float] = list(EMPTY)


class LooseWeights:
    """Slots of the current step and the plain weights of the whole run."""

    def __init__(self) -> None:
        """Nothing seen."""
        self.slots: list[torch.Tensor] = []
        self.closed: list[torch.Tensor] = []
        self.slot_moments: dict[int, list[float]] = {}
        self.fresh: dict[int, tuple[int, float, float, float, float]] = {}
        self.rows = 0
        self.plain: dict[int, PlainWeight] = {}

    @staticmethod
    def weight_of(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Operand | None:
        """Input and weight of a weighted operation, None where neither side is a parameter."""
        tensors = list(flat((args, kwargs)))
        if len(tensors) < 2:
            return None
        if func in POSITIONAL:
            return Operand(tensors[0], _leaf(tensors[1]) if _leaf(tensors[1]) is not None else tensors[1])  # type: ignore[arg-type] # second branch is a tensor
        taking = [t for t in tensors if t.dim() > 1 and t.requires_grad]
        plain_ones = [t for t in tensors if t.dim() > 1 and not t.requires_grad]
        if len(taking) == 1 and len(plain_ones) == 1:
            return Operand(plain_ones[0], taking[0] if _leaf(taking[0]) is None else _leaf(taking[0]))  # type: ignore[arg-type] # one of the two is a tensor
        for tensor in tensors[::-1]:
            leaf = _leaf(tensor) if tensor.dim() > 1 else None
            if leaf is not None:
                others = [t for t in tensors if t is not tensor and t.dim() > 1 and _leaf(t) is None]
                if others:
                    return Operand(others[0], leaf)
        return None

    def see(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Operand | None:
        """A weighted operation outside any module: file its weight. Returns the operand if its weight takes gradients."""
        operand = self.weight_of(func, args, kwargs)
        with quiet():
            if operand is not None and operand.weight.requires_grad and not is_wrapped(operand.weight):
                return self._slot(operand)
            tensors = [t for t in flat((args, kwargs)) if t.dim() > 1 and not is_wrapped(t) and t.is_floating_point()]
            if len(tensors) > 1:
                self._remember(tensors[0], tensors[1])
        return None

    def _slot(self, operand: Operand) -> Operand:
        index = next((i for i, t in enumerate(self.slots) if t is operand.weight), None)
        if index is None:
            index = len(self.slots)
            self.slots.append(operand.weight)
        self.fresh.setdefault(index, moments(operand.input))
        if index == 0:
            self.rows = max(self.rows, int(operand.input.shape[0]))
        return operand

    def _remember(self, given: torch.Tensor, weight: torch.Tensor) -> None:
        weight = weight._base if weight._base is not None else weight  # noqa: SLF001 - no public name for a view's base
        entry = self.plain.get(id(weight))
        if entry is None:
            if len(self.plain) >= PLAIN_LIMIT:
                once = next((key for key, item in self.plain.items() if item.calls <= 1), None)
                if once is None:
                    return
                del self.plain[once]
            entry = self.plain[id(weight)] = PlainWeight(weight)
        new = moments(given)
        entry.calls += 1
        entry.rows += int(given.shape[0])
        add_moments(entry.moments, new)

    def close_step(self) -> list[torch.Tensor]:
        """The slots of the step that ends; the next step numbers its slots anew."""
        slots, self.slots = self.slots, []
        self.closed = slots or self.closed
        for index, new in self.fresh.items():
            add_moments(self.slot_moments.setdefault(index, list(EMPTY)), new)
        self.fresh = {}
        self.rows = 0
        return slots

    @staticmethod
    def named(slots: Sequence[torch.Tensor]) -> list[tuple[str, torch.Tensor]]:
        """Slots under the names w0, w1, ..."""
        return [(f"w{i}", tensor) for i, tensor in enumerate(slots)]

"""The flow of one forward pass: which operations use which weights, how deep the chain of non-linear layers is, which features are dropped.

Seen through a torch-function mode, so that modules, functional calls and raw tensors look alike. The depth is the largest number of layers in
a row, each with a weight of two or more dimensions and with a non-linear operation between it and its neighbour: a chain of linear layers
without an activation collapses into one (W2 (W1 x) = (W2 W1) x).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode

from grader.run.norms import NORMS, LastNorm
from grader.run.ops import LINEAR, POSITIONAL, RECURRENT, RESHAPES, WEIGHTED, name_of
from grader.run.tensors import flat

if TYPE_CHECKING:
    from collections.abc import Mapping

IMAGE_DIMS = 4


@dataclass
class Node:
    """One tensor of the forward pass.

    closed: non-linear layers passed on the deepest path; open: the same plus a layer still waiting for its non-linearity (-1: none);
    weights_closed / weights_open: the names on those paths; data: depends on the input; names: parameters a weight was computed from.
    """

    closed: int = 0
    open: int = -1
    weights_closed: tuple[str, ...] = ()
    weights_open: tuple[str, ...] = ()
    data: bool = False
    names: frozenset[str] = field(default_factory=frozenset)


class FlowMode(TorchFunctionMode):
    """Follow the data from the input through every operation."""

    def __init__(self, parameters: Mapping[str, torch.Tensor], given: torch.Tensor) -> None:
        """parameters: by name; given: the input batch."""
        super().__init__()
        self._keep: list[Any] = [given]
        self.nodes: dict[int, Node] = {id(given): Node(data=True)}
        self._parameters = {id(p): name for name, p in parameters.items()}
        self.used: list[str] = []
        self.first_weight: str | None = None
        self.first_input: torch.Tensor | None = None
        self._norm = LastNorm()
        self.images: list[tuple[str, torch.Tensor]] = []

    def node(self, tensor: torch.Tensor) -> Node:
        """What is known of a tensor."""
        known = self.nodes.get(id(tensor))
        if known is not None:
            return known
        name = self._parameters.get(id(tensor))
        return Node(names=frozenset([name] if name else []))

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation and derive the node of its result."""
        kwargs = kwargs or {}
        inputs = list(flat((args, kwargs)))
        before = [self.node(t) for t in inputs]
        first = func in WEIGHTED and self.first_weight is None
        result = func(*args, **kwargs)
        outputs = list(flat(result))
        if not outputs:
            return result
        if func in NORMS and self.first_weight is None:
            self._norm.see(func, args, kwargs, result)
        name = name_of(func)
        if name == "__get__":
            outputs = [t for t in outputs if id(t) not in self.nodes]
        for node in before:
            self.used.extend(n for n in sorted(node.names) if n not in self.used)
        made = self._derive(func, name, inputs, before)
        if first and made.data and self.first_weight is None:
            weights = self._weights(func, inputs, before)
            if weights:
                self.first_weight = weights[0]
                given = next((t for t, n in zip(inputs, before, strict=True) if n.data), None)
                self.first_input = None if given is None else self._norm.without_affine(given)
        for tensor in outputs:
            self._keep.append(tensor)
            self.nodes[id(tensor)] = made
            if made.data and tensor.dim() == IMAGE_DIMS and not RESHAPES & {name, name.strip("_")} and tensor.requires_grad and not tensor.is_leaf:
                self.images.append((name, tensor))
        return result

    def _weights(self, func: Any, inputs: list[torch.Tensor], before: list[Node]) -> list[str]:
        if func not in WEIGHTED:
            return []
        pairs = list(zip(inputs, before, strict=True))
        if func in POSITIONAL:
            pairs = pairs[1:2]
        return [name for tensor, node in pairs if not node.data and node.names and tensor.dim() > 1 for name in sorted(node.names)]

    def _derive(self, func: Any, name: str, inputs: list[torch.Tensor], before: list[Node]) -> Node:
        data = [node for node in before if node.data]
        if not data:
            return Node(names=frozenset().union(*(node.names for node in before)) if before else frozenset())
        best_closed = max(data, key=lambda n: n.closed)
        best_open = max(data, key=lambda n: n.open)
        closed, open_ = best_closed.closed, best_open.open
        weights_closed, weights_open = best_closed.weights_closed, best_open.weights_open
        weights = self._weights(func, inputs, before)
        if name in RECURRENT and weights:
            layers = max(1, len(weights) // 2)
            start, names = (open_, weights_open) if open_ > closed else (closed, weights_closed)
            return Node(start + layers, -1, names + tuple(weights), (), data=True)
        if weights:
            through = open_ if open_ >= 0 else -1
            if closed + 1 > through:
                return Node(closed, closed + 1, weights_closed, (*weights_closed, *weights), data=True)
            return Node(closed, open_, weights_closed, (*weights_open[:-1], weights[-1]), data=True)
        if name.strip("_") in LINEAR or name in LINEAR:
            return Node(closed, open_, weights_closed, weights_open, data=True)
        if open_ > closed:
            return Node(open_, -1, weights_open, (), data=True)
        return Node(closed, -1, weights_closed, (), data=True)


def read_flow(mode: FlowMode, output: torch.Tensor) -> dict[str, Any]:
    """Depth, hidden weights, the output layer's weight and the first weight of a followed forward pass."""
    node = mode.node(output)
    if node.open > node.closed:
        hidden, last = node.weights_open[:-1], node.weights_open[-1:]
        depth = node.open - 1
    else:
        hidden, last, depth = node.weights_closed[:-1], node.weights_closed[-1:], node.closed - 1
    return {"depth": max(depth, 0), "hidden": list(hidden), "last": last[0] if last else None, "first": mode.first_weight, "used": mode.used}

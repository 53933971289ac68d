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

IMAGE_DIMS, STRAIGHT = 4, 1e-3
CUTTING = RESHAPES | {"interpolate", "grid_sample", "upsample"}


@dataclass
class Node:
    """One tensor of the forward pass.

    closed: non-linear layers passed on the deepest path; open: the same plus a layer still waiting for its non-linearity (-1: none);
    weights_closed / weights_open: the names on those paths; data: depends on the input; map: computed by a convolution and what follows it
    entry by entry; names: parameters a weight was computed from.
    """

    closed: int = 0
    open: int = -1
    weights_closed: tuple[str, ...] = ()
    weights_open: tuple[str, ...] = ()
    data: bool = False
    map: bool = False
    names: frozenset[str] = field(default_factory=frozenset)


class FlowMode(TorchFunctionMode):
    """Follow the data from the input through every operation."""

    def __init__(self, parameters: Mapping[str, torch.Tensor], given: torch.Tensor) -> None:
        """parameters: by name; given: the input batch."""
        super().__init__()
        self._keep: list[Any] = [given]
        self.nodes: dict[int, Node] = {id(given): Node(data=True)}
        self._parameters: dict[int, str] = {}
        for name, p in parameters.items():
            self._parameters.setdefault(id(p), name)
        self.used: list[str] = []
        self.first_weight: str | None = None
        self.first_inputs: list[torch.Tensor] = []
        self._norm = LastNorm()
        self.maps: list[tuple[str, torch.Tensor]] = []
        self._last_map: tuple[str, torch.Tensor] | None = None
        self._call: tuple[Any, Any] | None = None

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
        self._call = (args, kwargs)
        inputs = list(flat((args, kwargs)))
        before = [self.node(t) for t in inputs]
        result = func(*args, **kwargs)
        outputs = list(flat(result))
        if not outputs and name_of(func) == "__setitem__":
            self.nodes[id(args[0])] = self._derive(func, "masked_fill_", inputs, before)
            return result
        if not outputs:
            return result
        if func in NORMS:
            self._norm.see(func, args, kwargs, result)
        name = name_of(func)
        if name == "__get__":
            outputs = [t for t in outputs if id(t) not in self.nodes]
        for node in before:
            self.used.extend(n for n in sorted(node.names) if n not in self.used)
        made = self._derive(func, name, inputs, before)
        if func in WEIGHTED and made.data:
            self._first(func, inputs, before)
        for tensor in outputs:
            self._keep.append(tensor)
            self.nodes[id(tensor)] = made
        self._feature_maps(func, name, inputs, before, outputs, made)
        return result

    def _feature_maps(self, func: Any, name: str, inputs: list[torch.Tensor], before: list[Node], outputs: list[torch.Tensor], made: Node) -> None:
        """Keep the maps whose entries must all reach the output: the last one, and each that an indexing or resizing operation makes smaller."""
        made.map = "conv" in name or (func not in WEIGHTED and "softmax" not in name and any(node.map for node in before))
        if not made.map or not outputs[0].requires_grad:
            return
        cuts = bool(CUTTING & {name, name.strip("_")})
        for tensor, node in zip(inputs, before, strict=True):
            if cuts and node.map and tensor.dim() == IMAGE_DIMS and outputs[0].numel() < tensor.numel() and tensor.requires_grad:
                self.maps.append((f"the map before {name.strip('_')}", tensor))
        if outputs[0].dim() == IMAGE_DIMS and not cuts:
            if self._last_map in self.maps:
                self.maps.remove(self._last_map)
            self._last_map = (name, outputs[0])
            self.maps.append(self._last_map)

    def _first(self, func: Any, inputs: list[torch.Tensor], before: list[Node]) -> None:
        """Note a layer that takes the image directly: no weight lies between the two."""
        weights = self._weights(func, inputs, before)
        given = next(((t, n) for t, n in zip(inputs, before, strict=True) if n.data), None)
        if weights and given is not None and given[1].closed == 0 and given[1].open < 0:
            self.first_weight = self.first_weight or weights[0]
            self.first_inputs.append(self._norm.without_affine(given[0]))

    def _affine(self, func: Any, inputs: list[torch.Tensor], before: list[Node]) -> bool:
        """Whether an operation that looks like an activation is a straight line after all (a slope of 1, a clamp far away), tried on wide noise."""
        data = [t for t, n in zip(inputs, before, strict=True) if n.data]
        call = self._call
        if len(data) != 1 or call is None or sum(a is data[0] for a in call[0]) != 1:
            return False
        with torch.no_grad(), torch.random.fork_rng():
            torch.manual_seed(0)
            x = torch.randn(64, *data[0].shape[1:], device="cpu").to(data[0]) * 3
            try:
                y = func(*[x.clone() if a is data[0] else a for a in call[0]], **call[1])
            except Exception:  # noqa: BLE001 - the learner's own function may raise anything when tried alone: then it is taken at its word
                return False
            if not isinstance(y, torch.Tensor) or y.shape != x.shape or not y.is_floating_point():
                return False
            x, y = x.double().flatten(), y.double().flatten()
            x, y = x - x.mean(), y - y.mean()
            slope = (x @ y) / (x @ x)
            return bool((y - slope * x).norm() <= STRAIGHT * y.norm())

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
        if LINEAR & {name, name.strip("_")} or self._affine(func, inputs, before):
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

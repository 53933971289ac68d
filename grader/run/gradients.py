"""Taps on gradients: what backward delivers to each parameter, and what comes back to the model's output.

Both are taken before the learner can change them: a tap is moved to the front of a tensor's own hooks. "No gradient arrived" stays None.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from grader.run.tensors import is_lazy, is_wrapped, plain, quiet

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SAMPLE_ROWS = 32


def _first_hook(tensor: torch.Tensor, function: Callable[[torch.Tensor], None]) -> Any:
    with torch._C.DisableTorchFunction():  # noqa: SLF001 - a simulated device would wrap the hook, and mark gradients by where the tensor is now
        handle = tensor.register_hook(function)
    hooks: Any = tensor._backward_hooks  # noqa: SLF001 - the only way to run before hooks that were registered earlier
    for key in [k for k in hooks or () if k != handle.id]:
        hooks[key] = hooks.pop(key)  # autograd goes by the order of insertion, so the earlier ones are inserted anew, behind ours
    return handle


class GradientTap:
    """Norms of the gradients that one backward pass delivers, by root and parameter name."""

    def __init__(self) -> None:
        """No tap yet."""
        self._handles: dict[int, Any] = {}
        self._names: dict[int, str] = {}
        self._norms: dict[str, float | None] = {}

    def tap(self, named: Sequence[tuple[str, torch.Tensor]], root: int) -> None:
        """Listen to these tensors until `take`."""
        for name, tensor in named:
            if not tensor.requires_grad or id(tensor) in self._handles or is_wrapped(tensor) or not tensor.is_leaf or is_lazy(tensor):
                continue
            key = f"{root}:{name}"
            self._names[id(tensor)] = key
            self._norms.setdefault(key, None)
            self._handles[id(tensor)] = _first_hook(tensor, self._listener(key))

    def _listener(self, key: str) -> Callable[[torch.Tensor], None]:
        def listen(gradient: torch.Tensor) -> None:
            with quiet():
                norm = float(plain(gradient).float().norm())
            before = self._norms.get(key)
            self._norms[key] = norm if before is None else max(norm, before)

        return listen

    def given(self, pairs: Sequence[tuple[torch.Tensor, torch.Tensor | None]]) -> None:
        """Gradients that torch.autograd.grad returned, for tapped tensors."""
        for tensor, gradient in pairs:
            key = self._names.get(id(tensor))
            if key is not None and gradient is not None:
                with quiet():
                    self._norms[key] = float(plain(gradient).float().norm())

    def named(self, gradients: dict[str, torch.Tensor], root: int) -> None:
        """Gradients that torch.func.grad returned, by parameter name."""
        with quiet():
            for name, gradient in gradients.items():
                self._norms[f"{root}:{name}"] = float(plain(gradient).float().norm())

    def take(self) -> dict[str, float | None]:
        """What arrived since the last `take`; stops listening."""
        for handle in self._handles.values():
            handle.remove()
        norms, self._norms = self._norms, {}
        self._handles, self._names = {}, {}
        return norms


def _rows(tensor: torch.Tensor) -> list[list[float]]:
    first = plain(tensor)[:SAMPLE_ROWS].double()
    rows: list[list[float]] = first.reshape(first.shape[0], -1).tolist()
    return rows


class OutputTap:
    """The first rows of a (rows, scores) output in training, and of the gradient that comes back to it."""

    def __init__(self) -> None:
        """No tap yet."""
        self.modules: weakref.WeakKeyDictionary[nn.Module, int] = weakref.WeakKeyDictionary()
        self._taken: dict[int, dict[str, Any]] = {}
        self._keep: list[torch.Tensor] = []

    def key(self, module: nn.Module) -> int:
        """A number for a module, the same as long as it lives."""
        return self.modules.setdefault(module, len(self.modules))

    def tap(self, output: torch.Tensor, module: nn.Module | None) -> None:
        """Listen to an output (of a module, or None: the operand of a loss)."""
        who = -1 if module is None else self.key(module)
        record = self._taken.get(id(output))
        if record is not None:
            record["of"].append(who)
            return
        with quiet():
            record = {"of": [who], "z": _rows(output), "g": None, "rows": int(output.shape[0])}
        self._taken[id(output)] = record
        self._keep.append(output)
        _first_hook(output, self._listener(record))

    @staticmethod
    def _listener(record: dict[str, Any]) -> Callable[[torch.Tensor], None]:
        def listen(gradient: torch.Tensor) -> None:
            with quiet():
                record["g"] = _rows(gradient)

        return listen

    def take(self) -> list[dict[str, Any]]:
        """Samples whose gradient came back since the last `take`."""
        taken = [record for record in self._taken.values() if record["g"] is not None]
        self._taken, self._keep = {}, []
        return taken

"""Indexing: a GPU tensor takes indices from either side, a host tensor only from the host; what is written must be on the tensor's own side."""

from __future__ import annotations

from typing import Any

import torch

from grader.run.sim.device import touch
from grader.run.sim.place import mark, on_cuda, tensors_in
from grader.run.sim.rules import refuse

_PLAIN = frozenset({int, slice, type(None), type(...), bool})


def _is_number(index: torch.Tensor) -> bool:
    """Whether PyTorch reads this index as a number (and so from any device) rather than as a tensor."""
    return index.dim() == 0 and not (index.dtype in (torch.bool, torch.uint8) or index.is_floating_point())


def _check(tensor: torch.Tensor, index: Any) -> bool:
    """Whether there are tensors among the indices; raises for GPU indices into a host tensor."""
    if type(index) in _PLAIN:
        return False
    indices = [t for t in tensors_in(index) if not _is_number(t)]
    if not on_cuda(tensor) and any(on_cuda(t) for t in indices):
        raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor (cpu)")
    return bool(indices) or isinstance(index, list) or (isinstance(index, tuple) and any(isinstance(i, list) for i in index))


def get_item(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`tensor[index]`."""
    _check(args[0], args[1])
    if on_cuda(args[0]):
        touch()
        return mark(func(*args, **kwargs))
    return func(*args, **kwargs)


def set_item(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`tensor[index] = value`: a copy (from any device) where the index is plain, an index_put_ where it holds tensors."""
    tensor, index, value = args
    if _check(tensor, index) and isinstance(value, torch.Tensor) and value.dim() and on_cuda(value) != on_cuda(tensor):
        refuse()
    if on_cuda(tensor):
        touch()
    return func(*args, **kwargs)


def index_put(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`Tensor.index_put_(indices, values)` and its sisters."""
    tensor = args[0]
    indices = args[1] if len(args) > 1 else kwargs["indices"]
    value = args[2] if len(args) > 2 else kwargs["values"]
    _check(tensor, indices)
    if value.dim() and on_cuda(value) != on_cuda(tensor):
        refuse()
    result = func(*args, **kwargs)
    return mark(result) if on_cuda(tensor) else result

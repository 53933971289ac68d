"""Small questions to tensors, asked without disturbing the learner's program: no graph, no random numbers, no mode of ours or theirs."""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import parameter as lazy

if TYPE_CHECKING:
    from collections.abc import Iterator

_wrapped = torch._C._functorch.is_functorch_wrapped_tensor  # noqa: SLF001 - no public question exists
_unwrap = torch._C._functorch.get_unwrapped  # noqa: SLF001


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No gradient recording, no inference tensors and no torch-function handling inside."""
    with torch.inference_mode(mode=False), torch.no_grad(), torch._C.DisableTorchFunction():  # noqa: SLF001 - the documented switch has no public name
        yield


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor under torch.func's wrappers, detached."""
    while _wrapped(tensor):
        tensor = _unwrap(tensor)
    return tensor.detach()


def is_wrapped(tensor: torch.Tensor) -> bool:
    """Whether torch.func is transforming this tensor right now."""
    return bool(_wrapped(tensor))


def is_lazy(tensor: torch.Tensor) -> bool:
    """Whether this is a parameter of a lazy module that has not met data yet."""
    return isinstance(tensor, (lazy.UninitializedParameter, lazy.UninitializedBuffer))


def flat(value: Any, depth: int = 3) -> Iterator[torch.Tensor]:
    """The tensors in a value of nested tuples, lists and dicts (to a small depth)."""
    if isinstance(value, torch.Tensor):
        yield value
    elif depth and isinstance(value, (tuple, list)):
        for item in value:
            yield from flat(item, depth - 1)
    elif depth and isinstance(value, dict):
        for item in value.values():
            yield from flat(item, depth - 1)


def norms(tensors: list[torch.Tensor]) -> list[float]:
    """The 2-norm of each tensor, with one transfer from the device."""
    if not tensors:
        return []
    kinds = {(t.device, t.dtype) for t in tensors}
    if len(kinds) > 1 or any(not t.is_floating_point() for t in tensors):
        return [float(t.double().norm()) for t in tensors]
    values: list[float] = torch.stack(list(torch._foreach_norm(tensors))).tolist()  # noqa: SLF001 - torch.nn.utils uses the same
    return values


def moments(tensor: torch.Tensor) -> tuple[int, float, float, float, float]:
    """(count, sum, sum of squares, minimum, maximum) of all numbers of a tensor."""
    t = plain(tensor)
    if t.numel() == 0:
        return 0, 0.0, 0.0, math.inf, -math.inf
    t = t.float() if not t.is_floating_point() or t.dtype in (torch.float16, torch.bfloat16) else t
    low, high = torch.aminmax(t)
    total, square, lowest, highest = torch.stack([t.sum(), t.square().sum(), low, high]).tolist()
    return t.numel(), total, square, lowest, highest


def shape_of(value: Any) -> tuple[int, ...] | None:
    """The shape of the first tensor in a value, or None."""
    for tensor in flat(value):
        return tuple(tensor.shape)
    return None


def ten_wide(value: Any) -> torch.Tensor | None:
    """The first float tensor of shape (rows, 10) in a value, or None."""
    for tensor in flat(value):
        if tensor.dim() == 2 and tensor.shape[1] == 10 and tensor.is_floating_point():
            return tensor
    return None

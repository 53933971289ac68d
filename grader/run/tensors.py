"""Small questions to tensors, asked without disturbing the learner's program: no graph, no random numbers, no mode of ours or theirs."""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any

import torch
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
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
    return plain_of(tensor).detach()


@contextlib.contextmanager
def outside(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """`quiet`, and outside any torch.func transform: inside one, every result is wrapped anew and has no memory to read. Yields the plain tensor."""
    leave = temporarily_clear_interpreter_stack() if _wrapped(tensor) else contextlib.nullcontext()
    inner = plain_of(tensor)
    with quiet(), leave:
        yield inner.detach()


def plain_of(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor under torch.func's wrappers."""
    while _wrapped(tensor):
        tensor = _unwrap(tensor)
    return tensor


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


def scores_in(value: Any, width: int = 10) -> torch.Tensor | None:
    """The first float tensor of shape (rows, width) in a value, or None; one score an image may also come as (rows,)."""
    for tensor in flat(value):
        fits = (tensor.dim() == 2 and tensor.shape[1] == width) or (width == 1 and tensor.dim() == 1)
        if fits and tensor.is_floating_point():
            return tensor
    return None


def graph_of(loss: torch.Tensor, before: int, most: int = 20_000) -> tuple[int, int]:
    """How many autograd nodes a backward pass from `loss` runs through, and how many of them are older than `before`.

    before: the number of a node (autograd numbers them as they are made); the walk ends at older ones, and after `most`.
    """
    seen = {loss.grad_fn}
    waiting = [loss.grad_fn]
    old = 0
    while waiting and len(seen) < most:
        node = waiting.pop()
        if node is None:
            continue
        if node._sequence_nr() < before:  # noqa: SLF001 - no public name; weights' own nodes have the largest number there is
            old += 1
            continue
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                waiting.append(following)
    return len(seen), old


def number_of(loss: torch.Tensor) -> int:
    """The number of the loss's own node, larger than that of everything it was computed from; 0 without a graph."""
    return 0 if loss.grad_fn is None else int(loss.grad_fn._sequence_nr())  # noqa: SLF001 - no public name

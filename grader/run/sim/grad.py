"""Gradients: made by PyTorch's C++ engine, out of sight of any torch-function mode, and yet on the device of what they belong to.

`.grad` is easy (a gradient is where its tensor is), and so is a hook of a tensor. For whatever else looks at gradients in the middle of a backward
pass (hooks of modules and of graph nodes, a custom autograd.Function) a dispatch mode is pushed for the length of the pass: it sees the engine's
own operations and passes the note on. The engine runs them in the calling thread, where the modes are. As the dispatch mode costs a tenth of a
small network's training step, it waits until somebody can be looking: all such ways begin with `Function.apply` or with a tensor's `grad_fn`.
"""

# ruff: noqa: SLF001 - the simulation stands in for parts of PyTorch that have no public name
from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack
from torch.utils._python_dispatch import TorchDispatchMode

from grader.run.sim.legacy import spelled
from grader.run.sim.move import Move
from grader.run.sim.place import CUDA, HOST, SAW_CUDA, host_addresses, mark, on_cuda, place_of, put, scan, tensors_in

_VIEWS = frozenset({torch.ops.aten.detach.default, torch.ops.aten.t.default, torch.ops.aten.view.default})
"""The engine's most frequent operations, whose results share memory."""


class _Passing(TorchDispatchMode):
    """Results of operations on GPU tensors are on the GPU."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Whether to guard every call against being compiled: nothing is compiled here (see `patches`), and the guard costs more than the call."""
        return False

    def __torch_dispatch__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        del kinds
        with torch._C.DisableTorchFunction():
            if func in _VIEWS:
                return func(*args)
            result = func(*args, **(kwargs or {}))
            saw = scan(args)
            if saw & SAW_CUDA:
                mark(result, () if saw == SAW_CUDA else host_addresses(args))
        return result


def _passing() -> Any:
    made: Any = _Passing
    return made()


class _Watched:
    """Whether Python code may see gradients in the middle of a pass."""

    by_somebody = False


def unwatched() -> None:
    """Nobody is looking yet."""
    _Watched.by_somebody = False


def get_node(func: Any, args: tuple[Any, ...], _: dict[str, Any]) -> Any:
    """`tensor.grad_fn`: whoever holds a node can hook it, and its neighbours."""
    node = func(*args)
    _Watched.by_somebody = _Watched.by_somebody or node is not None
    return node


def applying() -> Any:
    """`autograd.Function.apply`, noting that Python code will take part in the backward pass."""
    original = vars(torch.autograd.Function)["apply"]

    def apply(kind: Any, *args: Any, **kwargs: Any) -> Any:
        _Watched.by_somebody = _Watched.by_somebody or kind is not Move
        return original.__get__(None, kind)(*args, **kwargs)

    return classmethod(apply)


def seeing(original: Callable[..., Any], mode: TorchFunctionMode) -> Callable[..., Any]:
    """A function of torch.autograd that runs with our mode on: `loss.backward()` gets there through one that had switched it off."""

    @functools.wraps(original)
    def run(*args: Any, **kwargs: Any) -> Any:
        if mode in _get_current_function_mode_stack():
            return original(*args, **kwargs)
        with mode:
            return original(*args, **kwargs)

    return run


def engine(original: Callable[..., Any], mode: TorchFunctionMode) -> Callable[..., Any]:
    """The entry to the autograd engine, with both our modes on inside."""
    inner = seeing(original, mode)

    @functools.wraps(original)
    def run(outputs: Any, gradients: Any, *args: Any, **kwargs: Any) -> Any:
        _check_roots(outputs, gradients)
        with _passing() if _Watched.by_somebody else contextlib.nullcontext():
            return inner(outputs, gradients, *args, **kwargs)

    return run


def _check_roots(outputs: Any, gradients: Any) -> None:
    """The gradients a pass starts from must be where the outputs are; the engine itself moves those without dimensions."""
    with torch._C.DisableTorchFunction():
        for number, (output, gradient) in enumerate(zip(outputs, gradients or (), strict=False)):
            if not (isinstance(output, torch.Tensor) and isinstance(gradient, torch.Tensor)):
                continue
            expected, found = on_cuda(output), on_cuda(gradient)
            if expected != found and gradient.dim():
                names = {True: "cuda:0", False: "cpu"}
                raise RuntimeError(f"invalid gradient at index {number} - expected device {names[expected]} but got {names[found]}")


def saving(mode: TorchFunctionMode) -> dict[str, Callable[..., Any]]:
    """Methods of `saved_tensors_hooks` (activation checkpointing): its hooks are called from C++, with results that no mode of ours has seen yet."""
    kind = torch.autograd.graph.saved_tensors_hooks
    first, enter, leave = kind.__init__, kind.__enter__, kind.__exit__

    def init(self: Any, pack_hook: Any, unpack_hook: Any) -> None:
        first(self, seeing(pack_hook, mode), seeing(unpack_hook, mode))
        self.passing = _passing()

    def entered(self: Any) -> Any:
        self.passing.__enter__()
        return enter(self)

    def left(self: Any, *error: Any) -> Any:
        leave(self, *error)
        self.passing.__exit__(*error)

    return {"__init__": init, "__enter__": entered, "__exit__": left}


def get_grad(func: Any, args: tuple[Any, ...], _: dict[str, Any]) -> Any:
    """`tensor.grad`: where the tensor is."""
    gradient = func(*args)
    if gradient is not None and place_of(gradient) is None and on_cuda(args[0]):
        put(gradient, CUDA)
    return gradient


def set_grad(func: Any, args: tuple[Any, ...], _: dict[str, Any]) -> Any:
    """`tensor.grad = gradient`: refused across devices."""
    tensor, gradient = args
    if isinstance(gradient, torch.Tensor) and on_cuda(tensor) != on_cuda(gradient):
        kinds = ["cuda" if on_cuda(t) else "cpu" for t in (gradient, tensor)]
        raise RuntimeError(
            f"attempting to assign a gradient with device type '{kinds[0]}' to a tensor with device type '{kinds[1]}'. "
            "Please ensure that the gradient and the tensor are on the same device"
        )
    return func(*args)


def set_data(func: Any, args: tuple[Any, ...], _: dict[str, Any]) -> Any:
    """`tensor.data = other`: allowed across devices; a gradient that is there already stays where it was."""
    tensor, data = args
    gradient = tensor.grad if tensor.is_leaf else None
    if gradient is not None and on_cuda(tensor) != on_cuda(data):
        put(gradient, CUDA if on_cuda(tensor) else HOST)
    return func(*args)


def register_hook(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`tensor.register_hook(hook)`: the hook sees a gradient on the tensor's device, and may not answer with one of the other."""
    tensor, hook = (*args, *kwargs.values())
    if not on_cuda(tensor):
        return func(tensor, hook)

    @functools.wraps(hook)
    def seen(gradient: torch.Tensor) -> Any:
        answer = hook(mark(gradient))
        if isinstance(answer, torch.Tensor) and not on_cuda(answer):
            raise RuntimeError(
                f"hook '{getattr(hook, '__name__', hook)}' has changed the type of value (was {spelled(gradient)} got {spelled(answer)})"
            )
        return answer

    return func(tensor, seen)


def gradients(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`torch.autograd.grad`: each gradient is where its input is."""
    result = func(*args, **kwargs)
    inputs = args[1] if len(args) > 1 else kwargs["inputs"]
    for tensor, gradient in zip(tensors_in(inputs), result.values() if isinstance(result, dict) else result, strict=False):
        if isinstance(gradient, torch.Tensor) and on_cuda(tensor):
            mark(gradient)
    return result

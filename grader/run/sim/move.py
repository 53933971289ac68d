"""Moving tensors between the host and the simulated GPU, and what a tensor answers about where it is."""

# ruff: noqa: SLF001 - the simulation stands in for parts of PyTorch that have no public name
from __future__ import annotations

import contextlib
from typing import Any

import torch

from grader.run.sim import legacy
from grader.run.sim.device import GPU, as_device, touch, wants_cuda
from grader.run.sim.place import CUDA, HOST, PINNED, on_cuda, place_of, put


class Move(torch.autograd.Function):
    """A copy to the other side, through which gradients travel back to where the original is (as in PyTorch's ToCopyBackward)."""

    generate_vmap_rule = True

    @staticmethod
    def forward(tensor: torch.Tensor, to_gpu: bool) -> torch.Tensor:  # noqa: FBT001 - apply takes positions only
        """Copy."""
        return put(tensor.clone(), CUDA if to_gpu else HOST)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[torch.Tensor, bool], output: torch.Tensor) -> None:  # noqa: ARG004 - torch's own signature
        """Remember where the gradient has to come from."""
        ctx.to_gpu = inputs[1]

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Copy back."""
        return move(gradient, to_gpu=not ctx.to_gpu), None


def move(tensor: torch.Tensor, *, to_gpu: bool) -> torch.Tensor:
    """A copy of a tensor on the other side. Differentiable; the original stays where it is. A subclass makes its copy itself, to keep its kind."""
    if not isinstance(tensor, (torch.nn.Parameter, torch.nn.UninitializedBuffer)) and type(tensor) is not torch.Tensor:
        return put(tensor.clone(), CUDA if to_gpu else HOST)
    with torch._C.DisableTorchFunction():
        if tensor.requires_grad and torch.is_grad_enabled() and not torch.jit._trace.is_tracing():
            result: torch.Tensor = Move.apply(tensor, to_gpu)
        else:
            result = tensor.clone()
        return put(result, CUDA if to_gpu else HOST)


def place(tensor: torch.Tensor, *, to_gpu: bool) -> torch.Tensor:
    """The tensor itself where it is there already, else a copy."""
    return tensor if on_cuda(tensor) == to_gpu else move(tensor, to_gpu=to_gpu)


def _bind(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `Tensor.to` by name, whichever of its three forms was used; another tensor is resolved to its device and dtype."""
    names: tuple[str, ...] = ("device", "dtype", "non_blocking", "copy")
    if args and isinstance(args[0], torch.dtype):
        names = names[1:]
    elif args and isinstance(args[0], torch.Tensor):
        names = ("tensor", *names[2:])
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    other = given.pop("tensor", None)
    if isinstance(other, torch.Tensor):
        given.update(device=GPU if on_cuda(other) else other.device, dtype=other.dtype)
    return given


def tensor_to(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`Tensor.to` in all its forms."""
    tensor = args[0]
    was_on_gpu = to_gpu = on_cuda(tensor)
    given = _bind(args[1:], kwargs)
    device = given.pop("device", None)
    if device is not None:
        device = as_device(device)
        to_gpu = wants_cuda(device)
        if not to_gpu and device.type != "cpu":
            return func(tensor, device=device, **given)
    if not (was_on_gpu or to_gpu):
        return func(*args, **kwargs)
    touch()
    if tensor.is_meta:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    moved = tensor if to_gpu == was_on_gpu else move(tensor, to_gpu=to_gpu)
    if moved is not tensor:
        given.pop("copy", None)
    if not given.keys() - {"non_blocking"}:
        return moved
    result = func(moved, device="cpu", **given)
    return put(result, CUDA) if to_gpu else result


def tensor_cuda(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`Tensor.cuda(device=None, non_blocking=False, memory_format=...)`."""
    device = args[1] if len(args) > 1 else kwargs.get("device")
    keep = {key: value for key, value in kwargs.items() if key == "memory_format"}
    del func
    return tensor_to(torch.Tensor.to, (args[0], GPU if device is None else as_device(device)), keep)


def tensor_cpu(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`Tensor.cpu(memory_format=...)`."""
    if on_cuda(args[0]):
        touch()
        return func(move(args[0], to_gpu=False), **kwargs)
    return func(*args, **kwargs)


def tensor_type(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`Tensor.type()` and `Tensor.type(dtype)`: the legacy names of types name a device too."""
    tensor = args[0]
    wanted = args[1] if len(args) > 1 else kwargs.get("dtype")
    if wanted is None:
        return legacy.name_of(tensor.dtype, on_cuda=on_cuda(tensor), otherwise=func(tensor))
    dtype, to_gpu = legacy.parse(wanted)
    return tensor_to(torch.Tensor.to, (tensor,), {"dtype": dtype} if to_gpu is None else {"dtype": dtype, "device": GPU if to_gpu else "cpu"})


def type_as(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`Tensor.type_as(other)`: the other's dtype, and its device."""
    del func
    return tensor_to(torch.Tensor.to, (args[0], args[1] if len(args) > 1 else kwargs["other"]), {})


def device_of(func: Any, args: tuple[Any, ...], _: dict[str, Any]) -> Any:
    """`Tensor.device`."""
    return GPU if on_cuda(args[0]) else func(*args)


def is_cuda(func: Any, args: tuple[Any, ...], _: dict[str, Any]) -> Any:
    """`Tensor.is_cuda`."""
    return on_cuda(args[0]) or func(*args)


def is_cpu(func: Any, args: tuple[Any, ...], _: dict[str, Any]) -> Any:
    """`Tensor.is_cpu`."""
    return not on_cuda(args[0]) and func(*args)


def get_device(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`Tensor.get_device()`."""
    return 0 if on_cuda(args[0]) else func(*args, **kwargs)


def to_numpy(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`Tensor.numpy()` and what numpy itself calls: refused for GPU memory, unless forced."""
    if on_cuda(args[0]):
        if not kwargs.get("force"):
            raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.")
        return func(move(args[0].detach(), to_gpu=False), *args[1:], **kwargs)
    return func(*args, **kwargs)


def to_dlpack(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`Tensor.__dlpack__`: there is no GPU memory to hand out."""
    if on_cuda(args[0]):
        raise BufferError("The simulated CUDA device has no memory that another library could read. Use Tensor.cpu() first.")
    return func(*args, **kwargs)


def elementwise_python(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`Tensor.apply_`, `map_` and `map2_` call Python for every element, which PyTorch does on the host only."""
    if on_cuda(args[0]):
        raise TypeError(f"{func.__name__} is only implemented on CPU tensors")
    return func(*args, **kwargs)


def pin_memory(tensor: torch.Tensor, device: Any = None) -> torch.Tensor:
    """`Tensor.pin_memory()`: a plain copy that says it is pinned. Put on the class: the DataLoader asks it of any thread."""
    del device
    with torch._C.DisableTorchFunction():
        where = place_of(tensor)
        if where == CUDA:
            raise RuntimeError(f"cannot pin '{legacy.name_of(tensor.dtype, on_cuda=True)}' only dense CPU tensors can be pinned")
        return tensor if where == PINNED else put(tensor.clone(), PINNED)


def is_pinned(tensor: torch.Tensor, device: Any = None) -> bool:
    """`Tensor.is_pinned()`."""
    del device
    with torch._C.DisableTorchFunction(), contextlib.suppress(RuntimeError):
        return place_of(tensor) == PINNED
    return False

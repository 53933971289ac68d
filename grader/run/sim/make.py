"""Functions that make tensors: `torch.zeros(..., device="cuda")` and its sisters, `*_like`, and `Tensor.new_*`."""

# ruff: noqa: SLF001 - the simulation stands in for parts of PyTorch that have no public name
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import Any, Final

import torch
from torch.utils._device import DeviceContext, _device_constructors

from grader.run.sim.chance import DRAWS, check_generator, drawing
from grader.run.sim.device import GPU, touch, wants_cuda
from grader.run.sim.move import place
from grader.run.sim.place import CUDA, PINNED, mark, on_cuda, put, tensors_in

SHARING: Final = frozenset({"as_tensor", "asarray"})
"""Constructors that hand back the caller's own memory where they can."""
INFERRING: Final = SHARING | {"tensor", "sparse_coo_tensor", "sparse_csr_tensor", "sparse_csc_tensor", "sparse_bsr_tensor", "sparse_bsc_tensor",
                              "sparse_compressed_tensor"}  # fmt: skip
"""Constructors that put the result where a given tensor is (but a list of tensors is read number by number, and lands on the host)."""


def constructors() -> Iterable[Callable[..., Any]]:
    """Every function that makes a tensor on the default device, as PyTorch itself lists them."""
    made: Iterable[Callable[..., Any]] = _device_constructors()
    return made


def _run(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a constructor on the host, past every mode: what a caller wanted has been settled."""
    with torch._C.DisableTorchFunction(), drawing(kwargs) if func.__name__ in DRAWS else contextlib.nullcontext():
        return func(*args, **kwargs)


def _on_gpu(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Make a tensor on the host and call it the GPU's."""
    if kwargs.pop("pin_memory", False):
        raise RuntimeError("Only dense CPU tensors can be pinned")
    check_generator(kwargs, on_gpu=True)
    if func.__name__ in SHARING:
        data = args[0]
        if not isinstance(data, torch.Tensor):
            return mark(_run(func, args, {**kwargs, "device": "cpu"}).clone())
        args = (place(data, to_gpu=True), *args[1:])
    return mark(_run(func, args, {**kwargs, "device": "cpu"}))


def construct(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A constructor, with or without a device. Where none is given, PyTorch's own default-device mode (see `default_device`) may add one."""
    kwargs = dict(kwargs)
    if func is torch.as_tensor and len(args) > 1:
        kwargs.update(zip(("dtype", "device"), args[1:], strict=False))
        args = args[:1]
    device = kwargs.get("device")
    if device is not None and wants_cuda(device):
        return _on_gpu(func, args, kwargs)
    given = args[0] if args else kwargs.get("data")
    infers = func.__name__ in INFERRING
    if (
        infers
        and device is None
        and any(on_cuda(t) for t in ([given] if isinstance(given, torch.Tensor) else args[:2]) if isinstance(t, torch.Tensor))
    ):
        return _on_gpu(func, args, {**kwargs, "device": GPU})
    if infers and device is not None and isinstance(given, torch.Tensor) and on_cuda(given):
        args = (place(given, to_gpu=False), *args[1:])
    pinned = kwargs.pop("pin_memory", False)
    result = func(*args, **kwargs)
    if kwargs.get("generator") is not None:
        check_generator(kwargs, on_gpu=on_cuda(result))
    return put(result, PINNED) if pinned else result


def like(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`torch.zeros_like`, `Tensor.new_zeros` and their sisters: on the device that is named, else beside the tensor they start from."""
    first = args[0] if args else next(iter(tensors_in(kwargs)))
    device = kwargs.get("device")
    beside = on_cuda(first)
    to_gpu = beside if device is None else wants_cuda(device)
    if beside:
        touch()
    if func.__name__ == "new_tensor" and len(args) > 1 and isinstance(args[1], torch.Tensor):
        args = (first, place(args[1], to_gpu=to_gpu), *args[2:])
    if not to_gpu:
        if beside and device is None:
            kwargs = {**kwargs, "device": "cpu"}
        return func(*args, **kwargs)
    kwargs = {key: value for key, value in kwargs.items() if key != "pin_memory"}
    check_generator(kwargs, on_gpu=True)
    return mark(_run(func, args, kwargs if device is None else {**kwargs, "device": "cpu"}))


def placed(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Any other function that was given `device=`."""
    if wants_cuda(kwargs["device"]):
        return mark(func(*args, **{**kwargs, "device": "cpu"}))
    return func(*args, **kwargs)


def default_device(original: Callable[..., Any]) -> Callable[..., Any]:
    """A `DeviceContext.__torch_function__` for which "cuda" is the simulated GPU.

    That mode stands behind `torch.set_default_device` and `with torch.device(...)`, and may sit above or below ours.
    """

    def torch_function(mode: DeviceContext, func: Any, kinds: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        if mode.device.type != "cuda" or kwargs.get("device") is not None or func not in _device_constructors():
            return original(mode, func, kinds, args, kwargs)
        return construct(func, args, {**kwargs, "device": mode.device})

    return torch_function


def legacy_new(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`Tensor.new(...)`."""
    result = func(*args, **kwargs)
    return put(result, CUDA) if on_cuda(args[0]) else result

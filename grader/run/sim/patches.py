"""What no torch-function mode can reach, replaced for the time of the simulation and put back after it."""

# ruff: noqa: SLF001 - the simulation stands in for parts of PyTorch that have no public name
from __future__ import annotations

import contextlib
import threading
from typing import Any, Final

import torch
import torch.utils._device
from torch.overrides import TorchFunctionMode

from grader.run.sim import chance, grad, legacy, make, move, runtime
from grader.run.sim.device import GPU, Error, wants_cuda
from grader.run.sim.place import CUDA, SAW_CUDA, SAW_HOST, host_addresses, mark, on_cuda, place_of_storage, put_storage, scan
from grader.run.sim.rules import refuse

_ABSENT: Final = object()
_FIRST: Final = 5
"""The place in torch.serialization's register: before "cpu" (10), which would recognise our memory as the host's."""


class Patches(contextlib.ExitStack):
    """Replacements of attributes, undone in reverse order."""

    def replace(self, owner: Any, name: str, value: Any) -> None:
        """Set owner.name for the time of the simulation, where this version of PyTorch has it (its own, or inherited)."""
        before = vars(owner).get(name, _ABSENT)
        if before is _ABSENT and not hasattr(owner, name):
            return
        setattr(owner, name, value)
        self.callback(delattr, owner, name) if before is _ABSENT else self.callback(setattr, owner, name, before)


def apply(patches: Patches, mode: TorchFunctionMode) -> None:
    """Put every replacement in place."""
    for name, value in runtime.cuda_module().items():
        for owner in (torch.cuda, torch.cuda.memory, torch.cuda.random, torch.cuda.streams, torch.cuda.graphs):
            patches.replace(owner, name, value)
    for name, value in runtime.accelerator_module().items():
        for owner in (torch.accelerator, *(getattr(torch.accelerator, part) for part in ("memory", "random") if hasattr(torch.accelerator, part))):
            patches.replace(owner, name, value)
    for name, value in legacy.cuda_types().items():
        patches.replace(torch.cuda, name, value)
    patches.replace(torch, "Stream", runtime.Stream)
    patches.replace(torch, "Event", runtime.Event)
    patches.replace(torch, "Generator", chance.Generator)
    patches.replace(torch, "set_default_tensor_type", _set_default_tensor_type(torch.set_default_tensor_type))
    patches.replace(torch, "compile", _compile)
    patches.replace(torch.nn.Module, "compile", lambda self, *_, **__: None)  # noqa: ARG005 - a method
    patches.replace(torch.Tensor, "pin_memory", move.pin_memory)
    patches.replace(torch.Tensor, "is_pinned", move.is_pinned)
    patches.replace(torch.Tensor, "record_stream", runtime.nothing)
    patches.replace(
        torch.utils._device.DeviceContext,
        "__torch_function__",
        make.default_device(torch.utils._device.DeviceContext.__torch_function__),
    )
    patches.replace(torch.autograd, "_engine_run_backward", grad.engine(vars(torch.autograd)["_engine_run_backward"], mode))
    patches.replace(torch.autograd, "_make_grads", grad.seeing(torch.autograd._make_grads, mode))
    grad.unwatched()
    patches.replace(torch.autograd.Function, "apply", grad.applying())
    patches.replace(torch.jit._trace, "_check_trace", runtime.nothing)  # compares what C++ returned with what Python returns, device and all
    patches.replace(torch.jit.ScriptModule, "__call__", _script_call(torch.jit.ScriptModule.__call__))
    for name, value in grad.saving(mode).items():
        patches.replace(torch.autograd.graph.saved_tensors_hooks, name, value)
    for name in ("_get_accelerator", "_accelerator_getAccelerator"):
        patches.replace(torch._C, name, runtime.accelerator)
    patches.replace(torch._C, "_group_tensors_by_device_and_dtype", _grouping(torch._C._group_tensors_by_device_and_dtype))
    patches.replace(torch._C._nn, "_parse_to", _parsing(torch._C._nn._parse_to))
    patches.replace(torch.backends.cudnn, "is_acceptable", lambda tensor: False)  # noqa: ARG005 - nn.LSTM would ask cuDNN to lay out its weights
    patches.replace(torch.nn.parallel.comm, "scatter", _scatter)
    patches.replace(torch.UntypedStorage, "cuda", _storage_cuda)
    patches.replace(threading.Thread, "start", _starting(threading.Thread.start, mode))
    register = torch.serialization._package_registry
    entry = (_FIRST, _tag_of_storage, _restore_storage)
    register.insert(0, entry)
    patches.callback(register.remove, entry)


def keep_default_device(patches: Patches) -> None:
    """Put the default device back at the end, if the script has set one."""

    def restore() -> None:
        if _default() is not before:
            torch.set_default_device(None if before is None else before.device)

    before = _default()
    patches.callback(restore)


def _default() -> Any:
    return getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)


def _set_default_tensor_type(original: Any) -> Any:
    def set_default_tensor_type(kind: Any) -> None:
        dtype, to_gpu = legacy.parse(kind)
        if to_gpu:
            torch.set_default_dtype(dtype)
            torch.set_default_device("cuda")
        else:
            original(kind)

    return set_default_tensor_type


def _compile(model: Any = None, **_: Any) -> Any:
    """`torch.compile` as with TORCHDYNAMO_DISABLE=1: a compiled graph would run past the mode."""
    return (lambda function: function) if model is None else model


def _parsing(original: Any) -> Any:
    """`module.to(0)`: PyTorch's parser knows no accelerator to take the index of."""

    def parse_to(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], int) and not isinstance(args[0], bool):
            args = (torch.device("cuda", args[0]), *args[1:])
        given = args[0] if args else kwargs.get("tensor")
        with torch._C.DisableTorchFunction():
            device, *rest = original(*args, **kwargs)
            if isinstance(given, torch.Tensor) and on_cuda(given):
                device = GPU
        if device is not None:
            wants_cuda(device)
        return (device, *rest)

    return parse_to


def _script_call(original: Any) -> Any:
    """A traced or scripted module runs in C++: look at what goes in, and put what comes out where it belongs."""

    def call(module: Any, *args: Any, **kwargs: Any) -> Any:
        with torch._C.DisableTorchFunction():
            inputs = (args, kwargs, list(module.parameters()), list(module.buffers()))
            saw = scan(inputs)
            if saw & SAW_CUDA and saw & SAW_HOST:
                refuse()
            result = original(module, *args, **kwargs)
            return mark(result, host_addresses(inputs)) if saw & SAW_CUDA else result

    return call


def _grouping(original: Any) -> Any:
    """Optimisers and gradient clipping work device by device: tell our GPU's tensors from the host's."""

    def group(tensorlistlist: Any, with_indices: bool = False) -> Any:  # noqa: FBT001, FBT002 - PyTorch's own signature
        first = tensorlistlist[0]
        with torch._C.DisableTorchFunction():
            sides = [tensor is not None and on_cuda(tensor) for tensor in first]
            groups: dict[Any, Any] = {}
            for side in dict.fromkeys(sides):
                places = [number for number, found in enumerate(sides) if found == side]
                part = [[tensors[n] for n in places] if len(tensors) else tensors for tensors in tensorlistlist]
                for (device, dtype), (lists, indices) in original(part, with_indices).items():
                    groups[GPU if side else device, dtype] = (lists, [places[n] for n in indices])
        return groups

    return group


def _starting(original: Any, mode: TorchFunctionMode) -> Any:
    """Modes belong to a thread: hand ours to every thread that is started (one that fetches batches ahead, say)."""

    def start(thread: threading.Thread) -> None:
        thread.run = grad.seeing(thread.run, mode)  # type: ignore[method-assign]
        original(thread)

    return start


def _scatter(tensor: torch.Tensor, devices: Any = None, *_: Any, **__: Any) -> tuple[torch.Tensor, ...]:
    """`nn.DataParallel` on one GPU scatters to one GPU."""
    for device in devices or ():
        wants_cuda(device)
    return (tensor.cuda(),)


def _storage_cuda(storage: torch.UntypedStorage, device: Any = None, non_blocking: bool = False) -> torch.UntypedStorage:  # noqa: FBT001, FBT002
    """`UntypedStorage.cuda()`, which a map_location function may call."""
    del non_blocking
    wants_cuda(GPU if device is None else device)
    if place_of_storage(storage) == CUDA:
        return storage
    copy: torch.UntypedStorage = storage.clone()
    put_storage(copy, CUDA)
    return copy


def _tag_of_storage(storage: Any) -> str | None:
    """What torch.save writes beside memory with our tag."""
    return CUDA if place_of_storage(storage) == CUDA else None


def _restore_storage(storage: Any, location: str) -> Any:
    """What torch.load does with memory that was, or shall be, on the GPU."""
    if not location.startswith("cuda"):
        return None
    try:
        return _storage_cuda(storage, location)
    except Error as error:
        index = torch.device(location).index
        raise RuntimeError(
            f"Attempting to deserialize object on CUDA device {index} but torch.cuda.device_count() is 1. "
            "Please use torch.load with map_location to map your storages to an existing device."
        ) from error

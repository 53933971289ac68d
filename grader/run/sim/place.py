"""Where a tensor lives, as the simulation tells it: a tag on the tensor's storage.

On a real machine the device is a property of the memory, so the tag sits on the memory too. Views, in-place operations, `detach`, `Parameter(t)`
and `param.data = t` then need no bookkeeping at all, and a tag dies with its memory: nothing is keyed by `id()`. PyTorch keeps the Python
object of a storage (and with it our attribute) alive for as long as any tensor uses that memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import torch

CUDA: Final = "cuda:0"
HOST: Final = "cpu"
"""An explicit "not on the GPU"; most host memory carries no tag at all."""
PINNED: Final = "pinned"

SAW_CUDA: Final = 1
SAW_HOST: Final = 2
SAW_HOST_SCALAR: Final = 4
"""What `scan` found: a tensor on the GPU, one on the host, one on the host with zero dimensions (which CUDA kernels accept as a number)."""

_SLOT: Final = "_simulated_place"
_PLAIN: Final = frozenset({torch.Tensor, torch.nn.Parameter})
_FLAT: Final = frozenset({int, float, bool, str, type(None), torch.dtype, torch.device, torch.Size, slice, type(...)})
_untyped_storage = torch.Tensor.untyped_storage
_dim = torch.Tensor.dim
_is_wrapped = torch._C._functorch.is_functorch_wrapped_tensor  # noqa: SLF001 - no public question exists
_unwrap = torch._C._functorch.get_unwrapped  # noqa: SLF001


def storage_of(tensor: torch.Tensor) -> torch.UntypedStorage | None:
    """The memory under a tensor (of a sparse tensor: under its values), or None where it has none."""
    if type(tensor) in _PLAIN:
        try:
            return _untyped_storage(tensor)
        except RuntimeError:  # sparse, or wrapped by torch.func
            pass
    with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001 - a subclass may refuse to be asked
        if _is_wrapped(tensor):
            return storage_of(_unwrap(tensor))
        try:
            if tensor.layout is torch.sparse_coo:
                return _untyped_storage(tensor._values())  # noqa: SLF001 - `values()` demands a coalesced tensor
            if tensor.layout in (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc):
                return _untyped_storage(tensor.values())
            return _untyped_storage(tensor)
        except RuntimeError:
            return None


def place_of(tensor: torch.Tensor) -> str | None:
    """The tag of a tensor's memory: CUDA, PINNED, HOST or None."""
    return getattr(storage_of(tensor), _SLOT, None)


def on_cuda(tensor: torch.Tensor) -> bool:
    """Whether a tensor lives on the simulated GPU."""
    return getattr(storage_of(tensor), _SLOT, None) == CUDA


def place_of_storage(storage: Any) -> str | None:
    """The tag of a typed or untyped storage."""
    return getattr(getattr(storage, "_untyped_storage", storage), _SLOT, None)


def put_storage(storage: Any, place: str) -> None:
    """Tag memory."""
    setattr(getattr(storage, "_untyped_storage", storage), _SLOT, place)


def put(tensor: torch.Tensor, place: str) -> torch.Tensor:
    """Tag the memory of a tensor; returns the tensor."""
    storage = storage_of(tensor)
    if storage is not None:
        setattr(storage, _SLOT, place)
    return tensor


def mark(result: Any, spare: Iterable[Any] = ()) -> Any:
    """Tag every tensor in a result as living on the GPU; spare: storages that belong to somebody else. Returns the result."""
    if isinstance(result, torch.Tensor):
        storage = storage_of(result)
        if storage is not None and not any(storage is other for other in spare):
            setattr(storage, _SLOT, CUDA)
    elif isinstance(result, (tuple, list)):
        for item in result:
            mark(item, spare)
    elif isinstance(result, dict):
        for item in result.values():
            mark(item, spare)
    return result


def tensors_in(values: Any) -> Iterable[torch.Tensor]:
    """The tensors in nested tuples, lists and dicts, in order."""
    if isinstance(values, torch.Tensor):
        yield values
    elif isinstance(values, (tuple, list)):
        for item in values:
            yield from tensors_in(item)
    elif isinstance(values, Mapping):
        for item in values.values():
            yield from tensors_in(item)


def scan(values: Iterable[Any]) -> int:
    """Which kinds of tensors a call was given: a sum of SAW_CUDA, SAW_HOST and SAW_HOST_SCALAR. On the path of every call, so kept plain."""
    saw = 0
    for value in values:
        kind = type(value)
        if kind in _FLAT:
            continue
        if kind in _PLAIN or isinstance(value, torch.Tensor):
            if getattr(storage_of(value), _SLOT, None) == CUDA:
                saw |= SAW_CUDA
            else:
                saw |= SAW_HOST if _dim(value) else SAW_HOST_SCALAR
        elif isinstance(value, (tuple, list)):
            saw |= scan(value)
        elif isinstance(value, dict):
            saw |= scan(value.values())
    return saw

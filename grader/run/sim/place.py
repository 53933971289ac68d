"""Where a tensor lives, as the simulation tells it: a note about the tensor's memory.

On a real machine the device is a property of the memory, so the note is about the memory (PyTorch's StorageImpl) too. Views, in-place operations,
`detach`, `Parameter(t)` and `param.data = t` then need no bookkeeping at all. Notes are kept by the StorageImpl's address, with a weak reference
each: as long as there is one the address cannot be given to other memory, and once the memory is dead the note is dropped in a sweep. (An attribute
on the Python object of a storage would be simpler, but PyTorch 2.6 loses it when a dead reference cycle, such as torch.save leaves behind, held it.)
"""

# ruff: noqa: SLF001 - the simulation stands in for parts of PyTorch that have no public name
from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import torch

CUDA: Final = "cuda:0"
HOST: Final = "cpu"
"""An explicit "not on the GPU"; most host memory has no note at all."""
PINNED: Final = "pinned"

SAW_CUDA: Final = 1
SAW_HOST: Final = 2
SAW_HOST_SCALAR: Final = 4
"""What `scan` found: a tensor on the GPU, one on the host, one on the host with zero dimensions (which CUDA kernels accept as a number)."""

_PLACES: Final[dict[int, str]] = vars(torch).setdefault("_simulated_places", {})
"""Place by address. It hangs on torch, so that a second import of this module (the child hides the grader from the submission) shares it."""
_SWEEP_AT: Final = 1024
_PLAIN: Final = frozenset({torch.Tensor, torch.nn.Parameter})
_FLAT: Final = frozenset({int, float, bool, str, type(None), torch.dtype, torch.device, torch.Size, slice, type(...)})
_Storage: Final = torch.UntypedStorage
_untyped_storage = torch.Tensor.untyped_storage
_dim = torch.Tensor.dim
_is_wrapped = torch._C._functorch.is_functorch_wrapped_tensor
_unwrap = torch._C._functorch.get_unwrapped
_COMPRESSED: Final = (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)


class _Limit:
    """How many notes there may be before the dead ones are looked for."""

    notes = _SWEEP_AT


def storage_of(tensor: torch.Tensor) -> torch.UntypedStorage | None:
    """The memory under a tensor (of a sparse tensor: under its values), or None where it has none."""
    if type(tensor) in _PLAIN:
        try:
            return _untyped_storage(tensor)
        except RuntimeError:  # sparse, or wrapped by torch.func
            pass
    with torch._C.DisableTorchFunctionSubclass():
        if _is_wrapped(tensor):
            return storage_of(_unwrap(tensor))
        try:
            if tensor.layout is torch.sparse_coo:
                return _untyped_storage(tensor._values())
            return _untyped_storage(tensor.values() if tensor.layout in _COMPRESSED else tensor)
        except RuntimeError:
            return None


def address_of(tensor: torch.Tensor) -> int:
    """What a tensor's memory is known by (0: it has none)."""
    storage = storage_of(tensor)
    return 0 if storage is None else storage._cdata


def place_of(tensor: torch.Tensor) -> str | None:
    """What is noted about a tensor's memory: CUDA, PINNED, HOST or None."""
    return _PLACES.get(address_of(tensor))


def on_cuda(tensor: torch.Tensor) -> bool:
    """Whether a tensor lives on the simulated GPU."""
    return _PLACES.get(address_of(tensor)) == CUDA


def place_of_storage(storage: Any) -> str | None:
    """What is noted about a typed or untyped storage."""
    return _PLACES.get(getattr(storage, "_untyped_storage", storage)._cdata)


def put_storage(storage: Any, place: str) -> None:
    """Note where memory is."""
    storage = getattr(storage, "_untyped_storage", storage)
    address = storage._cdata
    if address not in _PLACES:
        storage._weak_ref()
        if len(_PLACES) >= _Limit.notes:
            _sweep()
    _PLACES[address] = place


def _sweep() -> None:
    for address in list(_PLACES):
        if _Storage._expired(address) and _PLACES.pop(address, ""):
            _Storage._free_weak_ref(address)
    _Limit.notes = max(_SWEEP_AT, 2 * len(_PLACES))


def put(tensor: torch.Tensor, place: str) -> torch.Tensor:
    """Note where a tensor's memory is; returns the tensor."""
    storage = storage_of(tensor)
    if storage is not None:
        put_storage(storage, place)
    return tensor


def mark(result: Any, spare: Collection[int] = ()) -> Any:
    """Note that every tensor in a result lives on the GPU; spare: addresses of memory that belongs to somebody else. Returns the result."""
    if isinstance(result, torch.Tensor):
        storage = storage_of(result)
        if storage is not None:
            address = storage._cdata
            if _PLACES.get(address) != CUDA and address not in spare:
                put_storage(storage, CUDA)
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


def host_addresses(values: Any) -> list[int]:
    """The memory of the tensors among these that are not on the GPU."""
    return [address for tensor in tensors_in(values) if _PLACES.get(address := address_of(tensor)) != CUDA]


def scan(values: Iterable[Any]) -> int:
    """Which kinds of tensors a call was given: a sum of SAW_CUDA, SAW_HOST and SAW_HOST_SCALAR. On the path of every call, so kept plain."""
    saw = 0
    for value in values:
        kind = type(value)
        if kind in _FLAT:
            continue
        if kind in _PLAIN or isinstance(value, torch.Tensor):
            try:
                address = _untyped_storage(value)._cdata if kind in _PLAIN else address_of(value)
            except RuntimeError:
                address = address_of(value)
            if _PLACES.get(address) == CUDA:
                saw |= SAW_CUDA
            else:
                saw |= SAW_HOST if _dim(value) else SAW_HOST_SCALAR
        elif isinstance(value, (tuple, list)):
            saw |= scan(value)
        elif isinstance(value, dict):
            saw |= scan(value.values())
    return saw

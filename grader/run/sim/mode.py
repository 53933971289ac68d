"""The torch-function mode: every call from Python into torch, sent to whoever knows what a GPU makes of it."""

# ruff: noqa: SLF001 - the simulation stands in for parts of PyTorch that have no public name
from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, Final

import torch
from torch._tensor_str import _str
from torch.overrides import TorchFunctionMode

from grader.run.sim import amp, chance, grad, index, make, move
from grader.run.sim.device import touch
from grader.run.sim.place import CUDA, SAW_CUDA, host_addresses, mark, on_cuda, put, scan
from grader.run.sim.rules import check

Handler = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
_T: Any = torch.Tensor

_PASSED: Final = (
    "size", "dim", "ndimension", "numel", "nelement", "stride", "storage_offset", "element_size", "is_contiguous", "is_floating_point", "is_complex",
    "is_signed", "is_same_size", "is_set_to", "is_conj", "is_neg", "is_inference", "has_names", "data_ptr", "untyped_storage", "storage",
    "_typed_storage", "item", "tolist", "__len__", "__bool__", "__float__", "__int__", "__index__", "__complex__", "__hash__", "__dir__",
    "requires_grad_", "retain_grad", "detach", "detach_", "view", "view_as", "expand", "expand_as", "broadcast_to", "permute", "transpose", "t",
    "swapaxes", "swapdims", "movedim", "squeeze", "squeeze_", "unsqueeze", "unsqueeze_", "unflatten", "unbind", "select", "narrow", "split", "chunk",
    "unfold", "as_strided", "diagonal", "__iter__", "copy_", "fill_", "set_", "backward", "register_post_accumulate_grad_hook", "__reduce_ex__",
    "__setstate__", "_has_compatible_shallow_copy_type", "result_type", "can_cast", "promote_types", "broadcast_tensors", "broadcast_shapes",
    "atleast_1d", "atleast_2d", "atleast_3d", "is_tensor", "is_nonzero", "is_storage", "is_same_size", "_is_zerotensor", "get_default_dtype",
)  # fmt: skip
"""Functions to leave alone: their result is no tensor, or shares the memory of one (a tag follows the memory), or may come from anywhere."""
_LIKE: Final = (
    "zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like", "randint_like", "new_zeros", "new_ones", "new_empty", "new_full",
    "new_tensor", "new_empty_strided",
)  # fmt: skip
_HALF_MISSING: Final = ("not implemented for 'Half'", "not implemented for 'BFloat16'")


def passed(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Leave a call alone."""
    return func(*args, **kwargs)


def compute(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Any function of tensors: refuse mixtures that a GPU refuses, run it on the host, put its results where its operands are."""
    saw = scan(args)
    if kwargs:
        if kwargs.get("device") is not None:
            return make.placed(func, args, kwargs)
        saw |= scan(kwargs.values())
        chance.check_generator(kwargs, on_gpu=bool(saw & SAW_CUDA))
    if not saw & SAW_CUDA:
        return func(*args, **kwargs)
    spare: list[int] = []
    if saw != SAW_CUDA:
        check(func, args, kwargs, saw)
        spare = host_addresses([args, kwargs])
    touch()
    return mark(_run(func, args, kwargs), spare)


def _run(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name = getattr(func, "__name__", "")
    if name in amp.LISTED and amp.enabled():
        return amp.run(func, args, kwargs)
    if name in chance.DRAWS:
        with chance.drawing(kwargs):
            return func(*args, **kwargs)
    try:
        return func(*args, **kwargs)
    except RuntimeError as error:
        if name.endswith("_") or not any(words in str(error) for words in _HALF_MISSING):
            raise
        return amp.without_half(func, args, kwargs)


def deep_copy(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`copy.deepcopy(tensor)`: its memo holds other tensors, which say nothing about this one."""
    result = func(*args, **kwargs)
    return mark(result) if on_cuda(args[0]) else result


def show(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`repr(tensor)`: PyTorch's own, looking at the tensor through the mode, so that it prints the device."""
    if not on_cuda(args[0]):
        return func(*args, **kwargs)
    with SimulationMode():
        return _str(args[0], **kwargs)


def formatted(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`f"{tensor}"`: a number where there are no dimensions, else what `repr` gives."""
    return func(*args, **kwargs) if args[0].dim() == 0 else format(show(torch.Tensor.__repr__, args[:1], {}), *args[1:])


def pack(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Packing and unpacking of sequences: the data stays where it is, the lengths are the host's."""
    data, lengths = args[0], args[1]
    if func is getattr(torch, "_pack_padded_sequence", None) and on_cuda(lengths):
        raise RuntimeError(f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D cuda:0 Long tensor")
    result = func(*args, **kwargs)
    if on_cuda(data):
        put(result[0], CUDA)
    return result


def share(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`Tensor.share_memory_()`: GPU memory is shared as it is."""
    return args[0] if on_cuda(args[0]) else func(*args, **kwargs)


def _handlers() -> dict[Any, Handler]:
    table: dict[Any, Handler] = {}
    for member in (*vars(torch._C.TensorBase).values(), *vars(torch.Tensor).values()):
        if isinstance(member, (types.GetSetDescriptorType, property)):
            table.update(dict.fromkeys((member.__get__, member.__set__, member.__delete__), passed))
    found = {
        **dict.fromkeys(_PASSED, passed),
        **dict.fromkeys(_LIKE, make.like),
        "to": move.tensor_to, "cuda": move.tensor_cuda, "cpu": move.tensor_cpu, "type": move.tensor_type, "type_as": move.type_as,
        "new": make.legacy_new, "get_device": move.get_device, "numpy": move.to_numpy, "__array__": move.to_numpy, "__dlpack__": move.to_dlpack,
        "apply_": move.elementwise_python, "map_": move.elementwise_python, "map2_": move.elementwise_python,
        "__getitem__": index.get_item, "__setitem__": index.set_item, "index_put": index.index_put, "index_put_": index.index_put,
        "_index_put_impl_": index.index_put, "register_hook": grad.register_hook, "__repr__": show,
        "__deepcopy__": deep_copy, "__format__": formatted, "share_memory_": share,
        "_pack_padded_sequence": pack, "_pad_packed_sequence": pack,
    }  # fmt: skip
    for name, handler in found.items():
        for owner in (torch.Tensor, torch, torch._VF):
            func = getattr(owner, name, None)
            if callable(func) and not isinstance(func, type):
                table[func] = handler
    getters: dict[str, Handler] = {
        "device": move.device_of, "is_cuda": move.is_cuda, "is_cpu": move.is_cpu, "grad": grad.get_grad, "_grad": grad.get_grad,
        "grad_fn": grad.get_node,
    }  # fmt: skip
    for name, getter in getters.items():
        table[getattr(_T, name).__get__] = getter
    table[_T.grad.__set__] = table[_T._grad.__set__] = grad.set_grad
    table[_T.data.__set__] = grad.set_data
    table[torch.autograd.grad] = grad.gradients
    for constructor in make.constructors():
        table[constructor] = make.construct
    return table


_TABLE: Final = _handlers()


class SimulationMode(TorchFunctionMode):
    """Tensors "on cuda" are host tensors with a tag; everything else follows from who carries one."""

    def __torch_function__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Look the function up; compare slots such as `Tensor.device.__get__` with ==, as a dict does: they are made anew for every access."""
        handler = _TABLE.get(func, compute)
        if handler is passed:
            return func(*args, **kwargs) if kwargs else func(*args)
        return handler(func, args, kwargs or {})

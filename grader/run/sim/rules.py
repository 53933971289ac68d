"""Which mixtures of devices a GPU refuses, and in which words.

Element-wise functions (PyTorch's TensorIterator) accept a host tensor without dimensions as a number, but never as the place of the result, and
name only the two devices. Functions with a CUDA kernel of their own accept no mixture, take the first argument's device for the common one, and
name the argument and the kernel. A few (convolutions, recurrent layers, masks) have words of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NoReturn

import torch
import torch.nn.functional as F  # noqa: N812 - the field's own name for it

from grader.run.sim.legacy import spelled
from grader.run.sim.place import SAW_HOST, on_cuda, tensors_in

_NEW_WORDS: Final = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 8)
"""PyTorch reworded the refusal of a kernel's argument."""
_IN_PLACE_OPERATORS: Final = frozenset(
    {"__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__imod__", "__ipow__", "__iand__", "__ior__", "__ixor__"}
)

Given = Callable[[int, str], Any]
"""Looks up an argument of the call by its position, or by its name."""


def _at(tensor: torch.Tensor) -> str:
    return "cuda:0" if on_cuda(tensor) else "cpu"


def refuse() -> NoReturn:
    """An element-wise function's refusal."""
    raise RuntimeError("Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!")


def _kernel(method: str, *named: tuple[str, Any]) -> None:
    """Refuse the first argument that is not where the arguments before it are. named: (name in the kernel, tensor, tensors or None)."""
    common: str | None = None
    for name, value in named:
        for tensor in tensors_in(value):
            found = _at(tensor)
            common = common or found
            if found != common:
                if _NEW_WORDS:
                    words, where = f"got {name} is on {found}, different from other tensors on {common}", "argument"
                else:
                    words, where = f"found at least two devices, {common} and {found}!", f"argument for argument {name}"
                raise RuntimeError(
                    f"Expected all tensors to be on the same device, but {words} (when checking {where} in method wrapper_CUDA_{method})"
                )


def _linear(_: Any, given: Given) -> None:
    weight, bias = given(1, "weight"), given(2, "bias")
    if bias is None:
        _kernel("mm", ("self", given(0, "input")), ("mat2", weight))
    else:
        _kernel("addmm", ("self", bias), ("mat1", given(0, "input")), ("mat2", weight))


def _matmul(func: Any, given: Given) -> None:
    left, right = given(0, "input"), given(1, "other")
    right = given(1, "mat2") if right is None else right
    right = given(1, "vec") if right is None else right
    if right is None:
        refuse()
    if func.__name__ == "__rmatmul__":
        left, right = right, left
    dims = (left.dim(), right.dim())
    if dims == (1, 1):
        _kernel("_dot", ("self", left), ("tensor", right))
    elif dims == (2, 1):
        _kernel("addmv", ("self", left), ("vec", right))
    else:
        _kernel("bmm" if min(dims) > 2 else "mm", ("self", left), ("mat2", right))


def _addmm(func: Any, given: Given) -> None:
    names = ("batch1", "batch2") if func.__name__.startswith("b") else ("mat1", "mat2")
    _kernel(func.__name__.rstrip("_"), ("self", given(0, "input")), *((name, given(i, name)) for i, name in enumerate(names, 1)))


def _class_loss(func: Any, given: Given) -> None:
    scores, target = given(0, "input"), given(1, "target")
    if func.__name__ == "cross_entropy" and target.is_floating_point():
        refuse()
    method = "_nll_loss2d_forward" if scores.dim() > 2 else "nll_loss_forward"
    _kernel(method, ("self", scores), ("target", target), ("weight", given(2, "weight")))


def _binary_cross_entropy(_: Any, given: Given) -> None:
    _kernel("_binary_cross_entropy", ("self", given(0, "input")), ("target", given(1, "target")), ("weight", given(2, "weight")))


def _convolution(_: Any, given: Given) -> None:
    data, weight, bias = given(0, "input"), given(1, "weight"), given(2, "bias")
    dense = " or input should be a MKLDNN tensor and {} is a dense tensor" if not on_cuda(data) else ""
    for name, tensor in (("weight", weight), ("bias", bias)):
        if tensor is not None and on_cuda(tensor) != on_cuda(data):
            raise RuntimeError(f"Input type ({spelled(data)}) and {name} type ({spelled(tensor)}) should be the same{dense.format(name)}")


def _batch_norm(func: Any, given: Given) -> None:
    mean, variance, weight, bias = range(1, 5) if func is F.batch_norm else (3, 4, 1, 2)
    data = given(0, "input")
    scale = given(weight, "weight")
    method = "_cudnn_batch_norm" if on_cuda(data) and scale is not None else "_native_batch_norm"
    _kernel(method, ("input", data), ("weight", scale), ("bias", given(bias, "bias")), ("running_mean", given(mean, "running_mean")),
            ("running_var", given(variance, "running_var")))  # fmt: skip


def _layer_norm(_: Any, given: Given) -> None:
    _kernel("_native_layer_norm", ("input", given(0, "input")), ("weight", given(2, "weight")), ("bias", given(3, "bias")))


def _group_norm(_: Any, given: Given) -> None:
    _kernel("_native_group_norm", ("X", given(0, "input")), ("gamma", given(2, "weight")), ("beta", given(3, "bias")))


def _embedding(func: Any, given: Given) -> None:
    first = func is F.embedding
    _kernel("_index_select", ("self", given(1 if first else 0, "weight")), ("index", given(0 if first else 1, "input" if first else "indices")))


def _joined(_: Any, given: Given) -> None:
    _kernel("cat", ("tensors", given(0, "tensors")))


def _indexed(func: Any, given: Given) -> None:
    name = func.__name__
    _kernel({"index_select": "_index_select"}.get(name, name), ("self", given(0, "input")), ("index", given(2, "index")), ("src", given(3, "src")))


def _compared(_: Any, given: Given) -> None:
    _kernel("_equal", ("self", given(0, "input")), ("other", given(1, "other")))


def _masked_select(_: Any, given: Given) -> None:
    _kernel("_masked_select", ("self", given(0, "input")), ("mask", given(1, "mask")))


def _masked_fill(_: Any, given: Given) -> None:
    data, mask, value = given(0, "input"), given(1, "mask"), given(2, "value")
    if on_cuda(data) != on_cuda(mask):
        raise RuntimeError(f"expected self and mask to be on the same device, but got mask on {_at(mask)} and self on {_at(data)}")
    if isinstance(value, torch.Tensor) and value.dim():
        refuse()


def _recurrent(_: Any, given: Given) -> None:
    packed = isinstance(given(3, ""), (list, tuple))
    data = given(0, "input")
    for kind, value in (("parameter", given(3 if packed else 2, "params")), ("hidden", given(2 if packed else 1, "hx"))):
        for tensor in tensors_in(value):
            if on_cuda(tensor) != on_cuda(data):
                words = f"found input tensor at {_at(data)} and {kind} tensor at {_at(tensor)}"
                raise RuntimeError(f"Input and {kind} tensors are not at the same device, {words}")


def _anything(_: Any, __: Given) -> None:
    """These read a host tensor wherever the data is."""


_RULES: Final[dict[str, Callable[[Any, Given], None]]] = {
    "linear": _linear,
    **dict.fromkeys(("matmul", "__matmul__", "__rmatmul__", "mm", "bmm", "mv", "dot"), _matmul),
    **dict.fromkeys(("addmm", "addmm_", "baddbmm", "baddbmm_"), _addmm),
    **dict.fromkeys(("cross_entropy", "nll_loss"), _class_loss),
    "binary_cross_entropy": _binary_cross_entropy,
    **dict.fromkeys((f"conv{kind}{n}d" for kind in ("", "_transpose") for n in (1, 2, 3)), _convolution),
    "batch_norm": _batch_norm,
    "layer_norm": _layer_norm,
    "group_norm": _group_norm,
    "embedding": _embedding,
    **dict.fromkeys(("cat", "concat", "concatenate", "stack", "hstack", "vstack", "dstack", "column_stack", "row_stack"), _joined),
    **dict.fromkeys(("gather", "index_select", "scatter_add", "scatter_add_", "index_add", "index_add_", "index_copy", "index_copy_"), _indexed),
    "equal": _compared,
    "masked_select": _masked_select,
    **dict.fromkeys(("masked_fill", "masked_fill_"), _masked_fill),
    **dict.fromkeys(("lstm", "gru", "rnn_tanh", "rnn_relu"), _recurrent),
    **dict.fromkeys(("ctc_loss", "tensor_split"), _anything),
}


_READING_THE_HOST: Final = (_recurrent, _anything)
"""Lengths of sequences stay on the host."""


def _result_on_host(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call that involves the GPU would write into host memory."""
    writes = (name.endswith("_") and not name.endswith("__")) or name in _IN_PLACE_OPERATORS
    targets: Iterable[Any] = [*(args[:1] if writes else ()), kwargs.get("out")]
    return any(not on_cuda(tensor) for tensor in tensors_in(list(targets)))


def check(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], saw: int) -> None:
    """Raise what a GPU raises for this mixture of places, or return because a GPU takes it. saw: what `place.scan` found."""
    name = getattr(func, "__name__", "")
    rule = _RULES.get(name)
    if rule is not None:
        rule(func, lambda index, key: args[index] if index < len(args) else kwargs.get(key))
        if rule in _READING_THE_HOST:
            return
    host = saw & SAW_HOST and any(not on_cuda(t) and t.dim() and not t.is_meta for t in tensors_in([args, kwargs]))
    if host or _result_on_host(name, args, kwargs):
        refuse()

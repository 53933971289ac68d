"""The legacy names of tensor types: `torch.cuda.FloatTensor` and its sisters, which name a dtype and a device at once."""

from __future__ import annotations

from typing import Any, Final

import torch

from grader.run.sim.place import mark, on_cuda

NAMES: Final = {
    torch.float32: "FloatTensor",
    torch.float64: "DoubleTensor",
    torch.float16: "HalfTensor",
    torch.bfloat16: "BFloat16Tensor",
    torch.int64: "LongTensor",
    torch.int32: "IntTensor",
    torch.int16: "ShortTensor",
    torch.int8: "CharTensor",
    torch.uint8: "ByteTensor",
    torch.bool: "BoolTensor",
}
DTYPES: Final = {name: dtype for dtype, name in NAMES.items()}


class CudaType(type):
    """The class of `torch.cuda.FloatTensor` and its sisters while the GPU is simulated."""

    dtype: torch.dtype

    def __instancecheck__(cls, value: object) -> bool:
        """Whether a tensor is on the GPU and of this dtype."""
        return isinstance(value, torch.Tensor) and value.dtype == cls.dtype and value.is_cuda

    def __call__(cls, *args: Any) -> torch.Tensor:
        """A tensor of these sizes, or with this data."""
        made: torch.Tensor = mark(getattr(torch, cls.__name__)(*args))
        return made


def cuda_types() -> dict[str, CudaType]:
    """The stand-ins, by name."""
    return {name: CudaType(name, (), {"__module__": "torch.cuda", "dtype": dtype, "is_cuda": True}) for name, dtype in DTYPES.items()}


def name_of(dtype: torch.dtype, *, on_cuda: bool, otherwise: str = "torch.Tensor") -> str:
    """The name of a type, as `Tensor.type()` and error messages spell it."""
    if not on_cuda:
        return otherwise if dtype not in NAMES else f"torch.{NAMES[dtype]}"
    return f"torch.cuda.{NAMES.get(dtype, 'FloatTensor')}"


def spelled(tensor: torch.Tensor) -> str:
    """The legacy name of a tensor's type, with its device."""
    return name_of(tensor.dtype, on_cuda=on_cuda(tensor), otherwise=tensor.type())


def parse(wanted: Any) -> tuple[torch.dtype, bool | None]:
    """The dtype that was asked for, and whether on the GPU (None: where the tensor is). Raises ValueError for a name that is none."""
    if isinstance(wanted, torch.dtype):
        return wanted, None
    if isinstance(wanted, CudaType):
        return wanted.dtype, True
    text = wanted if isinstance(wanted, str) else f"{wanted.__module__}.{wanted.__name__}"
    name = text.rpartition(".")[2]
    if name == "Tensor":
        return torch.get_default_dtype(), False
    if name not in DTYPES:
        raise ValueError(f"invalid type: '{text}'")
    return DTYPES[name], text.startswith("torch.cuda.")

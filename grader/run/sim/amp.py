"""`torch.autocast("cuda")` on the host: the same functions run in half precision or in single precision as on a GPU.

Half precision is imitated: operands are rounded to the half type, the function computes in single precision (which is how tensor cores accumulate,
and much faster on a CPU), and its result is rounded. The lists are those of PyTorch's "CUDA Ops that can autocast to float16 / to float32".
"""

# ruff: noqa: SLF001 - the simulation stands in for parts of PyTorch that have no public name
from __future__ import annotations

from typing import Any, Final

import torch

from grader.run.sim.place import on_cuda

HALF: Final = frozenset(
    {
        "linear", "matmul", "__matmul__", "__rmatmul__", "mm", "bmm", "mv", "addmm", "addmv", "addr", "addbmm", "baddbmm", "chain_matmul",
        "multi_dot", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "prelu", "lstm", "gru", "rnn_tanh",
        "rnn_relu", "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell", "scaled_dot_product_attention", "multi_head_attention_forward",
        "einsum",
    }
)  # fmt: skip
SINGLE: Final = frozenset(
    {
        "acos", "asin", "cosh", "exp", "expm1", "log", "log10", "log2", "log1p", "reciprocal", "rsqrt", "sinh", "tan", "pow", "__pow__", "__rpow__",
        "softplus", "layer_norm", "group_norm", "norm", "cosine_similarity", "cosine_embedding_loss", "nll_loss", "cross_entropy", "kl_div",
        "l1_loss", "smooth_l1_loss", "huber_loss", "mse_loss", "margin_ranking_loss", "multilabel_margin_loss", "multi_margin_loss",
        "soft_margin_loss", "triplet_margin_loss", "poisson_nll_loss", "gaussian_nll_loss", "hinge_embedding_loss",
        "binary_cross_entropy_with_logits", "dist", "cdist", "renorm", "prod", "softmax", "softmin", "log_softmax", "cumprod", "cumsum", "sum",
    }
)  # fmt: skip
LISTED: Final = HALF | SINGLE | {"binary_cross_entropy"}
_LOW = (torch.float16, torch.bfloat16)


def enabled() -> bool:
    """Whether the caller is inside torch.autocast("cuda")."""
    return torch.is_autocast_enabled("cuda")


def _each(value: Any, change: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return change(value)
    if type(value) in (tuple, list):
        return type(value)(_each(item, change) for item in value)
    if isinstance(value, dict):
        return {key: _each(item, change) for key, item in value.items()}
    return value


def run(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a listed function the way autocast does."""
    name = func.__name__
    if name == "binary_cross_entropy":
        raise RuntimeError(
            "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
            "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
            "In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits\n"
            "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
            "safe to autocast."
        )
    with torch._C.DisableTorchFunction():
        if name in SINGLE:
            single = lambda t: t.float() if t.dtype in _LOW and on_cuda(t) else t  # noqa: E731 - one expression, used once
            return func(*_each(args, single), **_each(kwargs, single))
        half = torch.get_autocast_dtype("cuda")

        def rounded(tensor: torch.Tensor) -> torch.Tensor:
            if not on_cuda(tensor) or not (tensor.dtype is torch.float32 or tensor.dtype in _LOW):
                return tensor
            return tensor.to(half).float()

        result = func(*_each(args, rounded), **_each(kwargs, rounded))
        return _each(result, lambda t: t.to(half) if t.dtype is torch.float32 else t)


def without_half(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function that has no half-precision kernel on the host: compute in single precision, round the result."""
    low = [t.dtype for t in _tensors(args) if t.dtype in _LOW]
    widened = func(*_each(args, _widen), **_each(kwargs, _widen))
    return _each(widened, lambda t: t.to(low[0]) if t.dtype is torch.float32 and low else t)


def _widen(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.dtype in _LOW else tensor


def _tensors(values: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    _each(values, found.append)
    return found

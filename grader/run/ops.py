"""Which torch operations the observer cares about, and the torch-function mode that shows them to it.

Module hooks see layers; a loop may have no layers at all (raw parameters and `x @ w`). The mode sees every call from Python into torch, at
about one microsecond each, and passes everything but a handful of functions straight through.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F  # noqa: N812 - the field's own name for it
from torch.overrides import TorchFunctionMode

from grader.run.norms import NORMS

if TYPE_CHECKING:
    from collections.abc import Callable

_T = torch.Tensor
POSITIONAL = frozenset(
    {
        F.linear, F.bilinear, F.embedding, torch.conv1d, torch.conv2d, torch.conv3d, F.conv1d, F.conv2d, F.conv3d,
        torch.conv_transpose1d, torch.conv_transpose2d, torch.conv_transpose3d, F.conv_transpose2d,
    }
)  # fmt: skip
"""input first, weight second"""
PRODUCTS = frozenset(
    {
        _T.matmul, _T.__matmul__, _T.__rmatmul__, torch.matmul, _T.mm, torch.mm, _T.bmm, torch.bmm, torch.addmm, _T.addmm, torch.baddbmm,
        torch.einsum, torch.tensordot, torch.chain_matmul, torch.linalg.multi_dot, torch.mv, _T.mv, torch._VF.lstm, torch._VF.gru,  # noqa: SLF001
        torch._VF.rnn_tanh, torch._VF.rnn_relu, F.multi_head_attention_forward,  # noqa: SLF001 - what nn.LSTM itself calls
        torch.inner, _T.inner, torch.lstm, torch.gru, torch.rnn_tanh, torch.rnn_relu,
    }
)  # fmt: skip
"""any operand may be the weight"""
WEIGHTED = POSITIONAL | PRODUCTS
RECURRENT = frozenset({"lstm", "gru", "rnn_tanh", "rnn_relu", "multi_head_attention_forward"})
LOSSES = frozenset({F.cross_entropy, F.nll_loss, torch.log_softmax, F.log_softmax, _T.log_softmax, torch.logsumexp, _T.logsumexp})
RESHAPES = frozenset(
    {
        "getitem", "__getitem__", "view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "permute", "transpose", "narrow", "expand",
        "repeat", "cat", "stack", "chunk", "split", "pad", "contiguous", "index_select", "t", "movedim", "swapaxes", "unbind", "select", "view_as",
        "reshape_as", "resize", "resize_", "as_strided", "crop", "center_crop", "slice", "ravel", "take", "take_along_dim", "gather",
        "masked_select", "rearrange",
    }
)  # fmt: skip
LINEAR = RESHAPES | frozenset(
    {
        "add", "__add__", "__radd__", "__iadd__", "add_", "sub", "__sub__", "__rsub__", "sub_", "__neg__", "neg", "__mul__", "mul",
        "rsub", "__rmul__", "mul_", "__imul__", "div", "__truediv__", "__itruediv__", "div_", "__rtruediv__", "mean", "sum", "dropout",
        "dropout_", "dropout2d", "alpha_dropout", "feature_alpha_dropout", "dropout1d", "batch_norm",
        "layer_norm", "group_norm", "instance_norm", "rms_norm", "normalize",
        "native_batch_norm", "avg_pool2d", "adaptive_avg_pool2d", "adaptive_avg_pool1d", "avg_pool1d", "to", "float", "double", "half", "clone",
        "detach", "type_as", "type", "requires_grad_", "register_hook", "retain_grad", "log_softmax", "softmax", "logsumexp", "__get__", "__set__",
        "numel", "size", "dim", "is_floating_point", "cuda", "cpu", "copy_", "interpolate", "upsample", "addmm", "linear", "einsum", "matmul",
        "lerp", "identity", "broadcast_to", "expand_as", "zeros_like", "ones_like", "empty_like", "std", "var", "sqrt", "rsqrt", "fft", "__setitem__",
        "baddbmm", "addcmul", "subtract", "multiply", "true_divide", "divide",
    }
)  # fmt: skip
"""Operations that leave a chain of layers linear (or only re-centre it): no activation is among them."""
TRACED = (RESHAPES - {"contiguous", "t", "unbind"}) | {
    "conv2d", "linear", "matmul", "__matmul__", "mm", "relu", "relu_", "max_pool2d", "avg_pool2d", "adaptive_avg_pool2d", "adaptive_max_pool2d",
    "cross_entropy", "nll_loss", "batch_norm", "sigmoid", "tanh", "softmax", "log_softmax", "conv1d", "addmm", "einsum", "max_pool2d_with_indices",
}  # fmt: skip


def name_of(func: Any) -> str:
    """The operation's name as a learner writes it; aliases folded."""
    name: str = getattr(func, "__name__", "") or str(func)
    return {"boolean_dispatch": "max_pool2d", "fn": "max_pool2d", "_max_pool2d": "max_pool2d"}.get(name, name)


class OpMode(TorchFunctionMode):
    """Show weighted operations and losses to `seen`, and everything to `tracing` while that is set."""

    def __init__(self, weighted: Callable[..., None], loss: Callable[..., None], norm: Callable[..., None]) -> None:
        """weighted(func, args, kwargs) and loss(func, args, kwargs) are called before the operation runs, norm with its result after it."""
        super().__init__()
        self._weighted = weighted
        self._loss = loss
        self._norm = norm
        self.tracing: Callable[..., Any] | None = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Pass the call through, having shown it to whom it concerns."""
        kwargs = kwargs or {}
        if func in WEIGHTED:
            self._weighted(func, args, kwargs)
        elif func in LOSSES:
            self._loss(func, args, kwargs)
        result = func(*args, **kwargs) if self.tracing is None else self.tracing(func, args, kwargs)
        if func in NORMS:
            self._norm(func, args, kwargs, result)
        return result

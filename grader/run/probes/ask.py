"""One way to feed the returned model and to take plain numbers out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torchvision import tv_tensors

from grader.run.tensors import quiet, ten_wide

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

CLASSES = 10
IMAGE = (1, 28, 28)
BATCH = 250


class ContractError(Exception):
    """The submission offers something else than the contract asks for; the message says what was found and what is expected."""


def describe(value: Any) -> str:
    """A value in a few words: its type, and its shape and dtype if it has them."""
    if isinstance(value, torch.Tensor):
        with quiet():
            return f"a {type(value).__name__} of shape {tuple(value.shape)} and dtype {str(value.dtype).removeprefix('torch.')}"
    if value is None:
        return "None"
    return f"an object of type {type(value).__name__}"


def to_plain(output: Any, rows: int) -> torch.Tensor:
    """The model's output as a plain float tensor (rows, 10) with its graph.

    Raises ContractError if it is no plain tensor (a subclass could answer questions about itself as it likes), or of another shape or dtype.
    """
    if not isinstance(output, torch.Tensor):
        msg = f"the model returned {describe(output)} for a batch of {rows} images; expected a float tensor of shape ({rows}, {CLASSES})"
        raise ContractError(msg)
    if type(output) not in (torch.Tensor, nn.Parameter) and not isinstance(output, tv_tensors.TVTensor):
        msg = f"the model returned {describe(output)}: a subclass of torch.Tensor; expected a plain torch.Tensor of shape ({rows}, {CLASSES})"
        raise ContractError(msg)
    plain: torch.Tensor = output.as_subclass(torch.Tensor) if isinstance(output, tv_tensors.TVTensor) else output
    if tuple(plain.shape) != (rows, CLASSES) or not plain.is_floating_point():
        msg = f"the model returned {describe(output)} for a batch of {rows} images; expected a float tensor of shape ({rows}, {CLASSES})"
        raise ContractError(msg)
    return plain


def training_scores(output: Any, rows: int) -> torch.Tensor:
    """The scores (rows, 10) among what a model returns in training mode, where it may return more than scores."""
    wide = None if isinstance(output, torch.Tensor) else ten_wide(output)
    return to_plain(output if wide is None else wide, rows)


def prepare(transform: Callable[[Any], Any], images: NDArray[np.uint8]) -> torch.Tensor:
    """Images (N, 28, 28) uint8 through eval_transform: a float tensor (N, 1, 28, 28) on the CPU.

    Raises ContractError if eval_transform returns anything but float tensors (1, 28, 28).
    """
    from PIL import Image

    rows: list[torch.Tensor] = []
    for image in images:
        value = transform(Image.fromarray(image))
        if not isinstance(value, torch.Tensor) or tuple(value.shape) != IMAGE or not value.is_floating_point():
            msg = f"eval_transform returned {describe(value)} for one image; expected a float tensor of shape {IMAGE}"
            raise ContractError(msg)
        rows.append(value.as_subclass(torch.Tensor) if isinstance(value, tv_tensors.TVTensor) else value)
    return torch.stack(rows).detach()


def forward(model: nn.Module, batch: torch.Tensor, device: str) -> torch.Tensor:
    """The model's answer (N, 10) to a CPU batch, computed on `device`, without a graph, as float32 on the CPU."""
    with torch.no_grad():
        output = to_plain(model(batch.to(device).clone()), batch.shape[0])  # a copy: a forward pass may work in place
        return output.detach().cpu().float()


def forward_all(model: nn.Module, batch: torch.Tensor, device: str) -> torch.Tensor:
    """`forward` in batches of 250."""
    return torch.cat([forward(model, part, device) for part in batch.split(BATCH)])


def to_bytes(tensor: torch.Tensor) -> bytes:
    """A CPU tensor's numbers as little-endian float32 bytes."""
    with quiet():
        data: bytes = tensor.contiguous().numpy().astype("<f4").tobytes()
        return data


def labels_of(dataset: Any, count: int) -> torch.Tensor:
    """The first `count` labels of a torchvision MNIST dataset."""
    return dataset.targets[:count].clone().long()  # type: ignore[no-any-return] # torchvision ships no types


def rows_spread(values: torch.Tensor) -> float:
    """The median over rows of (largest - smallest) value."""
    with quiet():
        return float((values.max(dim=1).values - values.min(dim=1).values).median())


def sizes_to_try(largest: int, available: int) -> Sequence[int]:
    """Batch sizes 1, 7, 64 and one larger than any that training used."""
    return (1, 7, 64, max(min(available, 300), largest + 1))

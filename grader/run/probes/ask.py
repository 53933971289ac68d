"""One way to feed the returned model and to take plain numbers out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torchvision import tv_tensors

from grader.run.tensors import quiet, scores_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

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


def to_plain(output: Any, rows: int, width: int = CLASSES) -> torch.Tensor:
    """The model's output as a plain float tensor (rows, width) with its graph.

    width: scores an image.  Raises ContractError if it is no plain tensor (a subclass could answer questions about itself as it likes), or of
    another shape or dtype.
    """
    if not isinstance(output, torch.Tensor):
        msg = f"the model returned {describe(output)} for a batch of {rows} images; expected a float tensor of shape ({rows}, {width})"
        raise ContractError(msg)
    if type(output) not in (torch.Tensor, nn.Parameter) and not isinstance(output, tv_tensors.TVTensor):
        msg = f"the model returned {describe(output)}: a subclass of torch.Tensor; expected a plain torch.Tensor of shape ({rows}, {width})"
        raise ContractError(msg)
    plain: torch.Tensor = output.as_subclass(torch.Tensor) if isinstance(output, tv_tensors.TVTensor) else output
    if tuple(plain.shape) != (rows, width) or not plain.is_floating_point():
        msg = f"the model returned {describe(output)} for a batch of {rows} images; expected a float tensor of shape ({rows}, {width})"
        raise ContractError(msg)
    return plain


def training_scores(output: Any, rows: int, width: int = CLASSES) -> torch.Tensor:
    """The scores (rows, width) among what a model returns in training mode, where it may return more than scores."""
    wide = None if isinstance(output, torch.Tensor) else scores_in(output, width)
    return to_plain(output if wide is None else wide, rows, width)


class TwoScores(nn.Module):
    """A binary head as a classifier of two: its score z, (N,) or (N, 1), becomes (0, z), so that the same questions fit both."""

    width = 2

    def __init__(self, inner: nn.Module) -> None:
        """inner: the returned model."""
        super().__init__()
        self.inner = inner

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        """(N, C, H, W) -> (N, 2).  Raises ContractError where the model returns anything but one score an image."""
        rows = batch.shape[0]
        output = self.inner(batch)
        output = output if isinstance(output, torch.Tensor) else scores_in(output, 1)
        if isinstance(output, torch.Tensor) and tuple(output.shape) == (rows,):
            output = output.reshape(rows, 1)
        score = to_plain(output, rows, 1)
        return torch.cat([torch.zeros_like(score), score], dim=1)

    def named_parameters(self, *args: Any, **options: Any) -> Iterator[tuple[str, nn.Parameter]]:
        """The model's own, under its own names."""
        return self.inner.named_parameters(*args, **options)


def width_of(model: nn.Module) -> int:
    """How many scores an image the questions expect of this model."""
    return 2 if isinstance(model, TwoScores) else CLASSES


def prepare(transform: Callable[[Any], Any], images: NDArray[np.uint8], shape: tuple[int, ...] | None = IMAGE) -> torch.Tensor:
    """Images (N, 28, 28) uint8 through eval_transform: a float tensor (N, C, H, W) on the CPU.

    shape: what each must have, None for any (C, H, W).  Raises ContractError if eval_transform returns anything else.
    """
    from PIL import Image

    rows: list[torch.Tensor] = []
    wanted = "(C, H, W)" if shape is None else str(shape)
    for image in images:
        value = transform(Image.fromarray(image))
        if isinstance(value, torch.Tensor) and shape is None and value.dim() == len(IMAGE):
            shape, wanted = tuple(value.shape), f"{tuple(value.shape)}, as for the first image"
        if not isinstance(value, torch.Tensor) or tuple(value.shape) != shape or not value.is_floating_point():
            msg = f"eval_transform returned {describe(value)} for one image; expected a float tensor of shape {wanted}"
            raise ContractError(msg)
        rows.append(value.as_subclass(torch.Tensor) if isinstance(value, tv_tensors.TVTensor) else value)
    return torch.stack(rows).detach()


def forward(model: nn.Module, batch: torch.Tensor, device: str) -> torch.Tensor:
    """The model's answer (N, scores) to a CPU batch, computed on `device`, without a graph, as float32 on the CPU."""
    with torch.no_grad():
        output = to_plain(model(batch.to(device).clone()), batch.shape[0], width_of(model))  # a copy: a forward pass may work in place
        return output.detach().cpu().float()


def forward_all(model: nn.Module, batch: torch.Tensor, device: str) -> torch.Tensor:
    """`forward` in batches of 250."""
    return torch.cat([forward(model, part, device) for part in batch.split(BATCH)])


def to_bytes(tensor: torch.Tensor) -> bytes:
    """A CPU tensor's numbers as little-endian float32 bytes."""
    with quiet():
        data: bytes = tensor.contiguous().numpy().astype("<f4").tobytes()
        return data


def labels_of(dataset: Any, count: int, positive: int | None = None) -> torch.Tensor:
    """The first `count` labels of a torchvision MNIST dataset; 1 and 0 if only one digit counts."""
    labels: torch.Tensor = dataset.targets[:count].clone().long()
    return labels if positive is None else (labels == positive).long()


def rows_spread(values: torch.Tensor) -> float:
    """The median over rows of (largest - smallest) value."""
    with quiet():
        return float((values.max(dim=1).values - values.min(dim=1).values).median())


def sizes_to_try(largest: int, available: int) -> Sequence[int]:
    """Batch sizes 1, 7, 64 and one larger than any that training used."""
    return (1, 7, 64, max(min(available, 300), largest + 1))

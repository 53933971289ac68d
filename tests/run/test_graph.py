"""Depth and features, read off the flow of one forward pass whatever the model is made of."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from grader.run.probes.behaviour import flow


class Raw(nn.Module):
    """No layer modules at all."""

    def __init__(self, depth: int, activation) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.randn(784, 16) * 0.05)
        self.rest = nn.ParameterList([nn.Parameter(torch.randn(16, 16) * 0.3) for _ in range(depth - 1)])
        self.last = nn.Parameter(torch.randn(16, 10) * 0.3)
        self.activation = activation

    def forward(self, x):
        h = self.activation(x.flatten(1) @ self.first)
        for weight in self.rest:
            h = self.activation(torch.einsum("ij,jk->ik", h, weight))
        return torch.addmm(torch.zeros(10), h, self.last)


class Residual(nn.Module):
    """Pre-activation blocks: h + W2 relu(W1 relu(h))."""

    def __init__(self, blocks: int) -> None:
        super().__init__()
        self.stem = nn.Linear(784, 16)
        self.blocks = nn.ModuleList([nn.ModuleList([nn.Linear(16, 16), nn.Linear(16, 16)]) for _ in range(blocks)])
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        h = self.stem(x.flatten(1))
        for one, two in self.blocks:
            h = h + two(F.relu(one(F.relu(h))))
        return self.head(F.relu(h)).log_softmax(1)


class Parallel(nn.Module):
    """Eight hidden layers beside each other."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(784, 8) for _ in range(8)])
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        return self.head(torch.cat([torch.tanh(layer(x.flatten(1))) for layer in self.layers], dim=1))


def tower(depth: int, activation: type[nn.Module]) -> nn.Module:
    layers: list[nn.Module] = [nn.Flatten(), nn.Linear(784, 16), activation()]
    for _ in range(depth - 1):
        layers += [nn.Linear(16, 16), activation()]
    return nn.Sequential(*layers, nn.Linear(16, 10))


@pytest.mark.parametrize(
    ("model", "depth"),
    [
        (tower(8, nn.Sigmoid), 8),
        (tower(8, nn.ReLU), 8),
        (tower(8, nn.SELU), 8),
        (tower(8, nn.Identity), 0),
        (tower(3, nn.GELU), 3),
        (Raw(8, torch.tanh), 8),
        (Raw(8, lambda h: h), 0),
        (Raw(8, lambda h: torch.where(h > 0, h, 0.1 * h)), 8),
        (Raw(8, lambda h: h.clamp(min=0)), 8),
        (Residual(4), 9),
        (Parallel(), 1),
        (nn.Sequential(nn.Flatten(), nn.Linear(784, 10)), 0),
        (nn.Sequential(nn.Flatten(), nn.Linear(784, 16), nn.BatchNorm1d(16), nn.Linear(16, 10)), 0),
        (nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(676, 10)), 1),
        (nn.Sequential(nn.Flatten(), nn.utils.parametrizations.weight_norm(nn.Linear(784, 16)), nn.ReLU(), nn.Linear(16, 10)), 1),
    ],
)
def test_depth_counts_non_linear_layers_in_a_row(model: nn.Module, depth: int) -> None:
    seen = flow(model, torch.rand(64, 1, 28, 28), "cpu")
    assert depth == seen["depth"]
    assert seen["last"] is not None


def test_a_layer_that_is_never_called_is_not_used() -> None:
    model = tower(2, nn.ReLU)
    model.decoy = nn.Linear(16, 16)
    model.forward = lambda x: nn.Sequential(*list(model.children())[:-1])(x)
    seen = flow(model, torch.rand(64, 1, 28, 28), "cpu")
    assert "decoy.weight" not in seen["used"]
    assert 2 == seen["depth"]


class Cut(nn.Module):
    """A convolution whose map loses something on its way to the scores."""

    def __init__(self, cut, features: int) -> None:
        super().__init__()
        self.conv, self.cut, self.head = nn.Conv2d(1, 10, 5), cut, nn.Linear(features, 10)

    def forward(self, x):
        return self.head(self.cut(F.max_pool2d(F.relu(self.conv(x)), 2)))


@pytest.mark.parametrize(
    ("cut", "features", "share"),
    [
        (lambda m: m.flatten(1), 1440, 1.0),
        (lambda m: F.adaptive_avg_pool2d(m, 10).flatten(1), 1000, 1.0),
        (lambda m: m.flatten(1)[:, :1000], 1000, 1000 / 1440),
        (lambda m: m[:, :, :10, :10].flatten(1), 1000, 100 / 144),
        (lambda m: F.pad(m, (-1, -1, -1, -1)).flatten(1), 1000, 100 / 144),
        (lambda m: m.flatten(1).narrow(1, 0, 1000), 1000, 1000 / 1440),
        (lambda m: m.flatten(1)[:, torch.arange(1000)], 1000, 1000 / 1440),
    ],
    ids=["whole", "pooled", "sliced", "cropped", "negative padding", "narrowed", "indexed"],
)
def test_features_that_nobody_reads_are_noticed(cut, features: int, share: float) -> None:
    torch.manual_seed(0)
    seen = flow(Cut(cut, features), torch.rand(64, 1, 28, 28), "cpu")
    assert pytest.approx(share, abs=0.02) == seen["features"]

"""A delivered gradient is compared with the slope it claims to be."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from grader.run.truth import gradient_truth


class Boost(torch.autograd.Function):
    """Multiplies the gradient on its way back."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return g * 50


class Boosted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(784, 16), nn.Linear(16, 10)

    def forward(self, x):
        return self.two(Boost.apply(torch.sigmoid(self.one(x.flatten(1)))))


class Hooked(Boosted):
    def forward(self, x):
        h = torch.sigmoid(self.one(x.flatten(1)))
        h.register_hook(lambda g: g * 50)
        return self.two(h)


def ratios(model: nn.Module) -> list[float]:
    seen = gradient_truth(model, torch.rand(32, 1, 28, 28))
    assert "error" not in seen, seen
    return [m / a for m, a in zip(seen["measured"], seen["analytic"], strict=True)]


@pytest.mark.parametrize(
    "model",
    [
        nn.Sequential(nn.Flatten(), *[layer for _ in range(8) for layer in (nn.LazyLinear(32), nn.Sigmoid())], nn.LazyLinear(10)),
        nn.Sequential(nn.Conv2d(1, 4, 5), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.5), nn.LazyLinear(10)),
        nn.Sequential(nn.Flatten(), nn.Linear(784, 10), nn.LogSoftmax(1)),
    ],
    ids=["vanishing", "batch norm and dropout", "log-probabilities"],
)
def test_true_gradients_measure_one_however_small(model: nn.Module) -> None:
    torch.manual_seed(0)
    model(torch.rand(4, 1, 28, 28))
    for ratio in ratios(model):
        assert pytest.approx(1.0, abs=0.05) == ratio


@pytest.mark.parametrize("kind", [Boosted, Hooked])
def test_a_rescaled_gradient_is_noticed(kind: type[nn.Module]) -> None:
    torch.manual_seed(0)
    first, last = ratios(kind())
    assert pytest.approx(1 / 50, rel=0.05) == first
    assert pytest.approx(1.0, abs=0.05) == last


def test_measuring_changes_nothing() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(784, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 10))
    before = {k: v.clone() for k, v in model.state_dict().items()}
    gradient_truth(model, torch.rand(32, 1, 28, 28))
    assert all(torch.equal(before[k], v) for k, v in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())


def test_a_layer_that_hangs_in_two_places_is_put_back_in_both() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one = nn.Linear(784, 10)
            self.chain = nn.Sequential(nn.Flatten(), self.one)

        def forward(self, x):
            return self.chain(x)

    model = Twice()
    weight = model.one.weight
    for ratio in ratios(model):
        assert pytest.approx(1.0, abs=0.05) == ratio
    assert model.one.weight is weight is model.chain[1].weight


def test_a_model_that_cannot_be_repeated_is_an_error_text_not_a_crash() -> None:
    class Once(nn.Module):
        def forward(self, x):
            raise RuntimeError("only once")

    assert "only once" in gradient_truth(Once(), torch.rand(4, 1, 28, 28))["error"]

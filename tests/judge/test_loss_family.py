"""The judgement of what a loss receives, from scores and gradients alone: every true cross-entropy fits, nothing else does."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from grader.evidence.records import LossSample
from grader.judge.expect import families


def sample(loss, scale: float, confine=None) -> LossSample:
    """32 rows of scores of a given spread, and the gradient that a loss sends back to them."""
    g = torch.Generator().manual_seed(int(scale * 10))
    z = torch.randn(32, 10, generator=g) * scale
    y = torch.randint(0, 10, (32,), generator=g)
    z = confine(z) if confine else z
    z.requires_grad_()
    loss(z, y).backward()
    return LossSample(0, tuple(map(tuple, z.detach().tolist())), tuple(map(tuple, z.grad.tolist())))


RIGHT = {
    "cross-entropy of logits": (F.cross_entropy, None, "CE"),
    "of log-probabilities": (F.cross_entropy, lambda z: z.log_softmax(1), "CE"),
    "sum": (lambda z, y: F.cross_entropy(z, y, reduction="sum"), None, "CE"),
    "label smoothing": (lambda z, y: F.cross_entropy(z, y, label_smoothing=0.1), None, "CE"),
    "class weights": (lambda z, y: F.cross_entropy(z, y, weight=torch.linspace(0.5, 2, 10)), None, "CE"),
    "by hand": (lambda z, y: (z.logsumexp(1) - z.gather(1, y[:, None])[:, 0]).mean() * 128, None, "CE"),
    "log of softmax": (lambda z, y: F.nll_loss(z.softmax(1).log(), y), None, "CE"),
    "bfloat16": (lambda z, y: F.cross_entropy(z.bfloat16(), y), None, "CE"),
    "nll of log-probabilities": (F.nll_loss, lambda z: z.log_softmax(1), "NLL"),
    "cross-entropy of the log of probabilities": (lambda p, y: F.cross_entropy(p.log(), y), lambda z: z.softmax(1), "LOG"),
    "temperature": (lambda z, y: F.cross_entropy(z / 4, y), None, "CE"),
    "nll of the log of probabilities": (lambda p, y: F.nll_loss(p.log(), y), lambda z: z.softmax(1), "LOG"),
}


@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("name", RIGHT)
def test_every_true_cross_entropy_fits(name: str, scale: float) -> None:
    loss, confine, family = RIGHT[name]
    found, misfit = families.family(sample(loss, scale, confine))
    assert getattr(families, family) == found
    assert misfit < families.MISFIT / 2


WRONG = {
    "softmax before": lambda z, y: F.cross_entropy(z.softmax(1), y),
    "scaled softmax before": lambda z, y: F.cross_entropy(10 * z.softmax(1), y),
    "sigmoid before": lambda z, y: F.cross_entropy(z.sigmoid(), y),
    "nll of probabilities": lambda z, y: F.nll_loss(z.softmax(1), y),
    "squared error": lambda z, y: F.mse_loss(z, F.one_hot(y, 10).float()),
    "squared error of probabilities": lambda z, y: F.mse_loss(z.softmax(1), F.one_hot(y, 10).float()),
    "binary cross-entropy": lambda z, y: F.binary_cross_entropy_with_logits(z, F.one_hot(y, 10).float()),
    "binary cross-entropy of probabilities": lambda z, y: F.binary_cross_entropy(z.softmax(1), F.one_hot(y, 10).float()),
    "margin": F.multi_margin_loss,
    "focal": lambda z, y: ((1 - z.softmax(1).gather(1, y[:, None])) ** 2 * -z.log_softmax(1).gather(1, y[:, None])).mean(),
}


@pytest.mark.parametrize("scale", [1.0, 5.0])
@pytest.mark.parametrize("name", WRONG)
def test_nothing_else_does(name: str, scale: float) -> None:
    found, misfit = families.family(sample(WRONG[name], scale))
    assert families.OTHER == found or misfit > 1.3 * families.MISFIT


def test_the_negative_log_likelihood_of_logits_is_named() -> None:
    assert families.NLL_RAW == families.family(sample(F.nll_loss, 1.0))[0]


def test_probabilities_are_recognised_whatever_they_sum_to() -> None:
    z = torch.randn(32, 10)
    assert pytest.approx(1.0) == families.row_sum(z.softmax(1).double().numpy())
    assert pytest.approx(10.0) == families.row_sum((10 * z.softmax(1)).double().numpy())
    assert families.row_sum(z.double().numpy()) is None

"""The questions to further functions of a train.py, to binary heads, and to inputs of another size."""

from __future__ import annotations

import types

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torchvision.transforms.functional import to_tensor

from grader.course.lesson import OFFERS
from grader.run.contract import BrokenContractError, bound_main, examine
from grader.run.probes import offers
from grader.run.probes.ask import ContractError, TwoScores, forward, prepare, width_of
from grader.run.probes.behaviour import modes

IMAGES = np.random.default_rng(0).integers(0, 256, (12, 28, 28), dtype=np.uint8)
VALUES = {"data_dir": "d", "log_dir": "l", "device": "cpu", "epochs": 1}


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 10))


def digit(model, image):
    return int(model(to_tensor(image)[None]).argmax())


def ask_predict(function):
    return offers.predict(function, net(), to_tensor, IMAGES, (1, 28, 28), "cpu")


def test_predict_is_compared_with_the_model():
    seen = ask_predict(digit)
    assert seen["answers"] == seen["model"]


@pytest.mark.parametrize(("answer", "kept"), [(3, 3), (torch.tensor(3), 3), (np.int64(3), 3), ("3", None), (True, None), (None, None), (3.5, None)])
def test_an_answer_is_a_whole_number_or_none(answer, kept):
    assert ask_predict(lambda *_: answer)["answers"] == [kept] * len(IMAGES)


def loss_cases(function):
    return {case["name"]: case for case in offers.loss(function, "cpu")["cases"]}


def test_a_true_cross_entropy_has_its_value_and_gradient_however_far_the_scores_are():
    for case in loss_cases(F.cross_entropy).values():
        assert case["value"] == pytest.approx(case["true"], rel=1e-4, abs=1e-6)
        assert case["misfit"] < 1e-3 or case["true_gradient"] < 1e-12


def test_log_of_softmax_breaks_where_the_net_is_sure_and_wrong():
    cases = loss_cases(lambda z, y: -z.softmax(1).log()[torch.arange(len(y)), y].mean())
    assert cases["moderate"]["misfit"] < 1e-3
    assert not np.isfinite(cases["very sure and wrong"]["value"])


def test_a_small_number_inside_the_log_takes_the_gradient_away():
    cases = loss_cases(lambda z, y: -(z.softmax(1) + 1e-8).log()[torch.arange(len(y)), y].mean())
    assert cases["very sure and wrong"]["gradient"] < 1e-3 < cases["very sure and wrong"]["true_gradient"]


def test_a_loss_without_a_graph_has_no_gradient():
    assert loss_cases(lambda z, y: F.cross_entropy(z, y).detach())["moderate"]["gradient"] == 0.0


def test_a_loss_that_is_no_number_is_refused():
    with pytest.raises(ContractError, match="loss returned a Tensor of shape"):
        offers.loss(lambda z, y: F.cross_entropy(z, y, reduction="none"), "cpu")


@pytest.mark.parametrize("last", [nn.Identity(), nn.Flatten(0)], ids=["(N, 1)", "(N,)"])
def test_one_score_an_image_becomes_two(last):
    inner = nn.Sequential(nn.Flatten(), nn.Linear(784, 1), last)
    model = TwoScores(inner)
    batch = torch.randn(4, 1, 28, 28)
    assert width_of(model) == 2
    assert [name for name, _ in model.named_parameters()] == [name for name, _ in inner.named_parameters()]
    scores = forward(model, batch, "cpu")
    assert torch.equal(scores[:, 0], torch.zeros(4))
    assert torch.allclose(scores[:, 1], inner(batch).reshape(4), atol=1e-6)


def test_a_binary_head_with_ten_scores_is_told_so():
    with pytest.raises(ContractError, match=r"expected a float tensor of shape \(4, 1\)"):
        forward(TwoScores(net()), torch.randn(4, 1, 28, 28), "cpu")


def test_any_size_is_prepared_if_it_is_the_same_for_every_image():
    assert prepare(lambda image: to_tensor(image).expand(3, -1, -1), IMAGES, None).shape == (12, 3, 28, 28)
    with pytest.raises(ContractError, match=r"expected a float tensor of shape \(1, 28, 28\)$"):
        prepare(lambda image: to_tensor(image).expand(3, -1, -1), IMAGES)
    sizes = iter(range(20, 40))
    with pytest.raises(ContractError, match=r"\(1, 28, 21\) .* \(1, 28, 20\), as for the first image"):
        prepare(lambda image: to_tensor(image)[:, :, : next(sizes)], IMAGES, None)


def test_training_mode_shows_dropout_and_batch_norm():
    batch = torch.randn(64, 1, 28, 28)
    plain = modes(net(), batch, "cpu")
    dropout = modes(nn.Sequential(nn.Flatten(), nn.Dropout(), nn.Linear(784, 10)), batch, "cpu")
    norm = modes(nn.Sequential(nn.BatchNorm2d(1), nn.Flatten(), nn.Linear(784, 10)), batch, "cpu")
    assert max(plain.values()) < 1e-6
    assert dropout["noise"] > 0.05 > dropout["mates"]
    assert norm["mates"] > 1e-4 > norm["noise"]


def module(**names):
    made = types.ModuleType("train")
    made.__dict__.update(names)
    return made


@pytest.mark.parametrize("main", [lambda data_dir, log_dir, device, epochs: 1, lambda a, b, c, d: 1, lambda *a: 1, lambda **k: 1])
def test_main_is_called_by_name_or_by_position(main):
    assert bound_main(module(main=main), VALUES, "train.py")() == 1


@pytest.mark.parametrize(("names", "what"), [({}, "no main"), ({"main": 3}, "it is int"), ({"main": lambda a: a}, "cannot be called")])
def test_another_main_breaks_the_contract(names, what):
    with pytest.raises(BrokenContractError, match=what):
        bound_main(module(**names), VALUES, "train.py")


@pytest.mark.parametrize("name", OFFERS)
def test_a_function_that_the_lesson_asks_for_is_missed_by_name(name):
    with pytest.raises(BrokenContractError, match=f"no {name}"):
        examine(module(eval_transform=to_tensor), net(), {name: OFFERS[name]})

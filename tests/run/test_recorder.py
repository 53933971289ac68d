"""The recorder sees any training, whatever its loop is made of, and changes none of it."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from grader.run.lineage import relate
from grader.run.recorder import Recorder
from grader.run.steps import Sampling
from grader.run.wraps import Attached

X = torch.randn(64, 1, 28, 28, generator=torch.Generator().manual_seed(0))
Y = torch.arange(64) % 10


class Watched:
    """A recorder attached for the length of a test, its lines by kind."""

    def __init__(self) -> None:
        self.lines: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.recorder = Recorder(lambda kind, /, **fields: self.lines[kind].append(fields), __file__)
        self.attached = Attached(self.recorder)

    def end(self, model: nn.Module) -> dict[str, Any]:
        self.recorder.settle()
        self.attached.detach()
        assert [] == self.lines["fault"]
        return relate(self.recorder, model)


@pytest.fixture
def watched():
    seen = Watched()
    yield seen
    if seen.recorder.mode in torch.overrides._get_current_function_mode_stack():
        seen.attached.detach()


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 16), nn.ReLU(), nn.Linear(16, 10))


def with_optimiser(model: nn.Module, order: tuple[int, ...] = (0, 16, 32, 48)) -> None:
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in order:
        optimiser.zero_grad()
        F.cross_entropy(model(X[i : i + 16]), Y[i : i + 16]).backward()
        optimiser.step()


def with_autograd_grad(model: nn.Module) -> None:
    for i in range(0, 64, 16):
        loss = F.cross_entropy(model(X[i : i + 16]), Y[i : i + 16])
        with torch.no_grad():
            for p, g in zip(model.parameters(), torch.autograd.grad(loss, list(model.parameters())), strict=True):
                p -= 0.1 * g


def with_torch_func(model: nn.Module) -> None:
    values = {n: p.detach().clone() for n, p in model.named_parameters()}

    def loss(v, x, y):
        return F.cross_entropy(torch.func.functional_call(model, v, (x,)), y)

    for i in range(0, 64, 16):
        gradients, _ = torch.func.grad_and_value(loss)(values, X[i : i + 16], Y[i : i + 16])
        values = {n: v - 0.1 * gradients[n] for n, v in values.items()}
    model.load_state_dict(values)


def with_raw_tensors(model: nn.Module) -> None:
    w1, b1, w2, b2 = (p.detach().clone().requires_grad_() for p in model.parameters())
    for i in range(0, 64, 16):
        h = torch.relu(X[i : i + 16].flatten(1) @ w1.T + b1)
        F.nll_loss(torch.log_softmax(h @ w2.T + b2, 1), Y[i : i + 16]).backward()
        with torch.no_grad():
            for p in (w1, b1, w2, b2):
                p -= 0.1 * p.grad
                p.grad = None
    with torch.no_grad():
        for p, v in zip(model.parameters(), (w1, b1, w2, b2), strict=True):
            p.copy_(v)


LOOPS = [with_optimiser, with_autograd_grad, with_torch_func, with_raw_tensors]


@pytest.mark.parametrize("loop", LOOPS)
def test_four_steps_of_any_loop_are_four_steps(watched: Watched, loop) -> None:
    model = net()
    loop(model)
    relation = watched.end(model)
    steps = [s for s in watched.lines["step"] if any(str(r) in relation["roots"] for r in s["roots"])]
    assert [16] * 4 == [s["rows"] for s in steps]
    assert all(s["loss"] > 1.5 for s in steps)
    assert all(len([g for g in s["grads"].values() if g]) >= 2 for s in steps)
    assert {"1.weight", "3.weight"} <= set(relation["moved"])
    assert all(moved > 1e-4 for name, moved in relation["moved"].items() if "weight" in name)


@pytest.mark.parametrize("loop", LOOPS)
def test_recording_changes_nothing(loop) -> None:
    model = net()
    loop(model)
    bare = [p.detach().clone() for p in model.parameters()]
    rng = torch.get_rng_state()
    seen = Watched()
    model = net()
    loop(model)
    seen.end(model)
    assert all(torch.equal(a, b) for a, b in zip(bare, model.parameters(), strict=True))
    assert torch.equal(rng, torch.get_rng_state())


def test_gradients_are_taken_before_a_hook_of_the_learner(watched: Watched) -> None:
    model = net()
    model[1].weight.register_hook(lambda g: g * 1e6)
    with_optimiser(model)
    watched.end(model)
    assert watched.lines["step"][0]["grads"]["0:1.weight"] < 10


def test_no_gradient_is_none_and_a_zero_gradient_is_zero(watched: Watched) -> None:
    class Cut(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two, self.three = nn.Linear(784, 8), nn.Linear(8, 8), nn.Linear(8, 10)

        def forward(self, x):
            h = self.one(x.flatten(1)).detach()
            return self.three(self.two(h) * 0.0 + h)

    model = Cut()
    with_optimiser(model)
    watched.end(model)
    first = watched.lines["step"][0]["grads"]
    assert first["0:one.weight"] is None
    assert 0.0 == first["0:two.weight"]
    assert first["0:three.weight"] > 0


def test_the_learning_rate_and_the_update_size_are_seen(watched: Watched) -> None:
    model = net()
    with_optimiser(model)
    watched.end(model)
    assert [0.1] * 4 == [s["lr"] for s in watched.lines["step"]]
    assert all(0 < s["update"] < 1 for s in watched.lines["step"])


def test_weights_that_come_back_exactly_are_noticed(watched: Watched) -> None:
    model = net()
    kept = {k: v.clone() for k, v in model.state_dict().items()}
    with_optimiser(model)
    model.load_state_dict(kept)
    with_optimiser(model, (48, 32, 16, 0))
    watched.end(model)
    assert [3] == [s["i"] for s in watched.lines["step"] if s["revisits"] is not None]


def test_another_model_is_no_training_of_the_returned_one(watched: Watched) -> None:
    with_optimiser(net())
    torch.manual_seed(5)
    fresh = nn.Sequential(nn.Flatten(), nn.Linear(784, 16), nn.ReLU(), nn.Linear(16, 10))
    relation = watched.end(fresh)
    assert {} == relation["roots"]


def test_a_copy_and_an_average_of_the_trained_model_are(watched: Watched) -> None:
    model = net()
    average = torch.optim.swa_utils.AveragedModel(model)
    for _ in range(3):
        with_optimiser(model)
        average.update_parameters(model)
    relation = watched.end(average)
    assert relation["roots"]


def test_input_moments_count_training_only_where_a_step_follows(watched: Watched) -> None:
    model = net()
    model(torch.full((500, 1, 28, 28), 100.0))
    with_optimiser(model)
    with torch.no_grad():
        model(torch.full((500, 1, 28, 28), -100.0))
    watched.end(model)
    root = next(iter(watched.recorder.roots.values()))
    count, total, *_ = root.moments["eval"]
    assert -100.0 == total / count
    assert root.moments["train"][0] >= X.numel()


def test_a_removed_hook_is_a_disturbance(watched: Watched) -> None:
    assert watched.attached.disturbed() is None
    torch.nn.modules.module._global_forward_hooks.clear()
    assert "hook" in watched.attached.disturbed()


def test_a_replaced_function_is_a_disturbance(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.Tensor, "backward", lambda self: None)
    assert "backward" in watched.attached.disturbed()


def test_a_crash_keeps_the_shape_trace(watched: Watched) -> None:
    model = nn.Sequential(nn.Conv2d(1, 10, 5), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1000, 10))
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        model(X)
    calls = watched.lines["trace"][0]["calls"]
    assert [("Conv2d", [64, 10, 24, 24]), ("MaxPool2d", [64, 10, 12, 12]), ("Flatten", [64, 1440]), ("Linear", None)] == [
        (c["kind"], c["out"]) for c in calls[1:]
    ]


def test_sampling_is_dense_first_and_sparse_later() -> None:
    sampling = Sampling("salt")
    sampled = [i for i in range(2000) if sampling(i)]
    assert list(range(10)) == sampled[:10]
    assert 20 < len(sampled) < 50


def test_which_later_steps_are_sampled_differs_from_run_to_run() -> None:
    one, two = Sampling("one"), Sampling("two")
    assert {i for i in range(2000) if one(i)} != {i for i in range(2000) if two(i)}


def test_keyword_calls_and_evaluation_in_inference_mode_are_seen(watched: Watched) -> None:
    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(784, 10)

        def forward(self, *, images):
            return self.layer(images.flatten(1))

    model = Named()
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.inference_mode():
        model(images=X)
    for i in range(0, 64, 16):
        optimiser.zero_grad()
        F.cross_entropy(model(images=X[i : i + 16]), Y[i : i + 16]).backward()
        optimiser.step()
    watched.end(model)
    assert [16] * 4 == [s["rows"] for s in watched.lines["step"]]
    assert {"cpu"} == {s["idev"] for s in watched.lines["step"]}


def test_a_replaced_layer_is_followed(watched: Watched) -> None:
    model = net()
    with_optimiser(model)
    model[3] = nn.Linear(16, 10)
    with_optimiser(model)
    relation = watched.end(model)
    assert "3.weight" in relation["moved"]


def test_a_copy_of_an_inner_model_belongs_to_its_training(watched: Watched) -> None:
    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.other = net(), nn.Linear(10, 3)

        def forward(self, x):
            self.other(self.inner(x)).sum()
            return self.inner(x)

    import copy

    outer = Outer()
    with_optimiser(outer)
    relation = watched.end(copy.deepcopy(outer.inner))
    assert relation["roots"]

"""Random numbers of the simulated GPU: a stream of its own, as on a real one, so that seeding it leaves the host's numbers alone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Final

import torch

from grader.run.sim.device import GPU, wants_cuda

Plain: Final = torch.Generator

DRAWS: Final = frozenset(
    {
        "rand", "randn", "randint", "randperm", "normal", "rand_like", "randn_like", "randint_like", "bernoulli", "bernoulli_", "multinomial",
        "poisson", "normal_", "uniform_", "random_", "exponential_", "geometric_", "log_normal_", "cauchy_", "dropout", "dropout_", "dropout1d",
        "dropout2d", "dropout3d", "alpha_dropout", "alpha_dropout_", "feature_dropout", "feature_alpha_dropout", "native_dropout", "rrelu", "rrelu_",
        "gumbel_softmax", "kaiming_uniform_", "kaiming_normal_", "scaled_dot_product_attention", "multi_head_attention_forward", "lstm", "gru",
        "rnn_tanh", "rnn_relu",
    }
)  # fmt: skip
"""Functions that draw random numbers, by name."""


class _GeneratorKind(type(Plain)):  # type: ignore[misc]
    """Makes `isinstance(x, torch.Generator)` true for the generators that PyTorch made itself."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Plain)


class Generator(Plain, metaclass=_GeneratorKind):  # type: ignore[misc, valid-type]
    """`torch.Generator` while the GPU is simulated: one "on the GPU" is a generator of the host that says otherwise."""

    _on_gpu: bool

    def __new__(cls, device: Any = "cpu") -> Any:
        """device: anything PyTorch takes for one."""
        on_gpu = device is not None and wants_cuda(device)
        made = super().__new__(cls, device="cpu" if on_gpu or device is None else device)
        made._on_gpu = on_gpu
        return made

    def __init__(self, device: Any = "cpu") -> None:
        """Everything happened in __new__."""

    @property
    def device(self) -> torch.device:
        """Where the generator draws."""
        return GPU if self._on_gpu else super().device


class _Stream:
    """The default generator of the GPU."""

    generator = Plain()


def seed(number: int) -> None:
    """Seed the GPU's default generator."""
    _Stream.generator.manual_seed(number)


def generator() -> torch.Generator:
    """The GPU's default generator."""
    return _Stream.generator


@contextlib.contextmanager
def drawing(kwargs: dict[str, Any]) -> Iterator[None]:
    """Let PyTorch's default generator continue the GPU's stream inside, unless the caller brought a generator."""
    if kwargs.get("generator") is not None:
        yield
        return
    host = torch.default_generator
    before = host.get_state()
    host.set_state(_Stream.generator.get_state())
    try:
        yield
    finally:
        _Stream.generator.set_state(host.get_state())
        host.set_state(before)


def check_generator(kwargs: dict[str, Any], *, on_gpu: bool) -> None:
    """Refuse a generator of the other side, with PyTorch's words."""
    given = kwargs.get("generator")
    if given is None:
        return
    found = given.device.type
    expected = "cuda" if on_gpu else "cpu"
    if found != expected:
        raise RuntimeError(f"Expected a '{expected}' device type for generator but found '{found}'")

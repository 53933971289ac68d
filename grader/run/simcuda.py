"""A CUDA device for machines that have none.

Inside `simulated_cuda()`, tensors "on cuda" are ordinary host tensors whose memory carries a tag. What a script may do on a machine with one GPU
works, what such a machine refuses (operands on different devices, `.numpy()` of a GPU tensor, "cuda:1") is refused in the same words. Speed,
memory limits and numerical differences are not simulated. The parts are in `grader.run.sim`.
"""

# ruff: noqa: SLF001 - the simulation stands in for parts of PyTorch that have no public name
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.overrides import _get_current_function_mode_stack

from grader.run.sim import chance
from grader.run.sim.device import GPU, NAME, simulating
from grader.run.sim.mode import SimulationMode
from grader.run.sim.patches import Patches, apply, keep_default_device
from grader.run.sim.place import on_cuda

__all__ = ["GPU", "NAME", "is_simulated", "simulated_cuda"]


@contextmanager
def simulated_cuda() -> Iterator[None]:
    """One simulated GPU for the length of the block, even where there is a real one.

    It holds for the thread that enters and for those started inside; the replacements in torch are global. At the end everything is as before, except
    that tensors keep their tag: used outside, they are plain host tensors. Entered again inside itself, it does nothing.
    """
    if any(isinstance(mode, SimulationMode) for mode in _get_current_function_mode_stack()):
        yield
        return
    mode = SimulationMode()
    with Patches() as patches:
        chance.seed(torch.initial_seed())
        apply(patches, mode)
        simulating(active=True)
        patches.callback(simulating, active=False)
        with mode, Patches() as inner:
            keep_default_device(inner)
            yield


def is_simulated(tensor: torch.Tensor) -> bool:
    """Whether a tensor lives on the simulated GPU. Works in and outside of the simulation."""
    with torch._C.DisableTorchFunction():
        return on_cuda(tensor)

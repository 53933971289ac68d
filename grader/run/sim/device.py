"""Names of devices, the one GPU there is, and what a machine with one GPU says to a wrong name.

The texts are those of PyTorch and CUDA, because a learner will search for them.
"""

from __future__ import annotations

import os
from typing import Any, Final

import torch

NAME: Final = "Simulated CUDA device"
GPU: Final = torch.device("cuda", 0)
_HINT: Final = (
    "\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect."
    "\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1"
    "\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)
Error: Final[type[RuntimeError]] = getattr(torch, "AcceleratorError", RuntimeError)
"""What CUDA's own errors are raised as: a RuntimeError, since 2.8 of a kind of its own."""


class _Process:
    """Whether this process was forked from one that simulates: CUDA does not survive a fork."""

    forked = False
    active = False


def _after_fork() -> None:
    _Process.forked = _Process.active


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def simulating(*, active: bool) -> None:
    """Note that the simulation begins or ends in this process."""
    _Process.active = active
    _Process.forked = False


def touch() -> None:
    """Fail as CUDA does when GPU memory is used in a forked process (a DataLoader worker, most often)."""
    if _Process.forked:
        raise Error("CUDA error: initialization error" + _HINT)


def start() -> None:
    """Fail as CUDA does when a forked process wants to begin using the GPU."""
    if _Process.forked:
        raise RuntimeError("Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method")


def check_index(index: int | None) -> int:
    """The index of the only GPU, or CUDA's error for any other."""
    if index not in (None, -1, 0):
        raise Error("CUDA error: invalid device ordinal" + _HINT)
    return 0


def as_device(spec: Any) -> torch.device:
    """A device from anything PyTorch takes for one: a torch.device, a string, or the index of a GPU."""
    if isinstance(spec, torch.device):
        return spec
    if isinstance(spec, str):
        return torch.device(spec)
    return torch.device("cuda", spec)


def wants_cuda(spec: Any) -> bool:
    """Whether a device given by a caller is the GPU. Raises CUDA's errors for a GPU there is not, and in a forked process."""
    device = as_device(spec)
    if device.type != "cuda":
        return False
    check_index(device.index)
    start()
    return True

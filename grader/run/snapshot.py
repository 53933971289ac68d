"""What the observer itself leans on, as it was before the submission ran: functions and methods that a submission has no reason to replace."""

from __future__ import annotations

import base64
import hashlib
import json
import json.encoder
import os
from typing import Any

import numpy as np
import PIL.Image
import torch
import torchvision.datasets.mnist

OWNERS: tuple[Any, ...] = (
    json, json.encoder, json.JSONEncoder, hashlib, base64, os, np, PIL.Image, torch, torch.Tensor, torch.nn.Module, torch.nn.functional,
    torch.autograd, torch.nn.modules.module, torchvision.datasets.mnist.MNIST,
)  # fmt: skip


class Snapshot:
    """Callables by owner and name, with their code."""

    def __init__(self) -> None:
        """Take it now."""
        self._seen: list[tuple[Any, str, Any, Any]] = []
        for owner in OWNERS:
            for name, value in list(vars(owner).items()):
                if callable(value) and not isinstance(value, type):
                    self._seen.append((owner, name, value, getattr(value, "__code__", None)))

    def changed(self) -> str | None:
        """The first name that no longer means what it meant, or None."""
        for owner, name, value, code in self._seen:
            now = vars(owner).get(name)
            if now is not value or getattr(now, "__code__", None) is not code:
                return f"{getattr(owner, '__name__', owner)}.{name} was replaced"
        return None

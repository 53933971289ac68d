"""The autograd graph of the returned model as a picture: DOT text by torchviz in the child, drawn by Graphviz's `dot` in the parent."""

from __future__ import annotations

import shutil
import subprocess
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from torch import nn

NO_DOT = (
    "Graphviz's `dot` is not installed, so the autograd graph was kept as text ({file}). "
    "To have it drawn: apt install graphviz, brew install graphviz, or winget install graphviz."
)
SECONDS = 60


def autograd_graph(model: nn.Module, batch: torch.Tensor, device: str) -> dict[str, Any]:
    """DOT text of the graph from the scores of a small batch back to the parameters (child side; torchviz 0.0.3 warns about distutils)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from torchviz import make_dot

    model.train()
    return {"dot": str(make_dot(model(batch.to(device)), params=dict(model.named_parameters())).source)}


def draw(dot: str, folder: Path) -> str | None:
    """Write autograd.gv and, where `dot` exists, autograd.svg.  Returns a line for the user if nothing could be drawn."""
    file = folder / "autograd.gv"
    file.write_text(dot, encoding="utf-8")
    program = shutil.which("dot")
    if program is None:
        return NO_DOT.format(file=file)
    try:
        subprocess.run([program, "-Tsvg", "-o", str(folder / "autograd.svg"), str(file)], check=True, capture_output=True, timeout=SECONDS)  # noqa: S603 - our own program and file names
    except (OSError, subprocess.SubprocessError) as error:
        return f"Graphviz's dot could not draw {file} ({type(error).__name__}); the graph is kept there as text."
    return None

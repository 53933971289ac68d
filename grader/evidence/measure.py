"""The parent's own measurement: scores from the child, labels that the child never had."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.data.heldout import load_heldout
from grader.data.idx import read_idx

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray


def read_labels(data_dir: Path) -> dict[str, NDArray[np.uint8]]:
    """Labels of the held-out and the validation images. To be called before a submission runs."""
    raw = data_dir / "MNIST" / "raw" / "t10k-labels-idx1-ubyte"
    return {"heldout": load_heldout()[1], "validation": read_idx(raw if raw.exists() else raw.with_name(raw.name + ".gz"))}


def measure(logits: dict[str, NDArray[np.float32]], known: dict[str, NDArray[np.uint8]]) -> tuple[dict[str, float], dict[str, float]]:
    """Accuracy and cross-entropy of each set of scores; scores that are not finite score nothing."""
    import numpy as np

    accuracies: dict[str, float] = {}
    losses: dict[str, float] = {}
    for name, z in logits.items():
        labels = known[name][: len(z)].astype(np.int64)
        if len(labels) != len(z) or not len(z):
            continue
        wide = z.astype(np.float64)
        if not np.isfinite(wide).all():
            accuracies[name] = 0.0
            continue
        accuracies[name] = float((wide.argmax(axis=1) == labels).mean())
        shifted = wide - wide.max(axis=1, keepdims=True)
        picked = np.take_along_axis(shifted, labels[:, None], axis=1)[:, 0]
        losses[name] = float((np.log(np.exp(shifted).sum(axis=1)) - picked).mean())
    return accuracies, losses

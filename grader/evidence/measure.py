"""The parent's own measurement: scores from the child, labels that the child never had."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.data.heldout import load_heldout
from grader.data.idx import read_idx
from grader.evidence.recognise import Known

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray


def _read(data_dir: Path, name: str) -> NDArray[np.uint8]:
    """One of MNIST's files, packed or not."""
    raw = data_dir / "MNIST" / "raw" / name
    return read_idx(raw if raw.exists() else raw.with_name(raw.name + ".gz"))


def read_labels(data_dir: Path) -> dict[str, NDArray[np.uint8]]:
    """Labels of the held-out and the validation images. To be called before a submission runs."""
    return {"heldout": load_heldout()[1], "validation": _read(data_dir, "t10k-labels-idx1-ubyte")}


def read_known(data_dir: Path) -> Known:
    """The images that training and validation may show. To be called before a submission runs."""
    import numpy as np

    parts = [(_read(data_dir, f"{part}-images-idx3-ubyte"), _read(data_dir, f"{part}-labels-idx1-ubyte")) for part in ("train", "t10k")]
    return Known(np.concatenate([images for images, _ in parts]), np.concatenate([labels for _, labels in parts]), len(parts[0][0]))


def _binary(z: NDArray[np.float32], labels: NDArray[np.int64]) -> float:
    """Balanced accuracy (the mean of both classes' recall) of scores (N, 2) = (0, z): z above 0, or above 0.5 where every z is a probability."""
    score = z[:, 1] - z[:, 0]
    said = score > (0.5 if 0 <= score.min() <= score.max() <= 1 else 0.0)
    return float(sum((said[labels == kind] == bool(kind)).mean() for kind in (0, 1)) / 2)


def measure(
    logits: dict[str, NDArray[np.float32]], known: dict[str, NDArray[np.uint8]], positive: int | None = None
) -> tuple[dict[str, float], dict[str, float]]:
    """Accuracy and cross-entropy of each set of scores; scores that are not finite score nothing.

    positive: the digit of a binary head, whose accuracy is balanced.
    """
    import numpy as np

    accuracies: dict[str, float] = {}
    losses: dict[str, float] = {}
    for name, z in logits.items():
        labels = known[name][: len(z)].astype(np.int64)
        labels = labels if positive is None else (labels == positive).astype(np.int64)
        if len(labels) != len(z) or not len(z):
            continue
        wide = z.astype(np.float64)
        if not np.isfinite(wide).all():
            accuracies[name] = 0.0
            continue
        accuracies[name] = float((wide.argmax(axis=1) == labels).mean()) if positive is None else _binary(z, labels)
        shifted = wide - wide.max(axis=1, keepdims=True)
        picked = np.take_along_axis(shifted, labels[:, None], axis=1)[:, 0]
        losses[name] = float((np.log(np.exp(shifted).sum(axis=1)) - picked).mean())
    return accuracies, losses


def confusions(logits: dict[str, NDArray[np.float32]], known: dict[str, NDArray[np.uint8]]) -> dict[str, NDArray[np.int64]]:
    """For each set of ten scores an image: how often digit i (row) got its largest score in column j, (10, 10)."""
    import numpy as np

    found: dict[str, NDArray[np.int64]] = {}
    for name, z in logits.items():
        if z.ndim == 2 and z.shape[1] == 10 and np.isfinite(z).all():
            table = np.zeros((10, 10), dtype=np.int64)
            np.add.at(table, (known[name][: len(z)].astype(np.int64), z.argmax(axis=1)), 1)
            found[name] = table
    return found

"""The held-out images: the grader's own 1,000, in neither set of the course, and shown in a fresh disguise each run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grader.data.idx import IdxError, read_idx
from grader.data.root import DataError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_FOLDER = Path(__file__).resolve().parents[1] / "heldout"
_COUNT = 1000
_OFFSETS = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))  # (dx, dy); diagonals would cost 2 to 4 points more
_WHITEST = 255
_MAX_NOISE = 3  # grey levels


def load_heldout() -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Return the held-out images, uint8 of shape (1000, 28, 28), grey levels 0 to 255, and labels, uint8 of (1000,).

    They are real MNIST test images, stratified by digit, none of which is in the course's data folder. The full MNIST
    test set does hold them. Both arrays are new on every call.

    Raises DataError if a file of the grader is missing or damaged.
    """
    images = _read("images-idx3-ubyte", (_COUNT, 28, 28))
    return images, _read("labels-idx1-ubyte", (_COUNT,))


def perturb(images: npt.NDArray[np.uint8], seed: int) -> npt.NDArray[np.uint8]:
    """Return a disguised copy of images, uint8 of shape (N, 28, 28): same digits, other bytes, all fixed by the seed.

    Each image stays or moves by one pixel to the right, left, bottom or top, drawn evenly; what comes in from the edge
    is 0. Then every pixel that is not 0 changes by 1, 2 or 3 grey levels, up or down, and stays within 1 to 255; paper
    stays 0.

    Why: the held-out images are in a public repository and in the public MNIST test set. A submission could carry a
    table from image to digit and score 100 % without a model. With a seed of the run's own, no entry of such a table
    matches: four images in five have moved, and moving them back does not restore the bytes, because of the noise.
    This stops tables, not cleverness: a nearest-neighbour search over remembered images still finds its image, as it
    would on any test set that is public.

    The price, measured after two epochs on the embedded subset, is accuracy: a small convolutional network loses about
    2 points of 95, a one-hidden-layer network 5 of 94, a linear model 6 of 91; from seed to seed of the disguise the
    result varies by 0.4 to 0.8 points (standard deviation). Thresholds must be calibrated on disguised images.

    Raises ValueError if images is not a uint8 array of shape (N, 28, 28).
    """
    import numpy as np

    if images.dtype != np.uint8 or images.shape[1:] != (28, 28):
        raise ValueError(f"expected uint8 images of shape (N, 28, 28), got {images.dtype} of shape {images.shape}")
    rng = np.random.default_rng(seed)
    which = rng.integers(len(_OFFSETS), size=len(images))
    shifted = np.zeros_like(images)
    for number, (dx, dy) in enumerate(_OFFSETS):
        chosen = which == number
        shifted[chosen, _target(dy), _target(dx)] = images[chosen, _target(-dy), _target(-dx)]
    noise = rng.integers(1, _MAX_NOISE + 1, size=images.shape, dtype=np.int16)
    noise *= rng.choice(np.array([-1, 1], dtype=np.int16), size=images.shape)
    up = shifted + noise  # int16: cannot wrap round
    inside = (up >= 1) & (up <= _WHITEST)
    noisy = np.where(inside, up, shifted - noise)  # mirrored at black and white, so that every inked pixel changes
    return np.where(shifted == 0, 0, noisy).astype(np.uint8)


def _target(offset: int) -> slice:
    """Return the rows (or columns) that a shift by offset fills; those of -offset are where they come from."""
    return slice(max(offset, 0), 28 + min(offset, 0))


def _read(name: str, shape: tuple[int, ...]) -> npt.NDArray[np.uint8]:
    path = _FOLDER / name
    command = "git checkout -- grader/heldout (or install the course anew)"
    try:
        array = read_idx(path)
    except (IdxError, OSError) as error:
        raise DataError(f"{path}\n  expected: shape {shape}\n  found: {error}\n  next: {command}") from error
    if array.shape != shape:
        raise DataError(f"{path}\n  expected: shape {shape}\n  found: shape {array.shape}\n  next: {command}")
    return array

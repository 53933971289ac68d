"""Which image of the data set does a recorded model input show?

First by bytes: a row that was only scaled, shifted in brightness or normalised has, scaled by its own extremes, the bytes of its image. What is
left is matched by a picture of the ink alone: sampled on a grid around the ink's centre of mass, as wide as the ink is spread (Hu's moment
normalisation, 1962), so that shifts, padding, resizing and changes of intensity cancel out; then by the largest cosine, where that is not
decisive also with a grid over the ink's bounding box (stretched crops), and with the grid turned by a few degrees.
"""

from __future__ import annotations

import base64
import math
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

GRID, REACH, INK = 14, 2.2, 0.2
"""Points a side; how far the grid reaches in multiples of the ink's spread (root of its second moment); the grey that counts as ink in a box."""
SURE, CLEAR, ALIKE = 0.9, 0.6, 0.6
"""Least cosine for "this very image"; most that its distance (1 - cosine) may be of the runner-up's (Lowe's ratio test, 2004); least for
"this digit"."""
ANGLES = (-20.0, -15.0, -10.0, -5.0, 5.0, 10.0, 15.0, 20.0)
CHUNK, MOST, TURNED = 1000, 12_000, 1_500
"""Rows that are compared at a time; most that are compared; most of those with a turned grid."""


@dataclass(frozen=True)
class Known:
    """The data set: images (n, 28, 28), the training images first; labels (n,); train: the number of training images."""

    images: NDArray[np.uint8]
    labels: NDArray[np.uint8]
    train: int


def unpack_rows(records: Sequence[dict[str, Any]]) -> list[NDArray[np.uint8]]:
    """The recorded rows (C, h, w), in the order of their numbers.  Raises ValueError where a record contradicts itself."""
    import numpy as np

    rows: list[NDArray[np.uint8]] = []
    for record in records:
        shape = (int(record["count"]), *(int(n) for n in record["size"]))
        data = zlib.decompress(base64.b64decode(record["data"]), bufsize=math.prod(shape))
        rows.extend(np.frombuffer(data, dtype=np.uint8).reshape(shape))
    return rows


def stretched(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Images (n, h, w), each scaled to 0..255 by its own extremes, as the recorder does it."""
    import numpy as np

    wide = images.astype(np.float32)
    low, high = wide.min(axis=(1, 2), keepdims=True), wide.max(axis=(1, 2), keepdims=True)
    scaled: NDArray[np.uint8] = np.rint((wide - low) * (255.0 / np.maximum(high - low, 1e-12))).astype(np.uint8)
    return scaled


def _frames(x: NDArray[np.float32], *, box: bool) -> tuple[NDArray[np.float32], ...]:
    """Centre and half-size (y, x, height, width) of the window that the grid covers: by moments, or the bounding box of the ink."""
    import numpy as np

    _, height, width = x.shape
    ys, xs = np.arange(height, dtype=np.float32), np.arange(width, dtype=np.float32)
    if box:
        down, across = x.max(axis=2) > INK, x.max(axis=1) > INK
        top, left = down.argmax(axis=1), across.argmax(axis=1)
        bottom, right = height - down[:, ::-1].argmax(axis=1), width - across[:, ::-1].argmax(axis=1)
        edges = (top + bottom - 1) / 2, (left + right - 1) / 2, (bottom - top) / 2, (right - left) / 2
        return tuple(edge.astype(np.float32) for edge in edges)
    mass = np.maximum(x.sum(axis=(1, 2)), 1e-6)
    cy, cx = (x.sum(axis=2) @ ys) / mass, (x.sum(axis=1) @ xs) / mass
    square = ((x.sum(axis=2) * (ys - cy[:, None]) ** 2).sum(axis=1) + (x.sum(axis=1) * (xs - cx[:, None]) ** 2).sum(axis=1)) / mass
    spread = np.sqrt(np.maximum(square, 1e-6)) * REACH
    return cy, cx, spread, spread


def portraits(images: NDArray[np.uint8], degrees: float = 0.0, *, box: bool = False) -> NDArray[np.float32]:
    """Images (n, h, w) -> unit vectors (n, GRID * GRID) that describe the ink: their product compares two images.

    degrees: how far the grid is turned; box: stretch it over the ink's bounding box.
    """
    import numpy as np

    x = images.astype(np.float32) / 255.0
    dark = np.median(x.reshape(len(x), -1), axis=1) > 0.5  # ink on white paper
    if not box:
        x[dark] = 1.0 - x[dark]  # a tight crop may well be more than half ink
    n, height, width = x.shape
    cy, cx, high, wide = _frames(x, box=box)
    steps = np.linspace(-1.0, 1.0, GRID, dtype=np.float32)
    turn = math.radians(degrees)
    down, across = np.repeat(steps, GRID), np.tile(steps, GRID)
    py = cy[:, None] + high[:, None] * (math.cos(turn) * down + math.sin(turn) * across)
    px = cx[:, None] + wide[:, None] * (math.cos(turn) * across - math.sin(turn) * down)
    padded = np.pad(x, ((0, 0), (1, 2), (1, 2)))
    py, px = np.clip(py, -1.0, height) + 1.0, np.clip(px, -1.0, width) + 1.0
    y0, x0 = py.astype(np.int64), px.astype(np.int64)
    fy, fx = py - y0, px - x0
    who = np.arange(n)[:, None]
    top = padded[who, y0, x0] * (1 - fx) + padded[who, y0, x0 + 1] * fx
    low = padded[who, y0 + 1, x0] * (1 - fx) + padded[who, y0 + 1, x0 + 1] * fx
    vectors = top * (1 - fy) + low * fy
    vectors -= vectors.mean(axis=1, keepdims=True)
    unit: NDArray[np.float32] = (vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)).astype(np.float32)
    return unit


@dataclass(frozen=True)
class Recognised:
    """For each row: the number of the image it shows (-1: none for sure), the digit (-1: none), and the cosine of the best match.

    A row that was byte by byte an image has cosine 1; one that was not compared, as there were too many, has cosine NaN.
    """

    index: NDArray[np.int64]
    digit: NDArray[np.int64]
    match: NDArray[np.float32]


def recognise(rows: Sequence[NDArray[np.uint8]], known: Known) -> Recognised:
    """Say of each row which image of the data set it shows."""
    import numpy as np

    near = Nearest(len(rows))
    exact = {image.tobytes(): number for number, image in enumerate(stretched(known.images))}
    for number, row in enumerate(rows):
        near.best[number] = exact.get(row.tobytes(), -1)
    near.match[near.best >= 0] = 1.0
    left = np.flatnonzero(near.best < 0)
    if len(left):
        theirs = portraits(known.images).T
        _compare(rows, _some(left, MOST * MOST // len(known.images)), theirs, near)
        left = left[~near.sure()[left]]
        _compare(rows, _some(left, MOST * MOST // len(known.images)), portraits(known.images, box=True).T, near, box=True)
        left = _some(left[~near.sure()[left]], TURNED)
        for degrees in ANGLES:
            _compare(rows, left, theirs, near, degrees)
    digit = np.where(near.match >= ALIKE, known.labels[near.best].astype(np.int64), -1)
    return Recognised(np.where(near.sure(), near.best, -1), digit, near.match)


class Nearest:
    """The best match of each row so far: the image's number, its cosine, and the best cosine of any other image."""

    def __init__(self, count: int) -> None:
        """Nothing compared yet."""
        import numpy as np

        self.best = np.full(count, -1, dtype=np.int64)
        self.match = np.full(count, np.nan, dtype=np.float32)
        self.rival = np.full(count, -1.0, dtype=np.float32)

    def sure(self) -> NDArray[np.bool_]:
        """Which rows show their best match and no other image."""
        found: NDArray[np.bool_] = (self.match >= SURE) & (1.0 - self.match <= CLEAR * (1.0 - self.rival))
        return found

    def add(self, rows: NDArray[np.int64], cosine: NDArray[np.float32]) -> None:
        """Take in a comparison of some rows with every image, (len(rows), n)."""
        import numpy as np

        everyone = np.arange(len(rows))
        nearest = cosine.argmax(axis=1)
        found = cosine[everyone, nearest].copy()
        cosine[everyone, nearest] = -1.0
        second = cosine.max(axis=1)
        before, known = self.match[rows], self.best[rows]
        better = ~(found <= before)
        other = np.where(nearest == known, -1.0, np.where(better, np.nan_to_num(before, nan=-1.0), found))
        self.rival[rows] = np.maximum.reduce([self.rival[rows], second, other])
        self.best[rows] = np.where(better, nearest, known)
        self.match[rows] = np.where(better, found, before)


def _some(numbers: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Every number, or every second, third, ... so that at most `most` are left."""
    return numbers[:: max(1, -(-len(numbers) // max(most, 1)))]


def _compare(
    rows: Sequence[NDArray[np.uint8]],
    numbers: NDArray[np.int64],
    theirs: NDArray[np.float32],
    near: Nearest,
    degrees: float = 0.0,
    *,
    box: bool = False,
) -> None:
    """Compare some rows with every image, theirs (GRID * GRID, n)."""
    import numpy as np

    for start in range(0, len(numbers), CHUNK):
        part = numbers[start : start + CHUNK]
        for size in {rows[i].shape for i in part}:
            same = np.array([i for i in part if rows[i].shape == size])
            near.add(same, portraits(np.stack([rows[i] for i in same]), degrees, box=box) @ theirs)

"""Images are recognised in model inputs whatever an honest pipeline did to them, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torchvision.transforms.v2 import InterpolationMode
from torchvision.transforms.v2 import functional as T  # noqa: N812

from grader.evidence.measure import read_known
from grader.evidence.recognise import Known, recognise, stretched

KNOWN = read_known(Path(__file__).resolve().parents[2] / "datasets")
NUMBERS = np.arange(0, len(KNOWN.images), 97)
IMAGES = torch.from_numpy(KNOWN.images[NUMBERS].copy())[:, None].float() / 255


def rows(change):
    """What the recorder would keep of changed images."""
    changed = [change(image)[0] for image in IMAGES]
    return [stretched(((c - c.min()) / (c.max() - c.min()) * 255).round().to(torch.uint8).numpy()[None])[0] for c in changed]


def box(image):
    """The ink's bounding box, stretched to 20 x 20."""
    ink = image[0] > 50 / 255
    down, across = ink.any(dim=1).nonzero(), ink.any(dim=0).nonzero()
    return T.resize(image[:, down.min() : down.max() + 1, across.min() : across.max() + 1], [20, 20], antialias=True)


CHANGES = {
    "normalised": (lambda i: (i - 0.13) / 0.31, 1.0),
    "inverted": (lambda i: 1 - i, 0.99),
    "padded": (lambda i: T.pad(i, [2, 2]), 0.99),
    "enlarged": (lambda i: T.resize(i, [32, 32]), 0.97),
    "shifted": (lambda i: T.affine(i, 0, [2, -2], 1, [0]), 0.97),
    "turned": (lambda i: T.rotate(i, 10, interpolation=InterpolationMode.BILINEAR), 0.85),
    "cut to the ink and stretched": (box, 0.8),
}


@pytest.mark.parametrize("name", CHANGES)
def test_an_image_is_recognised_after(name):
    change, least = CHANGES[name]
    found = recognise(rows(change), KNOWN)
    assert (found.index == NUMBERS).mean() >= least
    assert (found.digit == KNOWN.labels[NUMBERS]).mean() > 0.98
    assert ((found.index >= 0) & (found.index != NUMBERS)).mean() < 0.08  # thin digits look alike once they are turned


def test_a_normalised_image_is_recognised_byte_by_byte():
    assert recognise(rows(lambda i: (i - 0.5) / 0.25), KNOWN).match.tolist() == [1.0] * len(NUMBERS)


@pytest.mark.parametrize("change", [lambda i: i.flip(-1), torch.rand_like], ids=["mirrored", "noise"])
def test_what_shows_no_image_is_not_recognised(change):
    torch.manual_seed(0)
    found = recognise(rows(change), KNOWN)
    symmetric = np.isin(KNOWN.labels[NUMBERS], [0, 1, 8])
    assert (found.index[~symmetric] >= 0).mean() < 0.05


def test_no_rows_are_recognised_as_nothing():
    found = recognise([], Known(KNOWN.images[:10], KNOWN.labels[:10], 5))
    assert [len(found.index), len(found.digit), len(found.match)] == [0, 0, 0]

"""The held-out images are what they claim, and their disguise leaves the digit and takes away the bytes."""

from pathlib import Path

import numpy as np
import pytest

from grader.data import heldout
from grader.data.heldout import load_heldout, perturb
from grader.data.root import DataError

SHIFTS = [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)]


def shift(image: np.ndarray, dx: int, dy: int) -> np.ndarray:
    """Shift one image, zero-filled, in the plainest way: pixel by pixel."""
    moved = np.zeros_like(image)
    for y in range(28):
        for x in range(28):
            if 0 <= y + dy < 28 and 0 <= x + dx < 28:
                moved[y + dy, x + dx] = image[y, x]
    return moved


def ink(images: np.ndarray) -> np.ndarray:
    """Return images of three random strokes each, with ink on the border and at both ends of the scale."""
    rng = np.random.default_rng(3)
    return np.where(rng.random(images.shape) < 0.2, rng.choice([1, 2, 128, 254, 255], images.shape), 0).astype(np.uint8)


def test_shapes_types_and_digits() -> None:
    images, labels = load_heldout()

    assert images.shape == (1000, 28, 28)
    assert labels.shape == (1000,)
    assert images.dtype == labels.dtype == np.uint8
    assert sorted(set(labels.tolist())) == list(range(10))


def test_every_call_returns_arrays_of_its_own() -> None:
    load_heldout()[0][:] = 0

    assert load_heldout()[0].any()


@pytest.mark.parametrize(("seed", "other"), [(0, 1), (12345, 12346)])
def test_the_seed_fixes_the_disguise(seed: int, other: int) -> None:
    images, _ = load_heldout()
    before = images.copy()

    disguised = perturb(images, seed)

    assert np.array_equal(disguised, perturb(images, seed))
    assert not np.array_equal(disguised, perturb(images, other))
    assert np.array_equal(images, before)
    assert disguised.dtype == np.uint8


def test_a_table_of_remembered_images_is_worth_nothing() -> None:
    images, _ = load_heldout()
    table = {image.tobytes() for image in images}

    for seed in range(3):
        assert not any(image.tobytes() in table for image in perturb(images, seed))


def test_moving_back_does_not_restore_the_bytes() -> None:
    images, _ = load_heldout()
    images = images[:100]
    table = {shift(image, dx, dy).tobytes() for image in images for dx, dy in SHIFTS}

    assert not any(image.tobytes() in table for image in perturb(images, 5))


def test_each_image_is_a_shift_by_a_pixel_with_a_little_noise() -> None:
    images = ink(np.zeros((200, 28, 28)))

    used = set()
    for image, disguised in zip(images, perturb(images, 7), strict=True):
        fits = [step for step in SHIFTS if np.array_equal(shift(image, *step) > 0, disguised > 0)]
        assert len(fits) == 1  # the paper is that of exactly one shift
        changes = np.abs(shift(image, *fits[0]).astype(int) - disguised)[disguised > 0]
        assert set(changes.tolist()) == {1, 2, 3}  # every inked pixel changes, black and white ones too
        used.add(fits[0])
    assert used == set(SHIFTS)


def test_empty_paper_and_no_image_at_all() -> None:
    assert not perturb(np.zeros((4, 28, 28), dtype=np.uint8), 0).any()
    assert perturb(np.zeros((0, 28, 28), dtype=np.uint8), 0).shape == (0, 28, 28)


@pytest.mark.parametrize("images", [np.zeros((2, 28, 28)), np.zeros((28, 28), np.uint8), np.zeros((2, 1, 28, 28), np.uint8)])
def test_other_arrays_are_refused(images: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"expected uint8 images of shape \(N, 28, 28\), got"):
        perturb(images, 0)


@pytest.mark.parametrize("content", [None, b"", bytes([0, 0, 8, 1, 0, 0, 0, 2, 1, 1])])
def test_damaged_files_of_ours_name_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None) -> None:
    monkeypatch.setattr(heldout, "_FOLDER", tmp_path)
    if content is not None:
        (tmp_path / "images-idx3-ubyte").write_bytes(content)

    with pytest.raises(DataError, match=r"(?s)images-idx3-ubyte.*\(1000, 28, 28\).*next: git checkout -- grader/heldout"):
        load_heldout()

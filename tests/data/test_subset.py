"""The files that come with the course are what datasets/README.md says, and the script that drew them is sound."""

import gzip
import hashlib
import importlib.util
import re
import shutil
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from grader.data.heldout import load_heldout
from grader.data.idx import IdxError, read_idx, write_idx
from grader.data.root import FULL_SET_MD5, read_checksums

COURSE_ROOT = Path(__file__).resolve().parents[2]
DATASETS = COURSE_ROOT / "datasets"
RAW = DATASETS / "MNIST" / "raw"
README = (DATASETS / "README.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\S+-ubyte) \| (\d+) \| ([0-9a-f]{32}) \| ([0-9a-f]{64}) \|$", re.MULTILINE)

# digits 0 to 9 in the original sets
TRAIN_COUNTS = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
TEST_COUNTS = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_subset", DATASETS / "make_subset.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of four small 'originals', whose MD5 count as published during the test."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "originals"
    folder.mkdir()
    for part, count in (("train", 600), ("t10k", 400)):
        images, labels = folder / f"{part}-images-idx3-ubyte", folder / f"{part}-labels-idx1-ubyte"
        write_idx(images, rng.integers(256, size=(count, 28, 28), dtype=np.uint8))
        write_idx(labels, rng.integers(10, size=count, dtype=np.uint8))
        for path in (images, labels):
            monkeypatch.setitem(FULL_SET_MD5, path.name, hashlib.md5(path.read_bytes()).hexdigest())
    return folder


def draw_into(root: Path, script: ModuleType, source: Path) -> dict[str, bytes]:
    (root / "datasets").mkdir(parents=True)
    shutil.copy(DATASETS / "README.md", root / "datasets")
    script.make(source, root)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_the_table_of_the_readme_is_true() -> None:
    rows = ROW.findall(README)

    assert len(rows) == 6
    for name, size, md5, sha256 in rows:
        content = (COURSE_ROOT / name).read_bytes()
        found = str(len(content)), hashlib.md5(content).hexdigest(), hashlib.sha256(content).hexdigest()
        assert (size, md5, sha256) == found, name


def test_the_checksum_file_agrees_with_the_table() -> None:
    rows = {name.rpartition("/")[2]: sha256 for name, _, _, sha256 in ROW.findall(README) if name.startswith("datasets")}

    assert rows == read_checksums(DATASETS)
    assert len(rows) == 4


def test_the_moments_of_the_readme_are_true() -> None:
    pixels = read_idx(RAW / "train-images-idx3-ubyte") / 255

    assert f"mean {pixels.mean():.4f}, standard deviation {pixels.std():.4f}." in README


@pytest.mark.parametrize(
    ("labels", "size", "original"),
    [
        (RAW / "train-labels-idx1-ubyte", 10_000, TRAIN_COUNTS),
        (RAW / "t10k-labels-idx1-ubyte", 2_000, TEST_COUNTS),
        (COURSE_ROOT / "grader" / "heldout" / "labels-idx1-ubyte", 1_000, TEST_COUNTS),
    ],
)
def test_each_part_is_stratified_and_mixed(labels: Path, size: int, original: list[int]) -> None:
    digits = read_idx(labels)

    assert len(digits) == size
    for digit, count in enumerate(np.bincount(digits, minlength=10)):
        assert abs(count - original[digit] * size / sum(original)) < 1
    equal = sum(a == b for a, b in pairwise(digits.tolist())) / size
    assert 0.05 < equal < 0.15  # about a tenth of the neighbours are alike; in sorted digits nearly all are


def test_no_image_occurs_twice_anywhere() -> None:
    train, test = read_idx(RAW / "train-images-idx3-ubyte"), read_idx(RAW / "t10k-images-idx3-ubyte")
    heldout, _ = load_heldout()

    everything = [image.tobytes() for part in (train, test, heldout) for image in part]

    assert len(everything) == 13_000
    assert len(set(everything)) == 13_000


def test_quotas_are_exact_shares_rounded(script: ModuleType) -> None:
    labels = np.repeat(np.arange(10, dtype=np.uint8), [5, 1, 1, 1, 1, 1, 1, 1, 1, 1])

    assert script.quotas(labels, 14) == [5, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    assert script.quotas(labels, 7) == [3, 1, 1, 1, 1, 0, 0, 0, 0, 0]  # 2.5 and 0.5: ties go to the lower digit


def test_a_draw_keeps_the_order_and_loses_nothing(script: ModuleType) -> None:
    labels = np.tile(np.arange(10, dtype=np.uint8), 5)
    order = script.shuffled(50, 0)

    chosen, rest = script.draw(labels, order, [2] * 10)

    assert np.bincount(labels[chosen]).tolist() == [2] * 10
    assert sorted([*chosen, *rest]) == list(range(50))
    position = {index: place for place, index in enumerate(order)}
    for part in (chosen, rest):
        assert [position[index] for index in part] == sorted(position[index] for index in part)


def test_the_order_does_not_depend_on_the_version_of_numpy(script: ModuleType) -> None:
    assert script.shuffled(8, 0).tolist() == [4, 1, 7, 5, 6, 0, 3, 2]
    assert script.shuffled(8, 1).tolist() != [4, 1, 7, 5, 6, 0, 3, 2]


def test_the_same_source_gives_the_same_bytes(script: ModuleType, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "SIZES", (100, 50, 30))
    first = draw_into(tmp_path / "first", script, source)
    for path in list(source.iterdir()):  # the same originals, packed
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()

    assert first == draw_into(tmp_path / "second", script, source)
    assert len(first) == 8  # 6 data files, SHA256SUMS, README
    assert first["datasets/README.md"] != README.encode()


def test_another_source_is_refused(script: ModuleType, source: Path, tmp_path: Path) -> None:
    path = source / "t10k-labels-idx1-ubyte"
    path.write_bytes(path.read_bytes()[:-1] + b"\x63")

    with pytest.raises(IdxError, match="t10k-labels-idx1-ubyte: expected content of MD5"):
        draw_into(tmp_path / "out", script, source)


def test_repeated_images_are_refused(script: ModuleType) -> None:
    part = script.Part(np.zeros((2, 28, 28), dtype=np.uint8), np.zeros(2, dtype=np.uint8))

    with pytest.raises(ValueError, match="1 images occur more than once"):
        script.check_distinct(part)

"""Whether a folder is a data folder that `torchvision.datasets.MNIST` can read.

torchvision itself accepts any folder in which the four files `MNIST/raw/*-ubyte` *exist*: its constructor looks at
neither their size nor their checksum, and only then fails, far away, with a bare assertion or a shape error - or does
not fail, when there are more labels than images. It also prefers an old `MNIST/processed/*.pt` pair to all four. So
the course looks first, and says what to do.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from grader.data.idx import IdxError, read_idx, read_shape

if TYPE_CHECKING:
    from pathlib import Path

TRAIN_IMAGES = "train-images-idx3-ubyte"
TRAIN_LABELS = "train-labels-idx1-ubyte"
TEST_IMAGES = "t10k-images-idx3-ubyte"
TEST_LABELS = "t10k-labels-idx1-ubyte"

FULL_SET_MD5 = {
    TRAIN_IMAGES: "6bbc9ace898e44ae57da46a324031adb",
    TRAIN_LABELS: "a25bea736e30d166cdddb491f175f624",
    TEST_IMAGES: "2646ac647ad5339dbf082846283269ea",
    TEST_LABELS: "27ae3e4e09519cfbb04c329615203637",
}
"""MD5 of the uncompressed originals, as public code has quoted them ever since the data were released."""

CHECKSUMS = "SHA256SUMS"
"""A data folder that holds a file of this name is the embedded one (or a copy): its files must match it."""

_SIDE = 28  # pixels


class DataError(Exception):
    """A data folder cannot be used. The message names the file, what was expected, what was found, what to do next."""


def raw_folder(data_dir: Path) -> Path:
    """Return the folder in which torchvision looks for the four files of a data folder."""
    return data_dir / "MNIST" / "raw"


def find_embedded_root(course_root: Path) -> Path:
    """Return the data folder that comes with the course, `course_root/datasets`; its files are not checked here.

    Raises DataError if the course has none.
    """
    data_dir = course_root / "datasets"
    if not raw_folder(data_dir).is_dir():
        raise _refusal(raw_folder(data_dir), "the embedded images of the course", "no such folder", _restore())
    return data_dir


def check_root(data_dir: Path) -> None:
    """Check that torchvision would read whole and consistent MNIST files from a data folder, full set or subset.

    The four files must be there, be IDX files of the right shape - images (N, 28, 28), labels (N,) with digits 0 to 9
    - and of exactly the right size, and agree on N, which must not be 0. The embedded subset (recognised by its
    SHA256SUMS) must match its checksums too. Takes about 10 ms for the subset.

    Raises DataError for the first fault found.
    """
    remedy = _remedy(data_dir)
    raw = raw_folder(data_dir)
    for name in FULL_SET_MD5:
        if not (raw / name).is_file():
            raise _refusal(raw / name, "one of the four MNIST files, unpacked", _look_around(data_dir, name), remedy)
    processed = raw.parent / "processed"
    if (processed / "training.pt").is_file() and (processed / "test.pt").is_file():
        expected = "no such folder: torchvision would read the old files in it instead of MNIST/raw"
        raise _refusal(processed, expected, "training.pt and test.pt", f"remove or rename {processed}")
    try:
        _check_pair(raw / TRAIN_IMAGES, raw / TRAIN_LABELS, remedy)
        _check_pair(raw / TEST_IMAGES, raw / TEST_LABELS, remedy)
    except IdxError as error:
        raise _refusal(error.path, error.expected, error.found, remedy) from error
    except OSError as error:
        raise _refusal(raw, "four readable files", str(error), remedy) from error
    _check_sums(data_dir, remedy)


def _check_pair(images: Path, labels: Path, remedy: str) -> None:
    shape = read_shape(images)
    if len(shape) != 3 or shape[1:] != (_SIDE, _SIDE) or shape[0] == 0:
        raise _refusal(images, f"images of shape (N, {_SIDE}, {_SIDE}), N > 0", f"shape {shape}", remedy)
    if len(read_shape(labels)) != 1:
        raise _refusal(labels, "labels of shape (N,)", f"shape {read_shape(labels)}", remedy)
    digits = read_idx(labels)
    if len(digits) != shape[0]:
        expected = f"{shape[0]:,} labels, one for each image of {images.name}"
        raise _refusal(labels, expected, f"{len(digits):,}", remedy)
    if digits.max() > 9:
        raise _refusal(labels, "digits from 0 to 9", f"{digits.max()}", remedy)


def _check_sums(data_dir: Path, remedy: str) -> None:
    for name, expected in read_checksums(data_dir).items():
        path = raw_folder(data_dir) / name
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != expected:
            raise _refusal(path, f"SHA-256 {expected}, as {CHECKSUMS} says", found, remedy)


def read_checksums(data_dir: Path) -> dict[str, str]:
    """Return the SHA-256, in lower-case hex, of each MNIST file that `data_dir/SHA256SUMS` lists, by file name.

    Empty if there is no such file. Lines are as `sha256sum` writes them, with paths relative to the data folder.
    """
    path = data_dir / CHECKSUMS
    if not path.is_file():
        return {}
    sums = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        digest, _, name = line.partition(" ")
        folder, _, file = name.lstrip(" *").rpartition("/")
        if folder == "MNIST/raw" and file in FULL_SET_MD5:
            sums[file] = digest.lower()
    return sums


def _look_around(data_dir: Path, name: str) -> str:
    """Say what is there in place of a missing file: most often the data, one folder or one suffix off."""
    raw = raw_folder(data_dir)
    if not data_dir.is_dir():
        return f"no folder {data_dir}"
    for near in (raw / f"{name}.gz", raw / name.replace("-idx", ".idx")):
        if near.is_file():
            return f"{near.name}, which torchvision does not read: unpack or rename it"
    inner = {"MNIST": data_dir.parent, "raw": data_dir.parent.parent}  # the classic slip: given one level too deep
    if data_dir.name in inner and (raw_folder(inner[data_dir.name]) / name).is_file():
        return f"that file in another place: the data folder to give is {inner[data_dir.name]}"
    return "no such file"


def _remedy(data_dir: Path) -> str:
    return _restore() if (data_dir / CHECKSUMS).is_file() else f'python -m grader data "{data_dir}"'


def _restore() -> str:
    return "git checkout -- datasets (or unpack the course anew)"


def _refusal(path: Path, expected: str, found: str, command: str) -> DataError:
    return DataError(f"{path}\n  expected: {expected}\n  found: {found}\n  next: {command}")

"""Good data folders pass; each kind of bad one is refused with the file, the expectation, the finding, the next step."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from grader.data.idx import write_idx
from grader.data.root import DataError, check_root, find_embedded_root

COURSE_ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """Return a small valid data folder in the layout of torchvision, with a space in its name."""
    data_dir = tmp_path / "my data"
    raw = data_dir / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for part, count in (("train", 5), ("t10k", 3)):
        write_idx(raw / f"{part}-images-idx3-ubyte", np.full((count, 28, 28), 7, dtype=np.uint8))
        write_idx(raw / f"{part}-labels-idx1-ubyte", np.arange(count, dtype=np.uint8))
    return data_dir


def refusal(data_dir: Path) -> str:
    with pytest.raises(DataError) as caught:
        check_root(data_dir)
    return str(caught.value)


def add_checksums(data_dir: Path, newline: str = "\n") -> None:
    raw = data_dir / "MNIST" / "raw"
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  MNIST/raw/{path.name}\n" for path in raw.iterdir()]
    (data_dir / "SHA256SUMS").write_text("".join(lines), encoding="utf-8", newline=newline)


def test_a_valid_folder_passes(data_dir: Path) -> None:
    check_root(data_dir)


def test_the_embedded_folder_passes() -> None:
    check_root(find_embedded_root(COURSE_ROOT))


def test_the_embedded_folder_is_what_torchvision_reads() -> None:
    from torchvision.datasets import MNIST

    data_dir = str(find_embedded_root(COURSE_ROOT))

    assert len(MNIST(data_dir, train=True)) == 10_000
    assert len(MNIST(data_dir, train=False)) == 2_000


def test_a_course_without_data_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"(?s)raw.*embedded images.*next: git checkout -- datasets"):
        find_embedded_root(tmp_path)


@pytest.mark.parametrize("name", ["train-images-idx3-ubyte", "t10k-labels-idx1-ubyte"])
def test_a_missing_file(data_dir: Path, name: str) -> None:
    path = data_dir / "MNIST" / "raw" / name
    path.unlink()

    assert refusal(data_dir) == (
        f'{path}\n  expected: one of the four MNIST files, unpacked\n  found: no such file\n  next: python -m grader data "{data_dir}"'
    )


def test_a_missing_folder(tmp_path: Path) -> None:
    assert f"found: no folder {tmp_path / 'nowhere'}\n" in refusal(tmp_path / "nowhere")


@pytest.mark.parametrize("level", ["MNIST", "MNIST/raw"])
def test_a_folder_given_too_deep(data_dir: Path, level: str) -> None:
    assert f"the data folder to give is {data_dir}\n" in refusal(data_dir / level)


@pytest.mark.parametrize("other", ["train-images-idx3-ubyte.gz", "train-images.idx3-ubyte"])
def test_a_file_under_another_name(data_dir: Path, other: str) -> None:
    path = data_dir / "MNIST" / "raw" / "train-images-idx3-ubyte"
    path.rename(path.with_name(other))

    assert f"found: {other}, which torchvision does not read: unpack or rename it" in refusal(data_dir)


def test_a_truncated_file(data_dir: Path) -> None:
    path = data_dir / "MNIST" / "raw" / "t10k-images-idx3-ubyte"
    path.write_bytes(path.read_bytes()[:-1])

    message = refusal(data_dir)

    assert message.startswith(f"{path}\n")
    assert "expected: 2,368 bytes for 3 x 28 x 28 values\n  found: 2,367 bytes: the file is truncated" in message


def test_a_file_of_another_kind(data_dir: Path) -> None:
    path = data_dir / "MNIST" / "raw" / "train-labels-idx1-ubyte"
    path.write_bytes(b"<!DOCTYPE html><title>403</title>")

    assert "found: first bytes 3c 21 44 4f" in refusal(data_dir)


def test_images_and_labels_exchanged(data_dir: Path) -> None:
    raw = data_dir / "MNIST" / "raw"
    shutil.copy(raw / "train-labels-idx1-ubyte", raw / "train-images-idx3-ubyte")

    assert "expected: images of shape (N, 28, 28), N > 0\n  found: shape (5,)" in refusal(data_dir)


def test_labels_of_the_wrong_shape(data_dir: Path) -> None:
    write_idx(data_dir / "MNIST" / "raw" / "train-labels-idx1-ubyte", np.zeros((5, 1), dtype=np.uint8))

    assert "expected: labels of shape (N,)\n  found: shape (5, 1)" in refusal(data_dir)


def test_an_empty_set(data_dir: Path) -> None:
    write_idx(data_dir / "MNIST" / "raw" / "train-images-idx3-ubyte", np.zeros((0, 28, 28), dtype=np.uint8))

    assert "found: shape (0, 28, 28)" in refusal(data_dir)


def test_counts_that_differ(data_dir: Path) -> None:
    write_idx(data_dir / "MNIST" / "raw" / "train-labels-idx1-ubyte", np.zeros(6, dtype=np.uint8))

    assert "expected: 5 labels, one for each image of train-images-idx3-ubyte\n  found: 6" in refusal(data_dir)


def test_labels_that_are_no_digits(data_dir: Path) -> None:
    write_idx(data_dir / "MNIST" / "raw" / "t10k-labels-idx1-ubyte", np.array([0, 10, 3], dtype=np.uint8))

    assert "expected: digits from 0 to 9\n  found: 10" in refusal(data_dir)


def test_old_files_that_torchvision_prefers(data_dir: Path) -> None:
    processed = data_dir / "MNIST" / "processed"
    processed.mkdir()
    (processed / "training.pt").touch()
    check_root(data_dir)  # torchvision ignores one without the other
    (processed / "test.pt").touch()

    assert f"next: remove or rename {processed}" in refusal(data_dir)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_checksums_that_match(data_dir: Path, newline: str) -> None:
    add_checksums(data_dir, newline)

    check_root(data_dir)


def test_one_changed_pixel_in_an_embedded_folder(data_dir: Path) -> None:
    add_checksums(data_dir)
    path = data_dir / "MNIST" / "raw" / "train-images-idx3-ubyte"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)

    message = refusal(data_dir)

    assert message.startswith(f"{path}\n  expected: SHA-256 ")
    assert message.endswith("next: git checkout -- datasets (or unpack the course anew)")


def test_checksums_of_other_files_are_not_ours(data_dir: Path) -> None:
    line = f"{'0' * 64}  MNIST/raw/train-images-idx3-ubyte.gz\n{'0' * 64} *train-images-idx3-ubyte\nnonsense\n"
    (data_dir / "SHA256SUMS").write_text(line, encoding="utf-8")

    check_root(data_dir)


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, grader.data; print(*({'torch', 'torchvision', 'numpy', 'rich'} & set(sys.modules)))"

    done = subprocess.run([sys.executable, "-c", code], cwd=COURSE_ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == ""

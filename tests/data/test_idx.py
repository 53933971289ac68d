"""The reader of IDX files: what it returns, and what it says about files that are none."""

import gzip
import re
from pathlib import Path

import numpy as np
import pytest

from grader.data.idx import IdxError, read_idx, read_shape, write_idx

HEADER = bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3])  # 2 x 3 unsigned bytes


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some-idx2-ubyte"


def test_reads_values_in_row_order(path: Path) -> None:
    path.write_bytes(HEADER + bytes([1, 2, 3, 4, 5, 255]))

    array = read_idx(path)

    assert array.dtype == np.uint8
    assert array.tolist() == [[1, 2, 3], [4, 5, 255]]
    assert read_shape(path) == (2, 3)


def test_the_array_is_writable_and_its_own(path: Path) -> None:
    path.write_bytes(HEADER + bytes(6))

    first = read_idx(path)
    first[0, 0] = 9

    assert read_idx(path)[0, 0] == 0


def test_reads_gzip(tmp_path: Path) -> None:
    path = tmp_path / "some-idx2-ubyte.gz"
    path.write_bytes(gzip.compress(HEADER + bytes(range(6))))

    assert read_idx(path).tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("shape", [(0,), (5,), (2, 3), (2, 28, 28)])
def test_what_is_written_is_read_back(path: Path, shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(0).integers(256, size=shape, dtype=np.uint8)

    write_idx(path, array)

    assert np.array_equal(array, read_idx(path))
    assert array.shape == read_shape(path)


def test_writes_the_format_of_the_definition(path: Path) -> None:
    write_idx(path, np.array([[1, 2, 3], [4, 5, 6]], dtype=np.uint8).T)  # not contiguous

    assert path.read_bytes() == bytes([0, 0, 8, 2, 0, 0, 0, 3, 0, 0, 0, 2, 1, 4, 2, 5, 3, 6])


def test_writes_no_other_type(path: Path) -> None:
    with pytest.raises(ValueError, match="expected a uint8 array of 1 to 3 axes, got int64 of shape"):
        write_idx(path, np.zeros(3, dtype=np.int64))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "expected an IDX file of unsigned bytes (first bytes 00 00 08 and 01, 02 or 03), found 0 bytes in all"),
        (b"<html>404</html>", "found first bytes 3c 68 74 6d"),
        (bytes([0, 0, 13, 2]) + bytes(8), "found first bytes 00 00 0d 02"),  # floats
        (bytes([0, 0, 8, 0]), "found first bytes 00 00 08 00"),
        (bytes([0, 0, 8, 4]) + bytes(16), "found first bytes 00 00 08 04"),
        (HEADER[:7], "expected a header of 12 bytes, found 7 bytes in all"),
        (HEADER + bytes(5), "expected 18 bytes for 2 x 3 values, found 17 bytes: the file is truncated"),
        (HEADER + bytes(7), "expected 18 bytes for 2 x 3 values, found 19 bytes: the file is too long"),
        (gzip.compress(HEADER + bytes(6), mtime=0), "found a gzip archive: unpack it, or let its name end in .gz"),
    ],
)
def test_names_file_expectation_and_finding(path: Path, content: bytes, message: str) -> None:
    path.write_bytes(content)

    for read in (read_idx, read_shape):
        with pytest.raises(IdxError, match=re.escape(message)) as caught:
            read(path)
        assert str(caught.value).startswith(f"{path}: expected ")


def test_an_absurd_header_costs_no_memory(path: Path) -> None:
    path.write_bytes(bytes([0, 0, 8, 3]) + b"\xff" * 12 + bytes(10))

    with pytest.raises(IdxError, match="truncated"):
        read_idx(path)


@pytest.mark.parametrize("content", [b"no archive", gzip.compress(HEADER + bytes(6), mtime=0)[:-9], b""])
def test_a_damaged_archive_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "some-idx2-ubyte.gz"
    path.write_bytes(content)

    with pytest.raises(IdxError, match=re.escape(str(path))):
        read_idx(path)


def test_a_missing_file_is_an_os_error(path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="some-idx2-ubyte"):
        read_idx(path)

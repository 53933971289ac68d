"""IDX, the format of the MNIST files: two zero bytes, a type, the number of axes, the axes, the values.

Numbers in the header are big-endian. MNIST uses one type only, unsigned bytes (0x08), so the values need no byte
order. Format description: the page of the MNIST database by Yann LeCun and Corinna Cortes.
"""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

_UINT8 = 0x08
_MAX_AXES = 3  # torchvision reads no more
_MAX_HEADER = 4 + 4 * _MAX_AXES


class IdxError(ValueError):
    """A file is not the IDX file that it should be.

    The message names the file, what was expected and what was found; the three are attributes too.
    """

    def __init__(self, path: Path, expected: str, found: str) -> None:
        super().__init__(f"{path}: expected {expected}, found {found}")
        self.path = path
        self.expected = expected
        self.found = found


def read_idx(path: Path) -> npt.NDArray[np.uint8]:
    """Read an IDX file of unsigned bytes, plain or, if its name ends in `.gz`, gzip-compressed.

    Returns a new, writable uint8 array of the shape that the header names: (N, 28, 28) grey levels from 0 (paper) to
    255 (ink) for images, (N,) digits for labels.

    Raises IdxError if the content is not such a file or is not as long as its header says, OSError (for example
    FileNotFoundError) if it cannot be read at all.
    """
    import numpy as np

    content = read_content(path)
    shape = _parse_header(path, content[:_MAX_HEADER])
    offset = 4 + 4 * len(shape)
    _check_size(path, shape, len(content))
    return np.frombuffer(content, dtype=np.uint8, offset=offset).reshape(shape).copy()


def read_shape(path: Path) -> tuple[int, ...]:
    """Return the shape that a plain IDX file promises, after checking that the file has exactly the size for it.

    Reads the header only, whatever the size of the file.

    Raises IdxError and OSError as read_idx does.
    """
    with path.open("rb") as stream:
        shape = _parse_header(path, stream.read(_MAX_HEADER))
    _check_size(path, shape, path.stat().st_size)
    return shape


def write_idx(path: Path, array: npt.NDArray[np.uint8]) -> None:
    """Write a uint8 array of one to three axes as a plain IDX file; the same array always gives the same bytes.

    Raises ValueError for another type or number of axes, OSError if the file cannot be written.
    """
    if array.dtype.name != "uint8" or not 1 <= array.ndim <= _MAX_AXES:
        raise ValueError(f"expected a uint8 array of 1 to {_MAX_AXES} axes, got {array.dtype} of shape {array.shape}")
    header = struct.pack(f">HBB{array.ndim}I", 0, _UINT8, array.ndim, *array.shape)
    path.write_bytes(header + array.tobytes())


def read_content(path: Path) -> bytes:
    """Return the uncompressed bytes of a file, plain or `.gz`.

    Raises IdxError for a damaged archive, OSError if the file cannot be read at all.
    """
    content = path.read_bytes()
    if path.suffix != ".gz":
        return content
    try:
        return gzip.decompress(content)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise IdxError(path, "a whole gzip archive", f"a damaged one ({error})") from error


def _parse_header(path: Path, head: bytes) -> tuple[int, ...]:
    expected = "an IDX file of unsigned bytes (first bytes 00 00 08 and 01, 02 or 03)"
    if head[:2] == b"\x1f\x8b":
        raise IdxError(path, expected, "a gzip archive: unpack it, or let its name end in .gz")
    if len(head) < 4:
        raise IdxError(path, expected, f"{len(head)} bytes in all")
    zeros, kind, axes = struct.unpack(">HBB", head[:4])
    if zeros != 0 or kind != _UINT8 or not 1 <= axes <= _MAX_AXES:
        raise IdxError(path, expected, f"first bytes {head[:4].hex(' ')}")
    size = 4 + 4 * axes
    if len(head) < size:
        raise IdxError(path, f"a header of {size} bytes", f"{len(head)} bytes in all")
    return struct.unpack(f">{axes}I", head[4:size])


def _check_size(path: Path, shape: tuple[int, ...], found: int) -> None:
    expected = 4 + 4 * len(shape) + math.prod(shape)
    if found == expected:
        return
    fault = "truncated" if found < expected else "too long"
    axes = " x ".join(str(axis) for axis in shape)
    raise IdxError(path, f"{expected:,} bytes for {axes} values", f"{found:,} bytes: the file is {fault}")

"""Fetch the full MNIST set, for those who want 60,000 images in place of the 10,000 that come with the course.

Everything is fetched into a folder of its own inside the destination, checked against the published MD5, and only then
moved to its place, one whole file at a time: an interrupted download leaves nothing that could be taken for data.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from http.client import HTTPException
from pathlib import Path

from grader.data.idx import IdxError, read_content
from grader.data.root import FULL_SET_MD5, DataError, check_root, raw_folder, read_checksums

_TIMEOUT = 30.0  # seconds without a byte, after which a mirror counts as unreachable

Say = Callable[[str], None]
_say: Say = partial(print, flush=True)


class _NoMirrorError(Exception):
    """No mirror gave a file; the message says, line by line, what each of them answered."""


def download_full(dest: Path, *, say: Say = _say) -> int:
    """Make `dest` a torchvision root with the full MNIST set (60,000 and 10,000 images, 55 MB) and say what happens.

    Files that are already in `dest/MNIST/raw` and right are kept, right `.gz` archives there are unpacked, the rest
    comes from torchvision's mirrors. A valid set of another size is never overwritten, nor is the one that comes with the
    course, damaged or not. On a terminal torchvision shows its progress on stderr; in a pipe there is one line for each file.

    Returns 0 if the full set is there and its checksums are right, 1 if not; what to do about it has then been said.
    Ctrl-C raises KeyboardInterrupt as usual, after the unfinished download has been removed.
    """
    missing = [name for name in FULL_SET_MD5 if not _is_right(raw_folder(dest) / name, name)]
    if missing and _is_other_set(dest):
        say(f"{dest} holds a smaller MNIST set, which is left as it is. Give the full set a folder of its own.")
        return 1
    try:
        raw_folder(dest).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=dest) as scratch:
            for name in missing:
                _fetch(name, raw_folder(dest), Path(scratch), say)
    except _NoMirrorError as error:
        say(f"Could not download the full set.\n{error}\n{_by_hand(dest)}")
        return 1
    except OSError as error:
        say(f"Could not write to {dest}: {error}\nGive a folder that you may write to, with 70 MB free.")
        return 1
    try:
        check_root(dest)
    except DataError as error:
        say(str(error))
        return 1
    say(f"The full set is in {dest}: 60,000 training and 10,000 test images, checksums right.")
    return 0


def _is_right(path: Path, name: str) -> bool:
    try:
        content = read_content(path)
    except (IdxError, OSError):
        return False
    return hashlib.md5(content, usedforsecurity=False).hexdigest() == FULL_SET_MD5[name]


def _is_other_set(dest: Path) -> bool:
    """Say whether dest is a whole set, or the embedded one in whatever state: its checksums admit no other files."""
    if read_checksums(dest):
        return True
    try:
        check_root(dest)
    except DataError:
        return False
    return True


def _fetch(name: str, raw: Path, scratch: Path, say: Say) -> None:
    """Put one right file into raw, from an archive that is there already or from the first mirror that gives it."""
    archive = raw / f"{name}.gz"
    if _is_right(archive, name):
        say(f"{archive.name}: unpacking")
    else:
        say(f"{archive.name}: downloading")
        archive = _download(archive.name, scratch)
    unpacked = scratch / name
    unpacked.write_bytes(read_content(archive))
    if not _is_right(unpacked, name):
        raise _NoMirrorError(f"  {archive.name} does not hold the file that was published under this name")
    unpacked.replace(raw / name)


def _download(archive: str, scratch: Path) -> Path:
    from torchvision.datasets import MNIST
    from torchvision.datasets.utils import download_url

    md5 = dict(MNIST.resources)[archive]
    answers = []
    for mirror in MNIST.mirrors:
        try:
            with _patience(), _quiet_in_a_pipe():
                download_url(f"{mirror}{archive}", scratch, archive, md5)
        except (RuntimeError, HTTPException, OSError) as error:  # OSError includes URLError and every timeout
            answers.append(f"  {mirror}{archive}: {error}")
        else:
            return scratch / archive
    raise _NoMirrorError("\n".join(answers))


@contextlib.contextmanager
def _patience() -> Iterator[None]:
    """Limit each wait for the network: torchvision sets no timeout, and a silent firewall would hold us for minutes."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(_TIMEOUT)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def _quiet_in_a_pipe() -> contextlib.AbstractContextManager[object]:
    """Drop torchvision's progress display, which redraws a line hundreds of times, where nobody watches it."""
    return contextlib.nullcontext() if sys.stderr.isatty() else contextlib.redirect_stderr(io.StringIO())


def _by_hand(dest: Path) -> str:
    files = "\n".join(f"  {name}.gz" for name in FULL_SET_MD5)
    return (
        "\nThe course does not need it: the images that come with it are enough for every lesson.\n"
        "If you want the full set all the same, get these four files on a machine that has a network,\n"
        f"{files}\n"
        f"for example from the mirrors above, put them, packed or unpacked, into\n  {raw_folder(dest)}\n"
        "and run the same command again: it unpacks and checks them and downloads nothing."
    )

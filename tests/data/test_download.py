"""Fetching the full set, from a mirror on this machine: what arrives, what is refused, what an interruption leaves."""

import gzip
import hashlib
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from torchvision.datasets import MNIST, utils

from grader.data.download import download_full
from grader.data.idx import write_idx
from grader.data.root import FULL_SET_MD5, check_root, raw_folder

NOWHERE = "http://127.0.0.1:9/"  # the discard port: nobody listens


class Mirror(SimpleHTTPRequestHandler):
    """Serves a folder and keeps quiet about it."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture
def archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of four small archives that count as the published ones during the test."""
    folder = tmp_path / "archives"
    folder.mkdir()
    resources = []
    for part, count in (("train", 5), ("t10k", 3)):
        write_idx(folder / f"{part}-images-idx3-ubyte", np.full((count, 28, 28), 7, dtype=np.uint8))
        write_idx(folder / f"{part}-labels-idx1-ubyte", np.arange(count, dtype=np.uint8))
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        packed = gzip.compress(content)
        path.with_name(f"{path.name}.gz").write_bytes(packed)
        path.unlink()
        monkeypatch.setitem(FULL_SET_MD5, path.name, hashlib.md5(content).hexdigest())
        resources.append((f"{path.name}.gz", hashlib.md5(packed).hexdigest()))
    monkeypatch.setattr(MNIST, "resources", resources)
    monkeypatch.setattr(MNIST, "mirrors", [NOWHERE])
    monkeypatch.setenv("no_proxy", "*")
    return folder


@pytest.fixture
def mirror(archives: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Serve the archives as the second of two mirrors; the first does not answer."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Mirror, directory=str(archives))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{server.server_address[1]}/"
        monkeypatch.setattr(MNIST, "mirrors", [NOWHERE, url])
        yield url
        server.shutdown()
        thread.join()


@pytest.fixture
def dest(tmp_path: Path) -> Path:
    return tmp_path / "full set"


def files_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_downloads_checks_and_tidies_up(mirror: str, dest: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert mirror
    assert download_full(dest) == 0

    check_root(dest)
    assert files_in(dest) == sorted(f"MNIST/raw/{name}" for name in FULL_SET_MD5)
    out, err = capfd.readouterr()
    assert out.splitlines()[:-1] == [f"{name}.gz: downloading" for name in FULL_SET_MD5]
    assert out.splitlines()[-1].startswith(f"The full set is in {dest}")
    assert err == ""  # in a pipe, no progress display


def test_what_is_there_is_not_fetched_again(mirror: str, dest: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert mirror
    assert download_full(dest) == 0
    monkeypatch.setattr(MNIST, "mirrors", [NOWHERE])
    capsys.readouterr()

    assert download_full(dest) == 0

    assert "downloading" not in capsys.readouterr().out


def test_a_damaged_file_is_replaced(mirror: str, dest: Path) -> None:
    assert mirror
    assert download_full(dest) == 0
    damaged = raw_folder(dest) / "train-images-idx3-ubyte"
    damaged.write_bytes(damaged.read_bytes()[:100])

    assert download_full(dest) == 0

    check_root(dest)


def test_without_a_network_it_says_what_to_do(archives: Path, dest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert archives
    assert download_full(dest) == 1

    out = capsys.readouterr().out
    assert f"  {NOWHERE}train-images-idx3-ubyte.gz: <urlopen error" in out
    assert "The course does not need it" in out
    assert f"into\n  {raw_folder(dest)}\n" in out
    assert all(f"\n  {name}.gz\n" in out for name in FULL_SET_MD5)
    assert files_in(dest) == []


@pytest.mark.parametrize("packed", [True, False])
def test_files_put_there_by_hand_are_taken(archives: Path, dest: Path, *, packed: bool) -> None:
    raw_folder(dest).mkdir(parents=True)
    for path in archives.iterdir():
        content = path.read_bytes()
        if packed:  # in an archive of one's own, whose MD5 torchvision would not know
            (raw_folder(dest) / path.name).write_bytes(gzip.compress(gzip.decompress(content), 1))
        else:
            (raw_folder(dest) / path.stem).write_bytes(gzip.decompress(content))

    assert download_full(dest) == 0

    check_root(dest)


@pytest.mark.parametrize("content", [b"<html>log in to the campus network</html>", b""])
def test_a_mirror_that_sends_something_else(mirror: str, archives: Path, dest: Path, content: bytes) -> None:
    assert mirror
    (archives / "t10k-images-idx3-ubyte.gz").write_bytes(content)

    assert download_full(dest) == 1

    assert files_in(dest) == ["MNIST/raw/train-images-idx3-ubyte", "MNIST/raw/train-labels-idx1-ubyte"]


def test_an_interruption_leaves_no_half_file(archives: Path, dest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(url: str, root: Path, filename: str, md5: str) -> None:
        del url, md5
        (Path(root) / filename).write_bytes((archives / filename).read_bytes()[:20])
        raise KeyboardInterrupt

    monkeypatch.setattr(utils, "download_url", interrupted)

    with pytest.raises(KeyboardInterrupt):
        download_full(dest)

    assert files_in(dest) == []
    assert [path.name for path in dest.iterdir()] == ["MNIST"]


def test_a_smaller_set_is_never_overwritten(mirror: str, dest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert mirror
    raw_folder(dest).mkdir(parents=True)
    for part in ("train", "t10k"):
        write_idx(raw_folder(dest) / f"{part}-images-idx3-ubyte", np.zeros((2, 28, 28), dtype=np.uint8))
        write_idx(raw_folder(dest) / f"{part}-labels-idx1-ubyte", np.zeros(2, dtype=np.uint8))
    before = {path: path.read_bytes() for path in raw_folder(dest).iterdir()}

    assert download_full(dest) == 1

    assert before == {path: path.read_bytes() for path in raw_folder(dest).iterdir()}
    assert "left as it is" in capsys.readouterr().out


def test_the_embedded_set_is_not_mixed_with_the_full_one(mirror: str, dest: Path) -> None:
    assert mirror
    raw_folder(dest).mkdir(parents=True)
    (dest / "SHA256SUMS").write_text(f"{'0' * 64}  MNIST/raw/t10k-labels-idx1-ubyte\n", encoding="utf-8")

    assert download_full(dest) == 1

    assert files_in(dest) == ["SHA256SUMS"]


def test_a_place_that_cannot_be_written(archives: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert archives
    (tmp_path / "a file").touch()

    assert download_full(tmp_path / "a file" / "full") == 1

    assert "Could not write to" in capsys.readouterr().out


def test_the_checksums_are_for_the_files_that_torchvision_names() -> None:
    assert [f"{name}.gz" for name in FULL_SET_MD5] == [name for name, _ in MNIST.resources]

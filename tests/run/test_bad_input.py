"""Whatever a submission does, it ends in exactly one status with a clear sentence, and nothing of it stays behind."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import psutil
import pytest

from tests.run.sources import HEAD, MAIN

REJECTED = [
    (b"", "the file is empty"),
    (b"def main(:\n", "SyntaxError"),
    (b"x = '\xe9'\n", "not valid UTF-8"),
    (b"import grader\n", "reaches into the grader"),
]


@pytest.mark.parametrize(("raw", "sentence"), REJECTED)
def test_a_file_that_cannot_run_is_rejected(grade, raw: bytes, sentence: str) -> None:
    graded = grade(raw)
    assert "rejected" == graded.status
    assert sentence in graded.sentence
    assert ("finishes",) == graded.verdict.failing


def test_a_missing_file_is_rejected(grade, tmp_path: Path) -> None:
    assert "there is no such file" in grade(tmp_path / "gone.py").sentence


CASES = {
    "no main": ("eval_transform = print\n", "contract", "the file offers no main"),
    "main is no function": ("main = 3\n", "contract", "main, but it is int"),
    "main takes nothing": ("def main():\n    pass\n", "contract", "cannot be called with data_dir"),
    "main returns None": ("def main(data_dir, log_dir, device='cpu', epochs=1):\n    pass\n", "contract", "main returned None"),
    "main returns a number": ("def main(data_dir, log_dir, device='cpu', epochs=1):\n    return 0.99\n", "contract", "object of type float"),
    "no eval_transform": (HEAD.replace("eval_transform =", "other =") + MAIN, "contract", "no eval_transform"),
    "raises at import": ("import no_such_library\n", "raised", "ModuleNotFoundError while the file was imported"),
    "raises in main": (HEAD + "def main(data_dir, log_dir, device='cpu', epochs=1):\n    raise KeyError('x')\n", "raised", "KeyError in main"),
    "unprintable exception": (
        "class Odd(Exception):\n    def __str__(self):\n        raise ValueError\ndef main(data_dir, log_dir, device='cpu', epochs=1):\n    raise Odd\n",
        "raised",
        "Odd in main",
    ),
    "sys.exit(0)": ("import sys\nsys.exit(0)\n", "exited", "sys.exit(0)"),
    "sys.exit in main": (
        "import sys\ndef main(data_dir, log_dir, device='cpu', epochs=1):\n    sys.exit('PASSED')\n",
        "exited",
        "sys.exit('PASSED')",
    ),
    "os._exit(0)": (
        "import os\ndef main(data_dir, log_dir, device='cpu', epochs=1):\n    os._exit(0)\n",
        "exited",
        "exit code 0 and without a result",
    ),
    "killed": (
        "import os, signal\ndef main(data_dir, log_dir, device='cpu', epochs=1):\n    os.kill(os.getpid(), signal.SIGTERM)\n",
        "killed",
        "SIGTERM",
    ),
    "segmentation fault": (
        "import os, signal\ndef main(data_dir, log_dir, device='cpu', epochs=1):\n    os.kill(os.getpid(), 11)\n",
        "killed",
        "SIGSEGV",
    ),
    "a list too large": ("def main(data_dir, log_dir, device='cpu', epochs=1):\n    raise MemoryError\n", "out of memory", "more memory"),
    "a tensor too large": (
        "import torch\ndef main(data_dir, log_dir, device='cpu', epochs=1):\n    torch.empty(10**13)\n",
        "out of memory",
        "more memory",
    ),
    "a full disk": (
        "def main(data_dir, log_dir, device='cpu', epochs=1):\n    raise OSError(28, 'No space left on device')\n",
        "disk full",
        "could not write",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_every_ending_has_one_status_and_a_sentence(grade, name: str) -> None:
    source, status, sentence = CASES[name]
    graded = grade(source)
    assert status == graded.status
    assert sentence in graded.sentence
    assert not graded.verdict.passed
    assert ("finishes",) == graded.verdict.failing


def test_an_endless_loop_is_stopped_and_leaves_no_process(grade) -> None:
    source = "import subprocess, sys, time\ndef main(data_dir, log_dir, device='cpu', epochs=1):\n    subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(987)'], start_new_session=True)\n    while True:\n        pass\n"
    graded = grade(source, timeout=25.0)
    assert "timeout" == graded.status
    assert "still running after 25 s (in main)" in graded.sentence
    assert not [p for p in psutil.process_iter() if "time.sleep(987)" in " ".join(_command(p))]


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def test_a_memory_hog_is_stopped(grade) -> None:
    source = "def main(data_dir, log_dir, device='cpu', epochs=1):\n    kept = []\n    while True:\n        kept.append(bytearray(b'x' * 2**24))\n"
    graded = grade(source, memory_mb=900)
    assert "out of memory" == graded.status


def test_a_hundred_megabytes_of_prints_neither_block_nor_fill_anything(grade) -> None:
    graded = grade(HEAD + MAIN + "\nfor _ in range(100):\n    print('\\x1b[32mPASSED ' * 100_000)\n")
    assert "finished" == graded.evidence.outcome.value
    assert len(graded.evidence.output_tail) <= 4000


def test_a_file_that_grows_too_large_is_an_error_of_the_submission(grade) -> None:
    graded = grade(
        "def main(data_dir, log_dir, device='cpu', epochs=1):\n    with open('x', 'wb') as f:\n        for _ in range(600):\n            f.write(b'x' * 2**20)\n"
    )
    assert "disk full" == graded.status


@pytest.mark.parametrize(
    "source",
    [
        ("\ufeff" + HEAD + MAIN).replace("\n", "\r\n").encode(),
        (HEAD + MAIN).replace("\n", "\r").encode(),
    ],
    ids=["byte-order mark and CRLF", "old Mac line ends"],
)
def test_other_line_ends_run(grade, source: bytes) -> None:
    assert "finished" == grade(source).evidence.outcome.value


def test_paths_with_spaces_and_other_letters(grade, tmp_path: Path) -> None:
    folder = tmp_path / "Zoë (1) + ünter  x"
    folder.mkdir()
    file = folder / "my train (2)+é.py"
    file.write_text(HEAD + MAIN, encoding="utf-8")
    assert "finished" == grade(file).evidence.outcome.value


def test_a_deleted_log_directory_is_seen(grade) -> None:
    source = (
        HEAD
        + "import shutil\ndef main(data_dir, log_dir, device='cpu', epochs=1):\n    model = fit(net(), data_dir, log_dir)\n    shutil.rmtree(log_dir)\n    return model\n"
    )
    assert "log_present" in grade(source).verdict.failing


def test_an_open_writer_is_seen(grade) -> None:
    source = (
        HEAD
        + "kept = []\ndef main(data_dir, log_dir, device='cpu', epochs=1):\n    kept.append(SummaryWriter(log_dir))\n    return fit(net(), data_dir, log_dir)\n"
    )
    assert "log_present" in grade(source).verdict.failing


def test_a_submission_that_trains_nothing(grade) -> None:
    graded = grade(HEAD + "def main(data_dir, log_dir, device='cpu', epochs=1):\n    fit(net(), data_dir, log_dir)\n    return net()\n")
    assert "trained_on_data" in graded.verdict.failing


def test_nan_everywhere(grade) -> None:
    source = HEAD + "def main(data_dir, log_dir, device='cpu', epochs=1):\n    return fit(net(), data_dir, log_dir, rate=float('inf'))\n"
    graded = grade(source)
    assert "failed" == graded.status
    assert 0.0 == graded.evidence.accuracies["heldout"]


OUTPUTS = {
    "eleven classes": ("x.new_zeros(len(x), 11)", "(1, 11)"),
    "integers": ("x.new_zeros(len(x), 10).long()", "int64"),
    "a tuple": ("(x.new_zeros(len(x), 10),)", "type tuple"),
    "nothing": ("None", "returned None"),
    "a subclass": ("x.new_zeros(len(x), 10).as_subclass(Liar)", "a subclass of torch.Tensor"),
    "one row for all": ("x.new_zeros(1, 10)", "(1, 10)"),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs_of_the_wrong_shape_dtype_or_class(grade, name: str) -> None:
    expression, sentence = OUTPUTS[name]
    source = (
        HEAD
        + f"""
class Liar(torch.Tensor):
    pass

class Wrong(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = net()
    def forward(self, x):
        return self.net(x) if self.training else {expression}

def main(data_dir, log_dir, device="cpu", epochs=1):
    return fit(Wrong(), data_dir, log_dir)
"""
    )
    graded = grade(source)
    assert "failed" == graded.status
    assert "output_shape" == graded.verdict.failing[0]
    answer = next(r.answer for r in graded.verdict.results if r.check == "output_shape")
    assert sentence in answer.saw


def test_nothing_of_a_run_stays_behind(grade, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "own"))
    grade(
        HEAD
        + "import stat\ndef main(data_dir, log_dir, device='cpu', epochs=1):\n    os.mkdir('locked')\n    open('locked/x', 'w').close()\n    os.chmod('locked', 0)\n    sys.exit(1)\n"
    )
    assert [] == list((tmp_path / "own").iterdir())


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="mounting a tiny disk needs root on Linux")
def test_a_disk_without_room_is_a_clear_message(grade, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import subprocess

    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], check=False, capture_output=True).returncode:
        pytest.skip("this machine allows no mounts")
    try:
        monkeypatch.setattr(tempfile, "tempdir", str(disk))
        from grader.run.parent import GraderError

        with pytest.raises(GraderError, match="TMPDIR"):
            grade(HEAD + MAIN)
    finally:
        monkeypatch.setattr(tempfile, "tempdir", None)
        subprocess.run(["umount", str(disk)], check=True)

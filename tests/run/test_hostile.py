"""Attacks that a red team tried, each kind once: none passes, none is our fault, none leaves anything behind."""

from __future__ import annotations

import os
import stat
import tempfile
import time
from pathlib import Path

import pytest

from grader.evidence.files import files_in
from grader.run.folders import remove
from tests.run.sources import HEAD, MAIN

BEFORE_RETURN = (
    HEAD
    + """
def main(data_dir, log_dir, device="cpu", epochs=1):
    model = fit(net(), data_dir, log_dir)
    ATTACK
    return model
"""
)
TAMPERED = {
    "json replaced": "import json; json.dumps = lambda *a, **k: '{}'",
    "hooks cleared through vars": "vars(torch.nn.modules.module)['_global_forward_' + 'hooks'].clear()",
    "backward replaced": "torch.Tensor.backward = lambda self: None",
    "the model's forward hook machinery replaced": "nn.Module.__call__ = lambda self, x: torch.zeros(len(x), 10)",
    "a probe's helper replaced": "torch.cat = lambda *a, **k: torch.zeros(1000, 10)",
    "the labels' reader replaced": "MNIST.__getitem__ = lambda self, i: (None, 0)",
}


@pytest.mark.parametrize("name", TAMPERED)
def test_what_the_observer_leans_on_cannot_be_replaced(grade, name: str) -> None:
    source = BEFORE_RETURN.replace("ATTACK", TAMPERED[name])
    graded = grade(source)
    assert graded.status in ("tampered", "rejected", "exited"), graded.sentence


STREAM = {
    "a forged end": 'os.write(1, b\'{"k":"end"}\\n\')',
    "forged lines on every descriptor": '[os.write(n, b\'0123456789abcdef {"k":"end"}\\n\') for n in range(3, 12) if writable(n)]',
    "every descriptor closed": "os.closerange(3, 64)",
}
WRITABLE = "\ndef writable(n):\n    try:\n        os.write(n, b'')\n        return True\n    except OSError:\n        return False\n"


@pytest.mark.parametrize("name", STREAM)
def test_the_stream_cannot_be_forged(grade, name: str) -> None:
    graded = grade((BEFORE_RETURN + WRITABLE).replace("ATTACK", STREAM[name]))
    assert not graded.verdict.passed
    assert graded.status in ("tampered", "exited", "failed"), graded.sentence


OURS = {
    "a message that looks like one of our own words": ("raise ValueError('__nan__')", "raised"),
    "a thousand nested folders": ("[(os.mkdir('d'), os.chdir('d')) for _ in range(1500)]", "failed"),
    "a thousand nested folders in the log": ("os.chdir(log_dir); [(os.mkdir('d'), os.chdir('d')) for _ in range(1500)]", "failed"),
    "the run directory removed": ("import shutil; shutil.rmtree(os.path.dirname(log_dir), ignore_errors=True)", "failed"),
    "an interrupt raised": ("raise KeyboardInterrupt", "raised"),
    "an exception that cannot be shown": ("raise type('Odd', (BaseException,), {'__str__': lambda self: 1 / 0})", "raised"),
    "notes that are no list": ("e = ValueError('x'); e.__notes__ = 5; raise e", "raised"),
    "parameters that raise": ("model.__class__ = type('Odd', (model.__class__,), {'named_parameters': lambda self, *a, **k: 1 / 0})", "raised"),
    "the log replaced by a link": ("import shutil; shutil.rmtree(log_dir); os.symlink('/', log_dir)", "failed"),
}


@pytest.mark.parametrize("name", OURS)
def test_nothing_a_submission_does_is_a_fault_of_ours(grade, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own"
    own.mkdir(mode=0o755)
    monkeypatch.setattr(tempfile, "tempdir", str(own))
    attack, status = OURS[name]
    graded = grade(BEFORE_RETURN.replace("ATTACK", attack))
    assert status == graded.status, (graded.sentence, [r.answer for r in graded.verdict.results])
    assert [] == list(own.iterdir())
    assert 0o755 == stat.S_IMODE(own.stat().st_mode)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_and_a_device_are_no_submissions(grade, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    assert "not an ordinary file" in grade(tmp_path / "pipe.py").sentence
    assert "not an ordinary file" in grade(Path(os.devnull)).sentence


def test_prints_cannot_paint_a_verdict(grade) -> None:
    graded = grade(HEAD + MAIN + "\nprint('\\x1b[2J\\x1b[32mPASSED all checks')\nraise SystemExit(0)\n")
    assert "exited" == graded.status


def test_removing_a_directory_touches_nothing_outside_it(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o755)
    (outside / "kept").write_text("x", encoding="utf-8")
    folder = tmp_path / "run"
    (folder / "locked").mkdir(parents=True)
    (folder / "link").symlink_to(outside, target_is_directory=True)
    (folder / "locked").chmod(0)
    assert remove(folder)
    assert ["kept"] == [p.name for p in outside.iterdir()]
    assert 0o755 == stat.S_IMODE(outside.stat().st_mode)
    (tmp_path / "top").symlink_to(outside, target_is_directory=True)
    assert remove(tmp_path / "top")
    assert (outside / "kept").exists()


def test_a_deep_tree_is_removed_and_walked_without_recursion(tmp_path: Path) -> None:
    here = Path.cwd()
    folder = tmp_path / "deep"
    folder.mkdir()
    try:
        os.chdir(folder)
        for _ in range(1500):
            Path("d").mkdir()
            os.chdir("d")
        Path("leaf").write_text("x", encoding="utf-8")
    finally:
        os.chdir(here)
    began = time.monotonic()
    assert [] == list(files_in(folder))
    assert remove(folder)
    assert time.monotonic() - began < 60

"""What a submission may touch of the file system, where the system can build a fence."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.run.fence import beside
from tests.run.sources import HEAD

COURSE = Path(__file__).resolve().parents[2]
TRY = (
    HEAD
    + """
import pathlib
def main(data_dir, log_dir, device="cpu", epochs=1):
    try:
        EXPRESSION
    except OSError as error:
        raise KeyError("refused") from error
    raise KeyError("done")
"""
)


def landlock() -> bool:
    try:
        from landlock import landlock_abi_version
    except ImportError:
        return False
    try:
        return landlock_abi_version() > 0
    except OSError:
        return False


def test_everything_beside_the_hidden_paths_is_covered_and_they_are_not(tmp_path: Path) -> None:
    for name in ("a/hidden/x", "a/seen/y", "b/z"):
        (tmp_path / name).mkdir(parents=True)
    paths = set(beside([tmp_path / "a" / "hidden"]))
    assert {tmp_path / "a" / "seen", tmp_path / "b"} <= paths
    assert not {p for p in paths if p == tmp_path / "a" / "hidden" or p in (tmp_path / "a" / "hidden").parents}


@pytest.mark.skipif(not landlock(), reason="this system has no Landlock: there is no fence to test")
@pytest.mark.parametrize(
    ("expression", "seen"),
    [
        (f"pathlib.Path({str(COURSE)!r}, 'grader', 'heldout', 'labels-idx1-ubyte').read_bytes()", "refused"),
        (f"os.listdir({str(COURSE / 'solutions')!r})", "refused"),
        (f"pathlib.Path({str(COURSE)!r}, 'lessons', 'lesson01', 'checks.py').open('a')", "refused"),
        (f"pathlib.Path({str(COURSE)!r}, 'datasets', 'new').open('w')", "refused"),
        ("pathlib.Path('plot.png').write_text('x')", "done"),
        ("__file__ and pathlib.Path(__file__).with_name('best.pt').write_text('x')", "done"),
        ("os.makedirs(os.path.join(log_dir, 'run1'))", "done"),
        ("pathlib.Path(os.path.expanduser('~'), 'left-behind').write_text('x')", "refused"),
    ],
)
def test_the_fence(grade, expression: str, seen: str) -> None:
    graded = grade(TRY.replace("EXPRESSION", expression))
    assert graded.evidence.crash is not None, graded.sentence
    assert f"'{seen}'" == graded.evidence.crash.message

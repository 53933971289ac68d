"""A child of the launcher is what a cold child is: the same verdicts, the same walls, nothing of other runs; and the launcher is no weak point."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from grader.course import Course
from grader.dev.gradings import Job, run_jobs
from grader.run import forked, forkserver, parent, warm
from grader.run.parent import RunOptions, start
from tests.run.sources import HEAD, MAIN
from tests.run.test_bad_input import CASES
from tests.run.test_hostile import BEFORE_RETURN, STREAM, TAMPERED, WRITABLE

COURSE = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="children are forked on Linux only")


@pytest.fixture(scope="module")
def launched():
    os.environ.pop("TORCHINDUCTOR_CACHE_DIR", None)  # torch's compiler adds it, to this process too if a test has used it
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    with warm.warm():
        yield
    left = [child for child in psutil.Process().children(recursive=True) if child.pid not in before]
    assert [] == left, "something outlived the launcher"


def launcher() -> int:
    """The process of the shared launcher, which is there after the first grading."""
    assert warm.POOL._launcher is not None
    return warm.POOL._launcher.pid


def run(source: str, folder: Path, root: Path, **options):
    """The evidence of a submission in a folder of its own, so that several can run at once."""
    folder.mkdir()
    (folder / "train.py").write_text(source, encoding="utf-8")
    given = {"data_dir": root, "timeout": 120.0, **options}
    with start(Course.find(COURSE).lesson("lesson01"), folder / "train.py", RunOptions(**given)) as handle:
        return next(iter(handle.wait().values()))


ATTACK = "def main(data_dir, log_dir, device='cpu', epochs=1):\n    ATTACK\n"
TELL = """
import json, os, sys, threading, time
def main(data_dir, log_dir, device="cpu", epochs=1):
    found = {
        "descriptors": {n: os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{n}")},
        "environment": dict(os.environ), "cwd": os.getcwd(), "argv": sys.argv[1:], "path": sys.path[1:],
        "leads": [os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid()], "threads": len(os.listdir("/proc/self/task")),
        "modules": sorted(sys.modules), "main": sorted(vars(sys.modules["__main__"])), "orders": sys.flags.hash_randomization,
    }
    with open(os.path.join(log_dir, "found.tfevents"), "w") as file:
        json.dump(found, file)
    end = time.time() + 1
    while time.time() < end:
        pass
"""


def told(folder: Path, root: Path) -> dict:
    run(TELL, folder, root, keep=folder / "kept")
    return json.loads((folder / "kept" / "main" / "logs" / "found.tfevents").read_text(encoding="utf-8"))


def test_a_right_submission_gets_the_same_verdict(launched, grade, monkeypatch) -> None:
    first = grade(HEAD + MAIN)
    assert psutil.pid_exists(launcher()), "it started cold"
    monkeypatch.setenv(warm.SWITCH, "0")
    second = grade(HEAD + MAIN)
    assert "finished" == first.evidence.outcome.value == second.evidence.outcome.value
    assert (first.status, first.verdict.failing) == (second.status, second.verdict.failing)
    assert [type(r.answer) for r in first.verdict.results] == [type(r.answer) for r in second.verdict.results]
    assert [step.loss for step in first.evidence.steps] == [step.loss for step in second.evidence.steps]


ENDINGS = ("raises in main", "sys.exit in main", "os._exit(0)", "killed", "segmentation fault", "a list too large", "a tensor too large")


@pytest.mark.parametrize("name", ENDINGS)
def test_every_ending_is_reported_as_it_was(launched, grade, name: str) -> None:
    source, status, sentence = CASES[name]
    graded = grade(source)
    assert status == graded.status
    assert sentence in graded.sentence


@pytest.mark.parametrize("attack", [TAMPERED["backward replaced"], *STREAM.values()])
def test_the_observer_stands_as_firm(launched, grade, attack: str) -> None:
    graded = grade((BEFORE_RETURN + WRITABLE).replace("ATTACK", attack))
    assert graded.status in ("tampered", "exited", "failed"), graded.sentence


def test_a_memory_hog_is_stopped(launched, grade) -> None:
    source = ATTACK.replace("ATTACK", "kept = []\n    while True:\n        kept.append(bytearray(b'x' * 2**24))")
    graded = grade(source, memory_mb=900)
    assert "out of memory" == graded.status
    assert graded.evidence.outcome.value == "out of memory"


def test_what_needs_little_memory_is_counted_as_little(launched, grade, monkeypatch) -> None:
    """The pages that a child shares with the launcher count as if it had filled them itself, as they do in a cold child."""
    peaks, build = [], parent._build
    monkeypatch.setattr(parent, "_build", lambda record: peaks.append(record.peak_mb) or build(record))
    grade(HEAD + MAIN)
    monkeypatch.setenv(warm.SWITCH, "0")
    grade(HEAD + MAIN)
    assert pytest.approx(peaks[1], rel=0.2) == peaks[0]


STRAYS = {
    "in a session of its own": "p = subprocess.Popen([sys.executable, '-c', SLEEP], start_new_session=True); print('stray', p.pid, flush=True)",
    "forked twice, and not another program": "stray(lambda: time.sleep(300))",
    "with nothing in its environment": "stray(lambda: os.execve(sys.executable, [sys.executable, '-c', SLEEP], {}))",
}
STRAY = """
import os, subprocess, sys, time
SLEEP = "import time; time.sleep(300)"
def stray(then):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            print("stray", os.getpid(), flush=True)
            then()
        os._exit(0)
    os.wait()
def main(data_dir, log_dir, device="cpu", epochs=1):
    ATTACK
    time.sleep(0.5)
    os._exit(3)
"""


@pytest.mark.parametrize("name", STRAYS)
def test_a_process_that_leaves_the_tree_is_ended_with_the_run(launched, grade, name: str) -> None:
    graded = grade(STRAY.replace("ATTACK", STRAYS[name]))
    assert "exited" == graded.status
    _, _, pid = graded.evidence.output_tail.partition("stray ")
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(int(pid.split()[0])).wait(10)  # the launcher reaps it at its next look


def test_an_endless_loop_is_stopped(launched, grade) -> None:
    graded = grade(ATTACK.replace("ATTACK", "while True: pass"), timeout=3.0)
    assert "timeout" == graded.status


def test_a_child_finds_what_a_cold_one_finds_and_nothing_of_its_neighbours(launched, tmp_path: Path, tiny_root: Path, monkeypatch) -> None:
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda name: told(tmp_path / name, tiny_root), ("one", "two", "three")))
    monkeypatch.setenv(warm.SWITCH, "0")
    cold = told(tmp_path / "cold", tiny_root)
    for key in ("argv", "leads", "threads", "main", "path"):
        assert cold[key] == found[0][key], key
    assert set(cold["modules"]) == set(found[0]["modules"])
    for one in found:
        assert sorted(cold["descriptors"]) == sorted(one["descriptors"])
        assert set(cold["environment"]) - {warm.SWITCH} == set(one["environment"])
        assert not any("socket" in target or "memfd" in target or "pidfd" in target for target in one["descriptors"].values())
        assert one["environment"]["TMPDIR"] == one["cwd"].rpartition("/")[0] + "/tmp"
        assert one["environment"]["TORCHINDUCTOR_CACHE_DIR"].startswith(one["environment"]["TMPDIR"]), "a variable that a library adds"
    assert 3 == len({one["environment"]["GRADER_RUN"] for one in found}) == len({one["cwd"] for one in found})
    pipes = [{target for target in one["descriptors"].values() if target.startswith("pipe:")} for one in found]
    assert not pipes[0] & pipes[1]
    assert not pipes[0] & pipes[2]


@pytest.mark.slow
def test_a_submission_that_kills_the_launcher_only_ends_itself(launched, grade, tmp_path: Path, tiny_root: Path) -> None:
    grade("main = 3\n")
    before = launcher()
    slow = HEAD + MAIN.replace("return fit", "time.sleep(2); return fit")
    with ThreadPoolExecutor(1) as pool:
        neighbour = pool.submit(run, slow, tmp_path / "neighbour", tiny_root)
        graded = grade(ATTACK.replace("ATTACK", "import os, time; time.sleep(1); os.kill(os.getppid(), 9); time.sleep(60)"))
        assert "killed" == graded.status, graded.sentence
        assert "finished" == neighbour.result().outcome.value
    assert "finished" == grade(HEAD + MAIN).evidence.outcome.value
    assert before != launcher()


@pytest.mark.slow
def test_a_submission_that_stops_the_launcher_only_ends_itself(launched, grade, monkeypatch) -> None:
    monkeypatch.setattr(forked, "REPORT", 0.5)
    graded = grade(ATTACK.replace("ATTACK", f"import os; os.kill(os.getppid(), {signal.SIGSTOP}); os._exit(3)"))
    assert "killed" == graded.status, graded.sentence
    assert "finished" == grade(HEAD + MAIN).evidence.outcome.value


def test_where_a_fork_is_not_safe_children_start_cold(launched, tmp_path: Path, monkeypatch) -> None:
    def fork(*, gpu: bool = False):
        return warm.fork(tmp_path, {}, "GRADER_RUN", gpu=gpu, alone=False)

    with monkeypatch.context() as patch:
        patch.setenv(warm.SWITCH, "0")
        assert fork() is None
    with monkeypatch.context() as patch:
        patch.setattr(warm, "_driver", lambda: True)
        assert fork(gpu=True) is None
    for other in ("win32", "darwin"):
        with monkeypatch.context() as patch:
            patch.setattr(warm.sys, "platform", other)
            assert fork() is None


def test_a_launcher_that_does_not_come_up_is_not_asked_again(monkeypatch, tmp_path: Path) -> None:
    tries = []

    def fails(*arguments):
        tries.append(arguments)
        raise warm.LostError

    monkeypatch.setattr(warm, "POOL", warm.Pool())
    monkeypatch.setattr(warm, "Launcher", fails)
    with warm.warm():
        assert [None, None] == [warm.fork(tmp_path, dict(os.environ), "GRADER_RUN", gpu=False, alone=False) for _ in range(2)]
    assert 1 == len(tries)


def test_many_jobs_are_graded_warm_and_few_are_not(monkeypatch) -> None:
    monkeypatch.setattr(warm, "POOL", warm.Pool())
    lesson = Course.find(COURSE).lesson("lesson01")

    def users(count: int) -> set[int]:
        jobs = [Job(lesson, lesson.solution, "solution", seed) for seed in range(count)]
        return {answer for _, answer in run_jobs(jobs, 2, lambda *_: warm.POOL._users)}

    assert {1} == users(3)
    assert {0} == users(2)
    assert 0 == warm.POOL._users
    assert warm.POOL._launcher is None, "nothing asked for it"


def test_all_that_a_child_imports_is_loaded_beforehand() -> None:
    """Else each child would import it again, and the launcher would gain less and less."""
    program = (
        "import importlib, sys; from grader.run.forkserver import PRELOAD\nfor name in PRELOAD: importlib.import_module(name)\nprint(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=COURSE, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    tree = ast.parse((COURSE / "grader" / "run" / "child.py").read_text(encoding="utf-8"))
    wanted = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    assert set() == {name for name in wanted if name.startswith("grader.")} - loaded
    assert {"torch", "numpy"} < set(forkserver.PRELOAD)

"""Replaying documentation against a toy script, for real: the interpreter, pdb, a pipe, a timeout."""

from __future__ import annotations

import textwrap
import time

import psutil
import pytest

from grader.dev.replay import course_root, main, replay
from grader.dev.shell import run_command

SCRIPT = '''"""Toy."""


def half(number):
    rest = number % 2
    print("half of", number)
    return [number / 2][rest]


if __name__ == "__main__":
    for number in (2, 4, 5):
        half(number)
'''
SESSION = """# Toy

```pdb
$ python -m pdb exercises/lesson01/train.py
> /home/you/exercises/lesson01/train.py(1)<module>()
-> \"\"\"Toy.\"\"\"
(Pdb) b half
Breakpoint 1 at exercises/lesson01/train.py:4
(Pdb) c
> exercises/lesson01/train.py(5)half()
-> rest = number % 2
```

Prose.

```pdb
(Pdb) p number
2
(Pdb) c
half of 2
> exercises/lesson01/train.py(5)half()
-> rest = number % 2
(Pdb) cl 1
Deleted breakpoint 1 at exercises/lesson01/train.py:4
(Pdb) c
...
IndexError: list index out of range
Uncaught exception. Entering post mortem debugging
...
(Pdb) w
  exercises/lesson01/train.py(12)<module>()
-> half(number)
> exercises/lesson01/train.py(7)half()
-> return [number / 2][rest]
(Pdb) p rest
1
```
"""


@pytest.fixture
def course(tmp_path):
    for folder in ("lessons/lesson01", "exercises/lesson01"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "exercises/lesson01/train.py").write_text(SCRIPT, encoding="utf-8")
    return tmp_path


def page(course, text):
    path = course / "lessons/lesson01/page.md"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def test_a_pdb_session_with_a_breakpoint_and_a_post_mortem_holds(course):
    assert [] == replay(page(course, SESSION), course)


def test_a_stale_answer_is_shown_as_a_diff_at_its_line(course, capsys):
    path = page(course, SESSION.replace("(Pdb) p rest\n1", "(Pdb) p rest\n0"))
    (mismatch,) = replay(path, course)
    assert "p rest" == mismatch.exchange.command
    assert "--- documented\n+++ real\n- 0\n+ 1" == mismatch.diff
    assert 1 == main([str(path)])
    printed = capsys.readouterr().out
    assert f"page.md:{mismatch.exchange.line}: `p rest` prints something else now" in printed
    assert "1 outputs differ" in printed


def test_write_fills_in_refreshes_and_keeps_elisions(course):
    path = page(
        course,
        """\
        ```console
        $ python exercises/lesson01/train.py
        half of 8
        ...
            half(number)
        ...
        IndexError: list index out of range
        $ python -c "print(41 + 1)"
        ```
        """,
    )
    assert 2 == len(replay(path, course, write=True))
    assert [] == replay(path, course)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[2:5] == ["half of 2", "...", "    half(number)"]
    assert lines[-3:] == ['$ python -c "print(41 + 1)"', "42", "```"]


def test_write_replaces_an_output_whose_elision_no_longer_fits(course):
    path = page(course, "```console\n$ python -c \"print('new')\"\nold\n...\n```\n")
    assert 0 == main([str(path), "--write"])
    assert "```console\n$ python -c \"print('new')\"\nnew\n```\n" == path.read_text(encoding="utf-8")


def test_write_leaves_what_still_holds_but_removes_the_machines_directories(course):
    path = page(course, f"```console\n$ python -c \"print('{course}/exercises/x.py', 0.5, '1.5 s')\"\n/home/me/exercises/x.py 0.51 9.0 s\n```\n")
    assert [] == replay(path, course, write=True)
    assert "exercises/x.py 0.51 9.0 s" == path.read_text(encoding="utf-8").splitlines()[2]


def test_a_session_that_ends_early_says_so(course):
    path = page(course, "```pdb\n$ python -m pdb exercises/lesson01/train.py\n...\n(Pdb) q\n(Pdb) p 1\n1\n```\n")
    (mismatch,) = replay(path, course)
    assert "the session had ended before this command" in mismatch.diff


def test_output_of_both_streams_comes_in_order_and_a_pipe_works(course):
    code = "import sys; print(1); print(2, file=sys.stderr); print(3)"
    assert "1\n2\n3\n" == run_command(f'python -c "{code}"', "", course, 60).replace("\r", "")
    assert "3\n" == run_command("python -c 'print(1); print(3)' | tail -n 1", "", course, 60)


def test_the_environment_is_fixed(course):
    code = "import os; print(os.environ['OMP_NUM_THREADS'], os.environ['COLUMNS'], os.environ['TERM'], os.environ['MPLBACKEND'], os.getcwd())"
    assert f"1 100 dumb Agg {course.resolve()}\n" == run_command(f'python -c "{code}"', "", course, 60)


def test_a_command_that_hangs_is_ended_with_its_whole_tree(course):
    child = "import subprocess, sys, time; print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']).pid); time.sleep(600)"
    start = time.monotonic()
    output = run_command(f'python -c "{child}"', "", course, 3)
    assert time.monotonic() - start < 60
    assert "(stopped: still running after 3 seconds)" in output
    grandchild = int(output.split()[0])
    assert not psutil.pid_exists(grandchild) or psutil.Process(grandchild).status() == psutil.STATUS_ZOMBIE


def test_a_page_that_cannot_be_read_is_a_usage_error(course, capsys):
    assert 2 == main([str(page(course, "```console\nno prompt\n```\n"))])
    assert "begins with `$ command`" in capsys.readouterr().err
    assert 2 == main([str(course / "absent.md")])


def test_the_root_is_the_course_around_the_page(course):
    assert course.resolve() == course_root(course / "lessons/lesson01/page.md")

from __future__ import annotations

import contextlib
import io
import sys
from types import ModuleType

import pytest


@pytest.fixture
def simulated(monkeypatch):
    """A stand-in for the simulated device, which only notes when it is on; argv and path come back afterwards."""
    state = []

    @contextlib.contextmanager
    def simulated_cuda():
        state.append("on")
        try:
            yield
        finally:
            state.append("off")

    module = ModuleType("grader.run.simcuda")
    module.simulated_cuda = simulated_cuda
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setattr(sys, "path", list(sys.path))
    return state


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(text):
        folder = tmp_path / "work"
        folder.mkdir(exist_ok=True)
        (folder / "beside.py").write_text("VALUE = 7\n", encoding="utf-8")
        (folder / "script.py").write_text(text, encoding="utf-8")
        return "work/script.py"

    return write


def test_a_script_runs_as_python_would_run_it(call, simulated, script):
    file = script("import sys, beside\nprint(__name__, sys.argv, beside.VALUE, __file__)\n")
    shown = call("sim", file, "--epochs", "2", "--help")

    assert (shown.code, shown.err) == (0, "")
    assert shown.out == "__main__ ['work/script.py', '--epochs', '2', '--help'] 7 work/script.py\n"
    assert simulated == ["on", "off"]


def test_an_exception_is_shown_as_python_shows_it(call, simulated, script):
    file = script("def step():\n    raise RuntimeError('two devices')\n\n\nstep()\n")
    shown = call("sim", file)

    assert shown.code == 1
    assert shown.err.startswith('Traceback (most recent call last):\n  File "work/script.py", line 5, in <module>\n')
    assert shown.err.endswith("RuntimeError: two devices\n")
    assert "runpy" not in shown.err
    assert simulated == ["on", "off"]


def test_a_syntax_error(call, simulated, script):
    shown = call("sim", script("def step(:\n"))

    assert shown.code == 1
    assert 'work/script.py", line 1' in shown.err
    assert "SyntaxError" in shown.err
    assert "runpy" not in shown.err


def test_the_exit_code_is_the_scripts(call, simulated, script):
    assert call("sim", script("raise SystemExit(7)\n")).code == 7
    assert simulated == ["on", "off"]


def test_the_debugger_sees_the_script(call, simulated, script, monkeypatch):
    file = script("x = 41\nx += 1\nprint(x)\n")
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\nn\np x * 10\nq\n"))
    shown = call("sim", "--pdb", file, "argument")

    assert shown.code == 0
    assert "script.py(1)<module>()" in shown.out
    assert "420" in shown.out
    assert simulated == ["on", "off"]

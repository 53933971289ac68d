"""What is refused before it runs, and what is not."""

from pathlib import Path

import pytest

from grader.run.vet import RejectedError, read_source, vet


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"", "the file is empty"),
        (b" \n\n", "the file is empty"),
        (b"\xff\xfe" + "x = 1\n".encode("utf-16-le"), "NUL bytes"),
        (b"x = '\xe9'\n", "not valid UTF-8"),
        (b"# -*- coding: no-such-codec -*-\nx = 1\n", "not valid UTF-8"),
        (b"#" * 1_000_001, "larger than 1000 kB"),
    ],
)
def test_a_file_that_is_no_python_text_is_rejected_with_a_sentence(tmp_path: Path, raw: bytes, sentence: str) -> None:
    path = tmp_path / "train.py"
    path.write_bytes(raw)
    with pytest.raises(RejectedError, match=sentence):
        read_source(path)


def test_a_missing_file_and_a_directory_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(RejectedError, match="no such file"):
        read_source(tmp_path / "nothing.py")
    with pytest.raises(RejectedError, match="directory"):
        read_source(tmp_path)


@pytest.mark.parametrize(
    "raw",
    ["\ufeffx = 'é'\n".encode(), "x = 'é'\r\n".encode(), "x = 'é'\r".encode(), "# coding: latin-1\nx = 'é'\n".encode("latin-1")],
    ids=["byte-order mark", "CRLF", "CR", "latin-1 declared"],
)
def test_other_encodings_and_line_ends_are_read(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "train.py"
    path.write_bytes(raw)
    assert read_source(path).endswith("x = 'é'\n")


def test_a_syntax_error_is_rejected_with_its_line() -> None:
    with pytest.raises(RejectedError, match="SyntaxError") as caught:
        vet("x = 1\ndef broken(:\n")
    assert 2 == caught.value.line


@pytest.mark.parametrize(
    "source",
    [
        "import grader",
        "from grader.run import child",
        "import importlib\nimportlib.import_module('grader.run.child')",
        "import sys\nsys._getframe(1)",
        "import gc\ngc.get_objects()",
        "import ctypes",
        "import inspect\ninspect.stack()",
        "from inspect import stack",
        "f = lambda: 0\nf.__closure__",
        "try:\n    x\nexcept NameError as e:\n    e.__traceback__.tb_frame",
        "import torch\ntorch.nn.modules.module._global_forward_hooks.clear()",
        "getattr(object, '__subclasses__')()",
        "exec('x = 1')",
        "eval('1')",
        "__import__('os')",
    ],
)
def test_reaching_into_the_grader_is_rejected(source: str) -> None:
    with pytest.raises(RejectedError, match="reaches into the grader"):
        vet(source)


@pytest.mark.parametrize(
    "source",
    [
        "import gc\ngc.collect()",
        "model.eval()\nmodel = torch.compile(model)",
        "import inspect\ninspect.signature(main)",
        "x = torch.stack([a, b])",
        "torch.nn.modules.module.register_module_forward_hook(print)",
        "'''The grader runs this file.'''",
        "import atexit, signal, subprocess, multiprocessing, os, sys, warnings, logging",
        "loss.register_hook(print)\nmodel.register_full_backward_hook(print)",
    ],
)
def test_ordinary_tools_are_not(source: str) -> None:
    vet(source)

"""Look at a submission before it runs: is it a Python file at all, and does it stay out of the grader?

Reaching into the observer's own process (frames, closures, the garbage collector's object list, ctypes, the hook tables, the grader's modules)
has no place in a training script, and is the way to forge evidence: such a file is rejected unrun, with the line. What remains possible is
written down in CONTRIBUTING.md; the parent's own measurements (held-out accuracy, event files) do not rest on the child's honesty.
"""

from __future__ import annotations

import ast
import io
import stat
import tokenize
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

LARGEST = 1_000_000
MODULES = {"grader", "ctypes", "_ctypes", "cffi", "faulthandler", "_posixsubprocess", "_testcapi"}
ATTRIBUTES = {
    "_getframe", "_current_frames", "f_back", "f_locals", "f_globals", "f_builtins", "tb_frame", "gi_frame", "cr_frame", "ag_frame",
    "__closure__", "cell_contents", "__subclasses__", "get_objects", "get_referrers", "get_referents", "currentframe", "getouterframes",
    "_global_forward_hooks", "_global_forward_pre_hooks", "_global_backward_hooks", "_global_optimizer_pre_hooks",
    "_global_forward_hooks_always_called", "addaudithook", "_pop_torch_function_stack", "_get_function_stack_at", "_len_torch_function_stack",
    "__self__", "__func__", "__globals__", "__code__", "setprofile", "settrace",
    "walk_stack", "walk_tb", "_push_on_torch_function_stack", "DisableTorchFunction", "_get_current_function_mode_stack", "_pop_mode", "__wrapped__",
}  # fmt: skip
BUILTINS = {"exec", "eval", "compile", "__import__", "__loader__", "__spec__", "__builtins__"}


class RejectedError(Exception):
    """The submission was not run; the message says why. line: where, if a line is to blame."""

    def __init__(self, message: str, line: int | None = None) -> None:
        """Keep the line beside the message."""
        super().__init__(message)
        self.line = line


def read_source(path: Path) -> str:
    """The text of a submission, decoded as Python itself would (PEP 263, byte-order mark), line ends made plain.

    Raises RejectedError if the file is missing, empty, too large, not text, or not Python.
    """
    if path.is_dir():
        msg = "this is a directory, not a file: give the path of one train.py"
        raise RejectedError(msg)
    try:
        info = path.stat()
        if not stat.S_ISREG(info.st_mode):
            msg = "this is not an ordinary file: give the path of one train.py"
            raise RejectedError(msg)
        with path.open("rb") as stream:
            raw = stream.read(LARGEST + 1)
    except FileNotFoundError:
        msg = "there is no such file"
        raise RejectedError(msg) from None
    except OSError as error:
        msg = f"the file cannot be read: {error.strerror}"
        raise RejectedError(msg) from None
    if len(raw) > LARGEST:
        msg = f"the file is larger than {LARGEST // 1000} kB: a train.py is a few kilobytes"
        raise RejectedError(msg)
    if not raw.strip():
        msg = "the file is empty"
        raise RejectedError(msg)
    if b"\0" in raw:
        msg = "the file holds NUL bytes: it is not a Python source file (saved as UTF-16?)"
        raise RejectedError(msg)
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        text = raw.decode(encoding)
    except (SyntaxError, UnicodeError, LookupError):
        msg = "the file is not valid UTF-8: save it as UTF-8 and try again"
        raise RejectedError(msg) from None
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def vet(text: str) -> ast.Module:
    """Parse and look through a submission.  Raises RejectedError for a syntax error or for reaching into the grader."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        msg = f"SyntaxError: {error.msg}"
        raise RejectedError(msg, error.lineno) from None
    except (ValueError, RecursionError, MemoryError) as error:
        msg = f"the file cannot be parsed: {error}"
        raise RejectedError(msg) from None
    own = _bound(tree)
    for node in ast.walk(tree):
        name = _reaches(node)
        if name and not (isinstance(node, ast.Name) and name in own):
            msg = f"it reaches into the grader's own process ({name}): a train.py needs nothing but its libraries"
            raise RejectedError(msg, getattr(node, "lineno", None))
    return tree


def _bound(tree: ast.Module) -> set[str]:
    """Names that the file itself gives to something: a learner may well call a function `eval`."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name)
    return names


def _reaches(node: ast.AST) -> str | None:
    """The name by which a node reaches into the grader or hides what it does, or None."""
    if isinstance(node, ast.Import):
        return next((a.name for a in node.names if a.name.split(".")[0] in MODULES), None)
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        if node.module.split(".")[0] in MODULES:
            return node.module
        return next((a.name for a in node.names if a.name in ATTRIBUTES or (node.module, a.name) == ("inspect", "stack")), None)
    if isinstance(node, ast.Attribute):
        stack = node.attr == "stack" and isinstance(node.value, ast.Name) and node.value.id == "inspect"
        return node.attr if node.attr in ATTRIBUTES or stack else None
    if isinstance(node, ast.Name):
        return node.id if node.id in BUILTINS else None
    text = _text(node)
    if text is not None:
        reached = text in ATTRIBUTES or text in MODULES - {"grader"} or text.startswith("grader.")
        return text if reached else None
    return None


def _text(node: ast.AST) -> str | None:
    """A string constant, also one that is put together from constants."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text(node.left), _text(node.right)
        return None if left is None or right is None else left + right
    return None

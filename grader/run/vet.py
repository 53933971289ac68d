"""Look at a submission before it runs: is it a Python file at all, and does it stay out of the grader?

Reaching into the observer's own process (frames, closures, the garbage collector's object list, ctypes, the hook tables, the grader's modules)
has no place in a training script, and is the way to forge evidence: such a file is rejected unrun, with the line. What remains possible is
written down in CONTRIBUTING.md; the parent's own measurements (held-out accuracy, event files) do not rest on the child's honesty.
"""

from __future__ import annotations

import ast
import io
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
    "_push_on_torch_function_stack", "DisableTorchFunction", "_get_current_function_mode_stack", "_pop_mode", "__wrapped__",
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
        raw = path.read_bytes() if path.stat().st_size <= LARGEST else None
    except FileNotFoundError:
        msg = "there is no such file"
        raise RejectedError(msg) from None
    except OSError as error:
        msg = f"the file cannot be read: {error.strerror}"
        raise RejectedError(msg) from None
    if raw is None:
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
    except (SyntaxError, UnicodeDecodeError, LookupError):
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
    for node in ast.walk(tree):
        name = _reaches(node)
        if name:
            msg = f"it reaches into the grader's own process ({name}): a train.py needs nothing but its libraries"
            raise RejectedError(msg, getattr(node, "lineno", None))
    return tree


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
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        reached = node.value in ATTRIBUTES or node.value in MODULES - {"grader"} or node.value.startswith("grader.")
        return node.value if reached else None
    return None

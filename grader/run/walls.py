"""What the child may use up, and an alarm for reaching into the process around the submission.

Resource limits exist on POSIX only; elsewhere the parent's watch over memory, time and disk is the limit.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

LARGEST_FILE = 512 * 2**20
REACHING = frozenset(
    {
        "sys._getframe",
        "sys._current_frames",
        "gc.get_objects",
        "gc.get_referrers",
        "gc.get_referents",
        "ctypes.dlopen",
        "ctypes.dlsym",
        "ctypes.string_at",
    }
)


def limit_resources(job: dict[str, Any], *, gpu: bool) -> None:
    """Limit file size, core dumps and, without a GPU, the data segment; silently less where the system has no such limits."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _lower(resource, resource.RLIMIT_FSIZE, LARGEST_FILE)
    if not gpu and sys.platform == "linux":
        _lower(resource, resource.RLIMIT_DATA, (job["memory_mb"] + 4096) * 2**20)


def _lower(resource: Any, which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (value, hard))


def audit_reaching(file: str, emit: Callable[..., None]) -> None:
    """From now on, note when a line of `file` itself asks for frames, the collector's lists or raw memory.

    An audit hook cannot be removed again by Python code, so that this holds for the rest of the process.
    """
    owner = os.getpid()
    busy = False

    def hook(event: str, _args: tuple[Any, ...]) -> None:
        nonlocal busy
        if busy or event not in REACHING:
            return
        busy = True
        try:
            caller = sys._getframe(1)  # noqa: SLF001 - the frame that raised the event
            if caller.f_code.co_filename in (file, "<string>") and os.getpid() == owner:
                emit("reaching", what=event, line=caller.f_lineno)
        finally:
            busy = False

    sys.addaudithook(hook)

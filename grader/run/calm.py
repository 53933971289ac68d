"""When the torch-function mode runs: always at first; once ordinary modules are being trained, only where it is needed.

The mode costs about a microsecond for each call into torch, which is a third of a small network's step if it also watches the optimiser and
the data pipeline.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.overrides import _get_current_function_mode

if TYPE_CHECKING:
    from grader.run.ops import OpMode

PATIENCE = 3


class Calm:
    """Puts the mode on and off. It only takes off what lies on top: a mode that the submission has put over it stays where it is."""

    def __init__(self, mode: OpMode) -> None:
        """mode: not yet active."""
        self._mode = mode
        self._on = False
        self._calm = False
        self._ordinary = 0

    def wake(self) -> None:
        """Watch everything (again)."""
        self._calm = False
        self._ordinary = 0
        self._put_on()

    def count(self, *, ordinary: bool) -> None:
        """A step has ended. ordinary: it went through a module, so that hooks alone can follow the next ones."""
        self._ordinary = self._ordinary + 1 if ordinary else 0
        if self._ordinary >= PATIENCE and not self._calm:
            self._calm = True
            self.leave()

    def enter(self) -> None:
        """A forward pass that is recorded in full begins."""
        self._put_on()

    def leave(self) -> None:
        """It has ended."""
        if self._calm:
            self.off()

    def _put_on(self) -> None:
        if not self._on:
            self._mode.__enter__()  # type: ignore[no-untyped-call] # torch leaves it untyped
            self._on = True

    def off(self) -> None:
        """Take the mode off, if it lies on top."""
        if self._on and _get_current_function_mode() is self._mode:
            self._mode.__exit__(None, None, None)
            self._on = False

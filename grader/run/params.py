"""Following parameters through time: how far updates moved them, whether anything moved at all, and whether an exact earlier state came back.

Every step a *fingerprint* of a few numbers is taken, cheaply; it tells whether the parameters changed and recognises states seen before. The
full distance to the step before is measured on chosen steps only (`measured`): densely at first, later every eighth.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import torch

from grader.run.tensors import is_lazy, norms, plain, quiet

if TYPE_CHECKING:
    from collections.abc import Sequence

EVERY, DENSE = 8, 24
PICKS = 4


def measured(step: int) -> bool:
    """Whether the update of this step is measured in full."""
    return step < DENSE or step % EVERY == 0


class Look(NamedTuple):
    """What a look at the parameters found.

    changed: since the look before (None: first look); update: ||w - w_before|| / ||w_before||, where it was measured; back: the index of the
    step whose exact state has come back, or None.
    """

    changed: bool | None = None
    update: float | None = None
    back: int | None = None


class Track:
    """The history of one set of named tensors: norms, fingerprints and two copies, the first values seen and those before the next measured step."""

    def __init__(self) -> None:
        """Nothing seen yet."""
        self.names: list[str] = []
        self.first: list[torch.Tensor] = []
        self.last: list[torch.Tensor] = []
        self.finite = True
        self._print: tuple[float, ...] = ()
        self._states: dict[tuple[float, ...], int] = {}
        self._fresh = False

    def look(self, named: Sequence[tuple[str, torch.Tensor]], step: int) -> Look:
        """Compare with the look before.

        named: the tensors now; step: the index of the step that ends with this look.
        """
        with quiet():
            pairs = [(name, plain(tensor)) for name, tensor in named if not is_lazy(tensor) and tensor.is_floating_point()]
            now = [tensor for _, tensor in pairs]
            if not now:
                return Look()
            if len(now) != len(self.last) or any(a.shape != b.shape or a.device != b.device for a, b in zip(now, self.last, strict=True)):
                self.names = [name for name, _ in pairs]
                self.first, self.last = [t.clone() for t in now], [t.clone() for t in now]
                self._fresh = True
                self._print = self.fingerprint(now)
                self._states = {self._print: step}
                return Look()
            mark = self.fingerprint(now)
            update: float | None = None
            changed = mark != self._print
            if self._fresh and (measured(step) or not changed):
                delta, size = self._distance(now)
                update, changed = delta / max(size, 1e-12), delta != 0.0
            back = self._remember(mark, step) if changed else None
            self._fresh = measured(step + 1)
            if self._fresh:
                torch._foreach_copy_(self.last, now)
            return Look(changed, update, back)

    def jumped(self, named: Sequence[tuple[str, torch.Tensor]]) -> int | None:
        """Whether the parameters have changed since the last look although no step was taken.

        Returns None if not, the index of the step whose exact state has come back, or -1 for a state never seen (weights made anew).
        """
        with quiet():
            now = [plain(tensor) for _, tensor in named if not is_lazy(tensor) and tensor.is_floating_point()]
            if len(now) != len(self.last) or not now or any(a.shape != b.shape or a.device != b.device for a, b in zip(now, self.last, strict=True)):
                return None
            mark = self.fingerprint(now)
            if mark == self._print:
                return None
            if self._fresh:
                torch._foreach_copy_(self.last, now)
            back = self._states.get(mark, -1)
            self._print = mark
            return back

    def fingerprint(self, now: Sequence[torch.Tensor]) -> tuple[float, ...]:
        """A few numbers of the first and the last tensors and the norms of the rest: enough to tell one state of a training from another."""
        chosen = [*now[-PICKS:], *now[:-PICKS][:PICKS]]
        values = [t.reshape(-1)[n // 2 : n // 2 + 3].float() for t in chosen if (n := t.numel())]
        rest = list(now[PICKS:-PICKS]) if len(now) > 2 * PICKS else []
        numbers: list[float] = torch.cat(values).tolist() if len({t.device for t in values}) == 1 else [x for t in values for x in t.tolist()]
        numbers += norms(rest)
        self.finite = all(map(math.isfinite, numbers))
        return tuple(numbers)

    def seen(self, tensors: Sequence[torch.Tensor]) -> bool:
        """Whether these values are an exact state of this history."""
        return self.fingerprint(tensors) in self._states

    def came_to(self, tensors: Sequence[torch.Tensor]) -> bool:
        """Whether these values are an exact state of this history, other than its first."""
        if [t.shape for t in tensors] != [t.shape for t in self.first]:
            return False
        mark = self.fingerprint(tensors)
        return mark in self._states and mark != self.fingerprint(self.first)

    def latest(self, named: Sequence[tuple[str, torch.Tensor]]) -> None:
        """Take the values as the last of this history."""
        by_name = {name: plain(tensor) for name, tensor in named}
        self.last = [by_name.get(name, old) for name, old in zip(self.names, self.last, strict=True)]

    def _distance(self, now: list[torch.Tensor]) -> tuple[float, float]:
        delta = torch._foreach_sub(now, self.last)  # noqa: SLF001 - what torch.optim itself uses; one call for all
        return math.hypot(*norms(list(delta))), math.hypot(*norms(self.last))

    def _remember(self, mark: tuple[float, ...], step: int) -> int | None:
        self._print = mark
        back = self._states.get(mark)
        if back is None and self.finite:
            self._states[mark] = step
        return back


class NamedParameters:
    """A module's named parameters, kept as long as nothing about them changes (walking the modules in every step costs more than the step)."""

    def __init__(self) -> None:
        """Nothing kept."""
        self._named: list[tuple[str, torch.Tensor]] = []
        self._owners: list[tuple[dict[str, torch.nn.Parameter | None], str, torch.nn.Parameter]] = []
        self._children: list[tuple[dict[str, torch.nn.Module | None], tuple[int, ...]]] = []

    def of(self, module: torch.nn.Module) -> list[tuple[str, torch.Tensor]]:
        """The same as list(module.named_parameters())."""
        if isinstance(module, torch.jit.ScriptModule):
            return list(module.named_parameters())
        valid = bool(self._named) and all(owner.get(key) is tensor for owner, key, tensor in self._owners)
        if not valid or any(tuple(map(id, children.values())) != known for children, known in self._children):
            self._named = list(module.named_parameters())
            self._owners = [(m._parameters, k, p) for m in module.modules() for k, p in m._parameters.items() if p is not None]  # noqa: SLF001
            self._children = [(m._modules, tuple(map(id, m._modules.values()))) for m in module.modules()]  # noqa: SLF001
        return self._named

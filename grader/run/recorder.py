"""The recorder: observes any PyTorch training from outside, through PyTorch's own hooks.

It knows no lesson and needs no contract. A *root call* is an outermost call of a module with parameters; a *step* runs from a forward pass to
the next change of the parameters. Early steps are recorded in full, later ones sparsely (`is_sampled`), so that recording costs little.
"""

from __future__ import annotations

import math
import weakref
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from grader.run.gradients import GradientTap, OutputTap
from grader.run.loose import LooseWeights
from grader.run.norms import LastNorm
from grader.run.ops import OpMode
from grader.run.params import Track
from grader.run.steps import EMPTY, LOOSE, Pending, Root, add_moments, guarded, is_sampled
from grader.run.tensors import flat, is_wrapped, moments, plain, quiet, ten_wide
from grader.run.trace import Tracer
from grader.run.truth import gradient_truth

if TYPE_CHECKING:
    from collections.abc import Callable


class Recorder:
    """Write down what a training does. `install` before the submission is imported, `remove` after main returned."""

    def __init__(self, emit: Callable[..., None], file: str) -> None:
        """emit(kind, **fields) writes one line of evidence; file: the submission's file name, to locate calls in."""
        self.emit = emit
        self.step = 0
        self.roots: dict[int, Root] = {}
        self.pending = Pending()
        self.stack: list[nn.Module] = []
        self.paused = 0
        self.autograd_seen = False
        self.tracer = Tracer(emit, file)
        self.taps = GradientTap()
        self.outputs = OutputTap()
        self.loose = LooseWeights()
        self.loose_track = Track()
        self.last_norm = LastNorm()
        self.mode = OpMode(self._on_weighted, self._on_loss, self._on_norm)
        self.truth_done = self.truth_failed = False
        self.trained: set[int] = set()
        self.broken = False

    # -- module hooks ------------------------------------------------------------------------------------------------

    @guarded
    def on_enter(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        """A global forward pre-hook."""
        if self.paused or type(module).__module__.startswith("torchvision.transforms") or torch._C._get_tracing_state() is not None:  # noqa: SLF001 - jit has no public question
            return
        outermost = not self.stack
        self.stack.append(module)
        if outermost and next(module.parameters(), None) is not None:
            root = self._root(module)
            if self.pending.backward or self.pending.optimiser or not self.autograd_seen:
                self.settle()
            root.first_done = False
            self.last_norm.forget()
            self._begin(root, module, args)
        self.tracer.enter(module, args, self.stack, self.mode)

    @guarded
    def on_leave(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        """A global forward hook, called even where forward raised (output is None then)."""
        if self.paused or not self.stack or module not in self.stack:
            return
        while self.stack and self.stack.pop() is not module:
            pass
        self.tracer.leave(module, output, self.stack, self.mode)
        wide = ten_wide(output)
        if wide is not None and torch.is_grad_enabled() and wide.requires_grad and not is_wrapped(wide) and is_sampled(self.step):
            self.outputs.tap(wide, module)
        if not self.stack and id(module) in self.roots:
            for tensor in flat(output):
                if tensor.is_floating_point():
                    with quiet():
                        self.pending.finite &= bool(torch.isfinite(plain(tensor)).all())
            if wide is not None and wide.requires_grad and not is_wrapped(wide) and not self.truth_done:
                self.truth_done = True
                self.paused += 1
                try:
                    seen = gradient_truth(module, args)
                    self.truth_failed = "error" in seen
                    self.emit("truth", root=self.roots[id(module)].key, **seen)
                finally:
                    self.paused -= 1

    def _root(self, module: nn.Module) -> Root:
        root = self.roots.get(id(module))
        if root is None or root.module() is not module:
            root = Root(len(self.roots), weakref.ref(module), type(module).__name__)
            self.roots[id(module)] = root
            self.emit("root", root=root.key, type=root.kind)
        return root

    def _begin(self, root: Root, module: nn.Module, args: tuple[Any, ...]) -> None:
        named = list(module.named_parameters())
        if not root.track.last:
            root.track.look(named, self.step)
        first = next(flat(args), None)
        rows = int(first.shape[0]) if first is not None and first.dim() else 0
        root.largest = max(root.largest, rows)
        pending = self.pending
        if torch.is_grad_enabled() or not self.autograd_seen:
            pending.roots[root.key] = root
            pending.rows = max(pending.rows, rows) if len(pending.roots) > 1 else pending.rows + rows
            pending.parameter_device = str(named[0][1].device)
            if first is not None:
                pending.input_device = str(first.device)
        if torch.is_grad_enabled() and is_sampled(self.step):
            self.taps.tap(named, root.key)

    # -- operations --------------------------------------------------------------------------------------------------

    @guarded
    def _on_weighted(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self.paused:
            return
        root = self.roots.get(id(self.stack[0])) if self.stack else None
        if root is None:
            if self.pending.backward:
                self.settle()
            operand = self.loose.see(func, args, kwargs)
            if operand is not None and torch.is_grad_enabled():
                self.pending.rows = max(self.pending.rows, self.loose.rows)
                self.pending.parameter_device, self.pending.input_device = str(operand.weight.device), str(operand.input.device)
                if is_sampled(self.step):
                    self.taps.tap(self.loose.named(self.loose.slots)[-1:], LOOSE)
        elif not root.first_done:
            operand = self.loose.weight_of(func, args, kwargs)
            if operand is not None and operand.weight.dim() > 1:
                root.first_done = True
                with quiet():
                    new = moments(self.last_norm.without_affine(operand.input))
                if torch.is_grad_enabled() or not self.autograd_seen:
                    add_moments(root.fresh, new)
                else:
                    add_moments(root.moments.setdefault("eval", list(EMPTY)), new)

    @guarded
    def _on_norm(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        root = self.roots.get(id(self.stack[0])) if self.stack else None
        if root is not None and not root.first_done and not self.paused and not is_wrapped(result):
            self.last_norm.see(func, args, kwargs, result)

    @guarded
    def _on_loss(self, _func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self.paused or (self.stack[:1] and id(self.stack[0]) in self.roots):
            return
        wide = ten_wide(args[:1] or list(kwargs.values())[:1])
        if wide is not None and wide.requires_grad and not is_wrapped(wide) and is_sampled(self.step):
            self.outputs.tap(wide, None)

    # -- backward and optimiser --------------------------------------------------------------------------------------

    @guarded
    def on_backward(self, loss: torch.Tensor | None, named_gradients: list[tuple[torch.Tensor, torch.Tensor | None]] | None = None) -> None:
        """A backward pass from `loss` has just run; named_gradients: what torch.autograd.grad returned, input by input."""
        self.autograd_seen = True
        self.pending.backward = True
        if loss is not None:
            with quiet():
                self.pending.loss = float(plain(loss).sum())
            self.pending.finite &= math.isfinite(self.pending.loss)
        if named_gradients:
            self.taps.given(named_gradients)

    @guarded
    def on_functional_gradient(self, gradients: dict[str, torch.Tensor], loss: torch.Tensor | None) -> None:
        """torch.func.grad has returned these gradients, by parameter name."""
        self.on_backward(loss)
        if is_sampled(self.step):
            self.taps.named(gradients, next(iter(self.pending.roots), LOOSE))

    @guarded
    def on_optimiser(self, optimiser: torch.optim.Optimizer, *_: Any) -> None:
        """An optimiser step is about to run."""
        if self.paused:
            return
        rate = optimiser.param_groups[0].get("lr")
        self.pending.lr = float(rate) if isinstance(rate, (int, float, torch.Tensor)) else None
        self.pending.optimiser = True

    @guarded
    def settle(self) -> None:
        """Close the pending step if anything happened in it, and write it down."""
        pending, index = self.pending, self.step
        acted = pending.backward or pending.optimiser
        if not acted and self.autograd_seen:
            return
        slots = self.loose.close_step() if not pending.roots else []
        update: float | None = None
        revisits: int | None = None
        watched = [(root.track, list(module.named_parameters())) for root in pending.roots.values() if (module := root.module()) is not None]
        if slots:
            watched.append((self.loose_track, self.loose.named(slots)))
        for track, named in watched:
            moved, back = track.look(named, index)
            pending.finite &= track.finite
            if moved is not None:
                update = moved if update is None else max(update, moved)
                revisits = back if back is not None else revisits
        self.pending = Pending()
        for root in pending.roots.values():
            if acted or update:
                add_moments(root.moments.setdefault("train", list(EMPTY)), root.fresh)
            root.fresh = list(EMPTY)
        if not acted and not update:
            return
        if update or update is None:
            self.trained.update(pending.roots or [LOOSE])
        self.emit(
            "step",
            i=index,
            roots=list(pending.roots) or [LOOSE],
            loss=pending.loss,
            rows=pending.rows,
            lr=pending.lr,
            grads=self.taps.take(),
            update=update,
            revisits=revisits,
            finite=pending.finite,
            pdev=pending.parameter_device,
            idev=pending.input_device,
        )
        for sample in self.outputs.take():
            self.emit("sample", step=index, **sample)
        self.step += 1

"""The recorder: observes any PyTorch training from outside, through PyTorch's own hooks.

It knows no lesson and needs no contract. A *root call* is an outermost call of a module with parameters; a *step* runs from a forward pass to
the next change of the parameters. Early steps are recorded in full, later ones sparsely (`is_sampled`), so that recording costs little.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from grader.run.calm import Calm
from grader.run.gradients import GradientTap, OutputTap
from grader.run.loose import LooseWeights
from grader.run.operations import Operations
from grader.run.ops import OpMode
from grader.run.params import Track
from grader.run.steps import EMPTY, LOOSE, Pending, Root, Sampling, guarded
from grader.run.tensors import flat, is_wrapped, plain, quiet, ten_wide
from grader.run.trace import Tracer, place_of

if TYPE_CHECKING:
    from collections.abc import Callable


class Recorder:
    """Write down what a training does; `grader.run.wraps.Attached` connects it to PyTorch.

    Once a few steps of ordinary modules have gone by it is *calm*: the torch-function mode then only runs inside the forward passes that are
    recorded in full, and most module calls pass with a glance.
    """

    def __init__(self, emit: Callable[..., None], file: str, salt: str = "") -> None:
        """emit(kind, **fields) writes one line of evidence; file: the submission's file name, to locate calls in; salt: for choosing steps."""
        self.emit = emit
        self.file = file
        self.step = 0
        self.is_sampled = Sampling(salt)
        self.roots: dict[int, Root] = {}
        self.pending = Pending()
        self.stack: list[nn.Module] = []
        self.paused = 0
        self.autograd_seen = False
        self.detailed = True
        self.tracer = Tracer(emit, file)
        self.taps = GradientTap()
        self.outputs = OutputTap()
        self.loose = LooseWeights()
        self.loose_track = Track()
        self.operations = Operations(self)
        self.mode = OpMode(self.operations.on_weighted, self.operations.on_loss, self.operations.on_norm)
        self.calm = Calm(self.mode)
        self.trained: set[int] = set()
        self.broken = False
        self.inside = False

    # -- module hooks ------------------------------------------------------------------------------------------------

    @guarded
    def on_enter(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        """A global forward pre-hook."""
        if self.paused:
            return
        if self.stack and not self.detailed:
            root = self.roots[id(self.stack[0])]
            if module is root.first_module and not root.first_done:
                self.operations.first_input(root, args[0] if args else None)
            return
        if type(module).__module__.startswith("torchvision.transforms") or torch._C._get_tracing_state() is not None:  # noqa: SLF001 - jit has no public question
            return
        self.stack.append(module)
        if len(self.stack) == 1:
            self.detailed = True
            if next(module.parameters(), None) is not None:
                self._begin(module, args)
        if self.detailed:
            self.tracer.enter(module, args, self.stack, self.mode)

    @guarded
    def on_leave(self, module: nn.Module, _args: tuple[Any, ...], output: Any) -> None:
        """A global forward hook, called even where forward raised (output is None then)."""
        if self.paused or not self.stack or (not self.detailed and module is not self.stack[0]) or module not in self.stack:
            return
        while self.stack and self.stack.pop() is not module:
            pass
        root = None if self.stack else self.roots.get(id(module))
        if self.detailed:
            self.tracer.leave(module, output, self.stack, self.mode)
            wide = ten_wide(output)
            if wide is not None and wide.requires_grad and torch.is_grad_enabled() and not is_wrapped(wide) and self.is_sampled(self.step):
                self.outputs.tap(wide, module)
        if root is not None:
            self.calm.leave()
            self._end(root, module, output)

    def _begin(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        root = self.roots.get(id(module))
        if root is None:
            root = self.roots[id(module)] = Root(len(self.roots), module, type(module).__name__)
            self.emit("root", root=root.key, type=root.kind)
        due = self.pending.backward or self.pending.optimiser or not self.autograd_seen
        if due:
            self.settle()
        self.detailed = self.is_sampled(self.step) or self.tracer.active or not root.plain_first
        if self.detailed:
            self.calm.enter()
        root.first_done = False
        self.operations.forget()
        named = root.named()
        if not root.track.last:
            root.track.look(named, self.step)
        first = next(flat(args), None)
        rows = int(first.shape[0]) if first is not None and first.dim() else 0
        root.rows, root.largest = rows, max(root.largest, rows)
        pending = self.pending
        if torch.is_grad_enabled() or not (self.autograd_seen or self.loose.plain):
            if not pending.roots and self.step and not due:  # a step that was settled just now has looked at the parameters already
                jump = root.track.jumped(named)
                pending.jump = jump if jump is not None else pending.jump
            pending.roots[root.key] = root
            pending.rows = max(pending.rows, rows) if len(pending.roots) > 1 else pending.rows + rows
            pending.parameter_device = str(named[0][1].device)
            if first is not None:
                pending.input_device = str(first.device)
            if self.detailed:
                pending.called = place_of(self.file)
        if self.detailed and torch.is_grad_enabled() and self.is_sampled(self.step):
            self.taps.tap(named, root.key)

    def _end(self, root: Root, module: nn.Module, output: Any) -> None:
        if root.key in self.pending.roots:
            self.pending.forward(next(flat(output), None), root.rows, training=module.training)
        with quiet():
            for tensor in flat(output):
                if tensor.is_floating_point():
                    self.pending.finite &= bool(torch.isfinite(plain(tensor)).all())

    # -- backward and optimiser --------------------------------------------------------------------------------------

    @guarded
    def on_backward(self, loss: torch.Tensor | None, named_gradients: list[tuple[torch.Tensor, torch.Tensor | None]] | None = None) -> None:
        """A backward pass from `loss` has just run; named_gradients: what torch.autograd.grad returned, input by input."""
        self.autograd_seen = True
        self.pending.backward = True
        if self.is_sampled(self.step):
            self.pending.backed = place_of(self.file)
        if not self.pending.roots:
            self.calm.wake()
        if loss is not None:
            with quiet():
                value = float(plain(loss).sum())
            self.pending.loss = value if loss.numel() == 1 else None
            self.pending.finite &= math.isfinite(value)
        if named_gradients:
            self.taps.given(named_gradients)

    @guarded
    def on_functional_gradient(self, gradients: dict[str, torch.Tensor], loss: torch.Tensor | None) -> None:
        """torch.func.grad has returned these gradients, by parameter name."""
        self.on_backward(loss)
        if self.is_sampled(self.step):
            self.taps.named(gradients, next(iter(self.pending.roots), LOOSE))

    @guarded
    def on_optimiser(self, optimiser: torch.optim.Optimizer, *_: Any) -> None:
        """An optimiser step is about to run."""
        if self.paused:
            return
        rate = optimiser.param_groups[0].get("lr")
        self.pending.lr = float(rate) if isinstance(rate, (int, float, torch.Tensor)) else None
        self.pending.optimiser = True
        self.inside = True

    @guarded
    def after_optimiser(self, *_: Any) -> None:
        """An optimiser step has run."""
        self.inside = False

    @guarded
    def settle(self) -> None:
        """Close the pending step if anything happened in it, and write it down."""
        pending, index = self.pending, self.step
        acted = pending.backward or pending.optimiser
        if not acted and self.autograd_seen:
            return
        slots = self.loose.close_step() if not pending.roots else []
        watched = [(root.track, root.named()) for root in pending.roots.values()]
        if slots:
            watched.append((self.loose_track, self.loose.named(slots)))
        looks = []
        for track, named in watched:
            looks.append(track.look(named, index))
            pending.finite &= track.finite
        changed = [look.changed for look in looks if look.changed is not None]
        updates = [look.update for look in looks if look.update is not None]
        backs = [look.back for look in looks if look.back is not None]
        self.pending = Pending()
        acted = acted or any(changed)
        for root in pending.roots.values():
            if acted:
                root.add("train", root.fresh)
            root.fresh = list(EMPTY)
        if not acted:
            return
        if any(changed) or not changed:
            self.trained.update(pending.roots or [LOOSE])
        seen = {
            "changed": any(changed) if changed and (any(changed) or not self.inside) else None,
            "update": max(updates) if updates else None,
            "revisits": backs[-1] if backs else None,
        }
        self.emit("step", i=index, grads=self.taps.take(), **seen, **pending.fields())
        for sample in self.outputs.take():
            self.emit("sample", step=index, **sample)
        self.step += 1
        self.calm.count(ordinary=bool(pending.roots))

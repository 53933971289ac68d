"""The forward half of the recorder: the state of a recording, and the hooks on module calls.

A *root call* is an outermost call of a module with parameters; a *step* runs from a forward pass to the next change of the parameters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from grader.run.calm import Calm
from grader.run.gradients import GradientTap, OutputTap
from grader.run.loose import LooseWeights
from grader.run.operations import Operations
from grader.run.ops import OpMode
from grader.run.params import Track
from grader.run.samples import Samples
from grader.run.steps import Pending, Root, Sampling, guarded
from grader.run.tensors import flat, is_wrapped, plain, quiet, scores_in
from grader.run.trace import Tracer, place_of

if TYPE_CHECKING:
    from collections.abc import Callable


class Passes:
    """The state of a recording, and its module hooks: what is called with what, and what comes out.

    Once a few steps of ordinary modules have gone by it is *calm*: the torch-function mode then only runs inside the forward passes that are
    recorded in full, and most module calls pass with a glance.
    """

    def __init__(self, emit: Callable[..., None], file: str, salt: str = "", *, width: int = 10, samples: bool = False) -> None:
        """emit(kind, **fields) writes one line of evidence; file: the submission's file name, to locate calls in; salt: for choosing steps.

        width: scores an image; samples: whether to record every row that enters a model.
        """
        self.emit = emit
        self.file = file
        self.width = width
        self.samples = Samples(emit) if samples else None
        self.step = self.began = self.newest = 0
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

    def settle(self) -> None:
        """Close the pending step."""
        raise NotImplementedError

    @guarded
    def on_enter(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        """A global forward pre-hook."""
        if self.paused:
            return
        if self.samples is not None and self.stack:
            self.samples.meet(module)
            outer = self.roots.get(id(self.stack[0]))
            if outer is not None and module is outer.first_module:
                self.samples.refine(args)
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
            wide = scores_in(output, self.width)
            if wide is not None and wide.requires_grad and torch.is_grad_enabled() and not is_wrapped(wide) and self.is_sampled(self.step):
                self.outputs.tap(wide, module)
        if root is not None:
            self.calm.leave()
            self._end(root, module, output)

    def _root_of(self, module: nn.Module) -> Root:
        root = self.roots.get(id(module))
        if root is None:
            root = self.roots[id(module)] = Root(len(self.roots), module, type(module).__name__)
            self.emit("root", root=root.key, type=root.kind)
        return root

    def _begin(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        root = self._root_of(module)
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
        if first is not None and rows and is_wrapped(first):  # under vmap a tensor looks smaller than it is
            rows = rows * plain(first).numel() // max(first.numel(), 1)
        root.rows, root.largest = rows, max(root.largest, rows)
        pending = self.pending
        if self.samples is not None:
            self.samples.begin(root.key, args, root)
        if torch.is_grad_enabled() or not (self.autograd_seen or self.loose.plain):
            if not pending.roots and self.step and not due:  # a step that was settled just now has looked at the parameters already
                jump = root.track.jumped(named)
                pending.jump = jump if jump is not None else pending.jump
            pending.enter(root, rows, first, str(named[0][1].device))
            if self.detailed:
                pending.called = place_of(self.file)
        if self.detailed and torch.is_grad_enabled() and self.is_sampled(self.step):
            self.taps.tap(named, root.key)

    def _end(self, root: Root, module: nn.Module, output: Any) -> None:
        call = None if self.samples is None else self.samples.end(output, self.width, root)
        if root.key in self.pending.roots:
            self.pending.forward(list(flat(output)), root, call, training=module.training)
        with quiet():
            for tensor in flat(output):
                if tensor.is_floating_point():
                    self.pending.finite &= bool(torch.isfinite(plain(tensor)).all())

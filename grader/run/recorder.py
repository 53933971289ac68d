"""The recorder: observes any PyTorch training from outside, through PyTorch's own hooks.

It knows no lesson and needs no contract. Early steps are recorded in full, later ones sparsely (`is_sampled`), so that recording costs little.
The forward half is in grader.run.passes.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from grader.run.passes import Passes
from grader.run.steps import EMPTY, LOOSE, Pending, guarded
from grader.run.tensors import graph_of, is_wrapped, number_of, plain, quiet
from grader.run.trace import place_of


class Recorder(Passes):
    """Write down what a training does; `grader.run.wraps.Attached` connects it to PyTorch.

    Once a few steps of ordinary modules have gone by it is *calm*: the torch-function mode then only runs inside the forward passes that are
    recorded in full, and most module calls pass with a glance.
    """

    @guarded
    def on_backward(self, loss: torch.Tensor | None, named_gradients: list[tuple[torch.Tensor, torch.Tensor | None]] | None = None) -> None:
        """A backward pass from `loss` has just run; named_gradients: what torch.autograd.grad returned, input by input."""
        self.autograd_seen = True
        self.pending.backward = True
        if self.is_sampled(self.step):
            self.pending.backed = place_of(self.file)
            if loss is not None and not is_wrapped(loss):
                nodes, stale = graph_of(loss, self.began)
                self.pending.nodes, self.pending.stale = max(nodes, self.pending.nodes or 0), max(stale, self.pending.stale)
        if not self.pending.roots:
            self.calm.wake()
        if loss is not None:
            self.newest = number_of(loss)
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

    def close(self) -> None:
        """The submission's main has ended: write down what is pending."""
        self.settle()
        if self.samples is not None:
            self.samples.settle(self.step, acted=False, final=True)

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
        self.began = self.newest
        acted = acted or any(changed)
        if self.samples is not None:
            self.samples.settle(index, acted=acted)
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

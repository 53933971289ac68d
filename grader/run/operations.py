"""What the recorder reads off single operations: the input of the first weight layer, weights that no module holds, operands of a loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from grader.run.norms import LastNorm
from grader.run.steps import LOOSE, Root, guarded
from grader.run.tensors import flat, is_wrapped, moments, quiet, scores_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from grader.run.passes import Passes


class Operations:
    """The torch-function mode's three listeners."""

    def __init__(self, recorder: Passes) -> None:
        """recorder: whose roots, pending step and taps they feed."""
        self._recorder = recorder
        self._norm = LastNorm()

    @property
    def broken(self) -> bool:
        """Whether the recorder has stopped observing."""
        return self._recorder.broken

    @broken.setter
    def broken(self, value: bool) -> None:
        self._recorder.broken = value

    @property
    def file(self) -> str:
        """The submission's file name."""
        return self._recorder.file

    @property
    def emit(self) -> Callable[..., None]:
        """The evidence writer."""
        return self._recorder.emit

    def forget(self) -> None:
        """A new forward pass begins."""
        self._norm.forget()

    def _root(self) -> Root | None:
        stack = self._recorder.stack
        return self._recorder.roots.get(id(stack[0])) if stack else None

    @guarded
    def on_weighted(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A product with a weight, perhaps, is about to be computed."""
        recorder = self._recorder
        if recorder.paused:
            return
        root = self._root()
        if root is None:
            self._on_loose(func, args, kwargs)
            return
        if recorder.is_sampled(recorder.step) and root.key in recorder.pending.roots:
            self._devices(args, kwargs)
        if not root.first_done:
            operand = recorder.loose.weight_of(func, args, kwargs)
            trained = operand is not None and (operand.weight.requires_grad or isinstance(operand.weight, torch.nn.Parameter))
            if operand is not None and trained and operand.weight.dim() > 1 and operand.input.is_floating_point():
                given = self._norm.without_affine(operand.input)
                layer = recorder.stack[-1] if len(recorder.stack) > 1 else None
                root.plain_first = layer is not None and given is operand.input and recorder.tracer.input_of(layer) is given
                root.first_module = layer if root.plain_first else None
                self.first_input(root, given)

    def _devices(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Where the arithmetic really happens: an operand elsewhere than the parameters overrides what the call's arguments said."""
        pending = self._recorder.pending
        for tensor in flat((args, kwargs)):
            device = str(tensor.device)
            if tensor.dim() > 0 and pending.parameter_device not in (device, "?"):
                pending.input_device = device

    def _on_loose(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        recorder = self._recorder
        if recorder.pending.backward:
            recorder.settle()
        operand = recorder.loose.see(func, args, kwargs)
        if recorder.samples is not None and operand is not None and operand.weight is recorder.loose.slots[0]:
            recorder.samples.begin(LOOSE, operand.input)
        if operand is not None and torch.is_grad_enabled():
            pending = recorder.pending
            pending.rows = max(pending.rows, recorder.loose.rows)
            pending.parameter_device, pending.input_device = str(operand.weight.device), str(operand.input.device)
            if recorder.is_sampled(recorder.step):
                recorder.taps.tap(recorder.loose.named(recorder.loose.slots)[-1:], LOOSE)

    def first_input(self, root: Root, given: torch.Tensor | None) -> None:
        """The input of a root's first weight layer in this forward pass; it also tells rows and device where the call's arguments did not."""
        root.first_done = True
        if given is None:
            return
        pending = self._recorder.pending
        if root.rows == 0 and root.key in pending.roots:
            root.rows = int(given.shape[0])
            root.largest = max(root.largest, root.rows)
            pending.rows += root.rows
            pending.input_device = str(given.device)
        with quiet():
            new = moments(given)
        root.add("fresh" if torch.is_grad_enabled() or not self._recorder.autograd_seen else "eval", new)

    @guarded
    def on_norm(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        """A normalisation has run."""
        root = self._root()
        if root is not None and not root.first_done and not self._recorder.paused and not is_wrapped(result):
            self._norm.see(func, args, kwargs, result)

    @guarded
    def on_loss(self, _func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A loss is about to be computed: where no output of a model is seen, its operand stands in for it."""
        recorder = self._recorder
        if recorder.paused:
            return
        wide = scores_in(args[:1] or list(kwargs.values())[:1], recorder.width)
        if wide is not None and wide.requires_grad and not is_wrapped(wide) and recorder.is_sampled(recorder.step):
            recorder.outputs.tap(wide, None)

"""Attach the recorder to PyTorch: public global hooks where they exist, wraps of a few functions where no hook exists.

`attach` returns a handle that can check that everything is still in place (a submission that unhooks the observer is not observed, and is told
so) and can take everything off again.
"""

from __future__ import annotations

import functools
import weakref
from typing import TYPE_CHECKING, Any

import torch
import torch.func
from torch.nn.modules import module as module_hooks
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

if TYPE_CHECKING:
    from collections.abc import Callable

    from grader.run.recorder import Recorder


class Attached:
    """What is attached, where, and what was there before."""

    def __init__(self, recorder: Recorder) -> None:
        """Attach the recorder everywhere."""
        self._recorder = recorder
        self._patched: list[tuple[Any, str, Any, Any]] = []
        self._nested = 0
        self.writers: list[weakref.ref[Any]] = []
        self.written = 0
        pre = module_hooks.register_module_forward_pre_hook(recorder.on_enter)
        post = module_hooks.register_module_forward_hook(recorder.on_leave, always_call=True)
        step = register_optimizer_step_pre_hook(recorder.on_optimiser)
        after = register_optimizer_step_post_hook(recorder.after_optimiser)
        self._handles = [pre, post, step, after]
        self._hooks = [
            (module_hooks._global_forward_pre_hooks, pre.id, recorder.on_enter),  # noqa: SLF001 - to see that the hook is still there
            (module_hooks._global_forward_hooks, post.id, recorder.on_leave),  # noqa: SLF001
        ]
        self._wrap(torch.Tensor, "backward", self._backward)
        self._wrap(torch.autograd, "backward", self._backward)
        self._wrap(torch.autograd, "grad", self._grad)
        for name in ("grad", "grad_and_value"):
            self._wrap(torch.func, name, self._functional)
        recorder.calm.wake()

    def _wrap(self, owner: Any, name: str, maker: Callable[[Any], Any]) -> None:
        original = getattr(owner, name)
        wrapped = functools.wraps(original)(maker(original))
        setattr(owner, name, wrapped)
        self._patched.append((owner, name, original, wrapped))

    def _backward(self, original: Any) -> Any:
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            self._nested += 1
            try:
                result = original(tensors, *args, **kwargs)
            finally:
                self._nested -= 1
            if not self._nested and not self._recorder.paused:
                loss = tensors if isinstance(tensors, torch.Tensor) else next(iter(tensors), None)
                self._recorder.on_backward(loss)
            return result

        return backward

    def _grad(self, original: Any) -> Any:
        def grad(outputs: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(inputs, torch.Tensor):
                inputs = (inputs,)
            inputs = list(inputs)
            self._nested += 1
            try:
                result = original(outputs, inputs, *args, **kwargs)
            finally:
                self._nested -= 1
            leaves = any(isinstance(t, torch.Tensor) and t.is_leaf for t in inputs)
            if leaves and not self._nested and not self._recorder.paused:
                loss = outputs if isinstance(outputs, torch.Tensor) else next(iter(outputs), None)
                self._recorder.on_backward(loss, list(zip(inputs, result, strict=False)))
            return result

        return grad

    def _functional(self, original: Any) -> Any:
        def transform(function: Any, argnums: Any = 0, has_aux: bool = False) -> Any:  # noqa: FBT001, FBT002 - torch.func's own signature
            inner = original(function, argnums, has_aux)
            with_value = original.__name__ == "grad_and_value"

            @functools.wraps(function)
            def run(*args: Any, **kwargs: Any) -> Any:
                self._nested += 1
                try:
                    result = inner(*args, **kwargs)
                finally:
                    self._nested -= 1
                if not self._nested and not self._recorder.paused:
                    value: Any = None
                    gradients: Any = result
                    if with_value:
                        gradients, value = result
                        value = value[0] if has_aux else value
                    elif has_aux:
                        gradients = result[0]
                    names = gradients if isinstance(gradients, dict) else dict(enumerate(torch.utils._pytree.tree_leaves(gradients)))  # noqa: SLF001
                    named = {str(k): g for k, g in names.items() if isinstance(g, torch.Tensor)}
                    self._recorder.on_functional_gradient(named, value if isinstance(value, torch.Tensor) else None)
                return result

            return run

        return transform

    def watch_writers(self, *classes: Any) -> None:
        """Remember every SummaryWriter that is made, to see whether it was closed."""
        for kind in classes:

            def maker(original: Any) -> Any:
                def init(writer: Any, *args: Any, **kwargs: Any) -> None:
                    original(writer, *args, **kwargs)
                    self.writers.append(weakref.ref(writer))
                    self.written += 1

                return init

            self._wrap(kind, "__init__", maker)

    def open_writers(self) -> int:
        """How many SummaryWriters still hold an open event file."""
        alive = [writer for ref in self.writers if (writer := ref()) is not None]
        return sum(getattr(writer, "file_writer", None) is not None for writer in alive)

    def disturbed(self) -> str | None:
        """What a submission has taken off or replaced, in words; None if everything is in place."""
        for hooks, key, function in self._hooks:
            if hooks.get(key) != function:
                return "a global module hook was removed"
        for owner, name, _, wrapped in self._patched:
            if getattr(owner, name, None) is not wrapped:
                return f"{getattr(owner, '__name__', owner)}.{name} was replaced"
        return None

    def detach(self) -> None:
        """Take everything off."""
        self._recorder.calm.off()
        for handle in self._handles:
            handle.remove()
        for owner, name, original, wrapped in reversed(self._patched):
            if getattr(owner, name, None) is wrapped:
                setattr(owner, name, original)

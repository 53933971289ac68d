"""What a train.py must offer, and how its main is called."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import types
    from collections.abc import Callable, Mapping

MAIN = 'main(data_dir: str, log_dir: str, device: str = "cpu", epochs: int = 1) -> torch.nn.Module'
TRANSFORM = "eval_transform: a callable, PIL image (mode L, 28x28) -> float tensor (1, 28, 28)"


class BrokenContractError(Exception):
    """The file offers something else than the contract asks for. line: where it looked, if that is known."""

    def __init__(self, what: str, expected: str, line: int | None = None) -> None:
        """what: what was found, in words."""
        super().__init__(what)
        self.what, self.expected, self.line = what, expected, line


def bound_main(module: types.ModuleType, values: dict[str, Any], file: str) -> Callable[[], Any]:
    """The file's main with the four arguments of the contract: by name, or else by position.  Raises BrokenContractError."""
    entry = getattr(module, "main", None)
    if not callable(entry):
        found = "no main" if entry is None else f"main, but it is {type(entry).__name__}, not a function"
        raise BrokenContractError(f"the file offers {found}", MAIN)
    try:
        signature = inspect.signature(entry)
    except (TypeError, ValueError):
        return functools.partial(entry, **values)
    try:
        signature.bind(**values)
    except TypeError as error:
        try:
            signature.bind(*values.values())
        except TypeError:
            code = getattr(entry, "__code__", None)
            line = code.co_firstlineno if code is not None and code.co_filename == file else None
            what = f"main{signature} cannot be called with data_dir, log_dir, device and epochs ({error})"
            raise BrokenContractError(what, MAIN, line) from error
        return functools.partial(entry, *values.values())
    return functools.partial(entry, **values)


def examine(module: types.ModuleType, model: Any, offers: Mapping[str, str]) -> None:
    """Whether main returned a model, and the file offers the transform and what else the lesson asks for.

    offers: signatures by name.  Raises BrokenContractError.
    """
    import torch

    if not issubclass(type(model), torch.nn.Module):
        kind = "None" if model is None else f"an object of type {type(model).__name__}"
        raise BrokenContractError(f"main returned {kind}", f"{MAIN}: the trained model")
    if not callable(getattr(module, "eval_transform", None)):
        raise BrokenContractError("the file offers no eval_transform", TRANSFORM)
    for name, signature in offers.items():
        if not callable(getattr(module, name, None)):
            raise BrokenContractError(f"the file offers no {name}", signature)
